"""What the console holds comes out whole and in order; a terminal that takes little or nothing holds up no one."""

from __future__ import annotations

import io
import os
import pty
import re
import select
import threading
from collections.abc import Iterator

import pytest

from claude_iterate.selftest.harness.scripted_project import until
from claude_iterate.sinks import safe_stream
from claude_iterate.sinks.safe_stream import RED, Output, TerminalWriter
from claude_iterate.system import terminals


def test_what_others_said_before_stands_before() -> None:
    """What is said does not overtake the text that the stream holds. Nothing to say is nothing written."""
    for encoding in ("utf-8", "utf-16-le", "ascii"):
        raw = io.BytesIO()
        stream = io.TextIOWrapper(raw, encoding)
        output = Output(stream, color=False)
        output.flush()
        assert raw.getvalue() == b""
        stream.write("first\n")
        output.say(["second"])
        output.flush()
        assert raw.getvalue().decode(encoding) == "first\nsecond\n"


def test_lines_keep_their_order_in_any_look() -> None:
    """Lines in a look of their own, plain ones and our own control text come out in the order in which they came."""
    stream = io.StringIO()
    output = Output(stream, color=True, forced=True)
    output.say(["one"])
    output.say(["two"], RED)
    output.say(["three", "fo\x1bur"])
    output.control("\r")
    output.say(["five"])
    output.flush()
    assert stream.getvalue() == f"one\n\x1b[{RED}mtwo\x1b[0m\nthree\nfo␛ur\n\rfive\n"


class Terminal:
    """A pipe in the place of a terminal: what it holds is read when the test wants it."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        self.writer = TerminalWriter(self._write, lambda text: f"{text}\n".encode())

    def stop(self) -> None:
        """Fill it, so that it takes nothing."""
        self.writer.write(b"." * 65536 + b"\n")
        until(lambda: not select.select([], [self._write], [], 0)[1])  # its thread may come late on a busy machine
        self.writer.write(b"x" * 100 + b"\n")

    def read(self, until: bytes) -> bytes:
        """All that comes, up to these bytes."""
        seen = b""
        while until not in seen:
            seen += os.read(self._read, 65536)
        return seen

    def hang_up(self) -> None:
        os.close(self._read)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setattr(safe_stream, "PATIENCE", 0.05)
    return Terminal()


def numbered(begin: int, end: int) -> bytes:
    return b"".join(b"line %05d\n" % number for number in range(begin, end))


def test_a_terminal_that_keeps_up_gets_all_at_once(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written is there when the call returns, in order, and so is what is drawn."""
    monkeypatch.setattr(safe_stream, "PATIENCE", 60.0)
    for number in range(5):
        terminal.writer.write(numbered(number, number + 1))
    assert terminal.writer.draw(b"\rlive")
    assert terminal.read(b"live") == numbered(0, 5) + b"\rlive"


def test_a_slow_terminal_loses_nothing(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """However much comes before it takes anything: it gets all, in order, while the end of the run waits."""
    monkeypatch.setattr(safe_stream, "LAST_PATIENCE", 60.0)
    for begin in range(0, 20_000, 1000):
        terminal.writer.write(numbered(begin, begin + 1000))
    seen: list[bytes] = []
    reader = threading.Thread(target=lambda: seen.append(terminal.read(b"line 19999\n")))
    reader.start()
    terminal.writer.close()
    reader.join(60)
    assert b"".join(seen) == numbered(0, 20_000)


def test_a_stopped_terminal_is_waited_for_once(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """It took nothing: from then on nothing waits and nothing is drawn, until it takes something again."""
    terminal.stop()
    monkeypatch.setattr(safe_stream, "PATIENCE", 3600.0)
    for number in range(50):
        terminal.writer.write(numbered(number, number + 1))
        assert not terminal.writer.draw(b"\rlive")
    seen = terminal.read(b"line 00049\n")
    assert seen.endswith(numbered(0, 50))
    terminal.writer.write(b"again\n")
    assert terminal.writer.draw(b"\rlive")


def test_what_is_too_much_is_dropped_and_counted(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest lines go. What is half on the terminal is completed, and the gap has its place and its number."""
    terminal.stop()
    monkeypatch.setattr(safe_stream, "MOST", 110)
    terminal.writer.write(numbered(0, 100))
    lines = terminal.read(b"line 00099\n").decode().splitlines()
    (gap,) = (number for number, line in enumerate(lines) if "not shown" in line)
    dropped = int(re.findall(r"… (\d+) lines not shown", lines[gap])[0])
    before, rest = lines[:gap], lines[gap + 1 :]
    assert set(before[0]) == {"."}
    assert rest == numbered(100 - len(rest), 100).decode().splitlines()
    assert len(before) + dropped + len(rest) == 102


def test_the_end_does_not_hang(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal that takes nothing is given up, once."""
    monkeypatch.setattr(safe_stream, "LAST_PATIENCE", 0.05)
    terminal.stop()
    terminal.writer.close()
    monkeypatch.setattr(safe_stream, "LAST_PATIENCE", 3600.0)
    terminal.writer.close()


def test_a_terminal_that_is_gone_is_an_error(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """At once, and for whatever comes after it."""
    monkeypatch.setattr(safe_stream, "PATIENCE", 60.0)
    terminal.hang_up()
    for _ in range(2):
        with pytest.raises(BrokenPipeError):
            terminal.writer.write(b"x\n")
    terminal.writer.close()


@pytest.fixture
def ends() -> Iterator[tuple[int, int]]:
    """The two ends of a pseudo-terminal."""
    ours, theirs = pty.openpty()
    yield ours, theirs
    os.close(ours)
    os.close(theirs)


def test_whether_a_terminal_takes_anything(ends: tuple[int, int]) -> None:
    """A real one that is full does not, and a write to it comes back all the same. What is no terminal always does."""
    ours, theirs = ends
    writer = TerminalWriter(theirs, str.encode)
    writer.write(b"one\n")
    assert os.read(ours, 100) == b"one\r\n"
    assert terminals.accepts_output(theirs)
    for _ in range(2000):
        writer.write(b"x" * 100 + b"\n")
    assert not select.select([], [theirs], [], 0)[1]
    assert not terminals.accepts_output(theirs)
    read, write = os.pipe()
    assert terminals.accepts_output(write)
    os.close(read)
    os.close(write)
