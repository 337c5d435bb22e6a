"""A terminal that takes little or nothing: the order is kept, what is lost is counted, and no write waits for long."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import threading
from collections.abc import Iterator

import pytest

from claude_iterate.sinks.console import terminal_writer
from claude_iterate.sinks.console.terminal_writer import OwnDescription, TerminalWriter, WritingThread, way_to
from claude_iterate.system import terminals


class Scripted:
    """A terminal that takes so many bytes at a time, and may be waited for. It counts how often it was waited for."""

    def __init__(self, *takes: int, more: int = 0) -> None:
        self.takes = list(takes)
        self.more = more
        self.seen = b""
        self.waits = 0
        self.asked = 0.0
        self.closed = 0

    def write(self, data: bytes) -> int:
        most = self.takes.pop(0) if self.takes else self.more
        self.seen += data[:most]
        return len(data[:most])

    def wait(self, seconds: float) -> bool:
        self.waits += 1
        self.asked += seconds
        return bool(self.takes or self.more)

    def close(self) -> None:
        self.closed += 1


def marked(text: str) -> bytes:
    return f"{text}\n".encode()


def numbered(begin: int, end: int) -> list[bytes]:
    return [b"line %05d\n" % number for number in range(begin, end)]


def test_a_terminal_that_keeps_up_gets_all_at_once() -> None:
    """One write each, and no waiting."""
    terminal = Scripted(more=1000)
    writer = TerminalWriter(terminal, marked)
    for line in numbered(0, 5):
        writer.write(line)
    assert writer.draw(b"\rlive")
    assert (terminal.seen, terminal.waits) == (b"".join(numbered(0, 5)) + b"\rlive", 0)


@pytest.mark.parametrize("size", [1, 7, 11, 100])
def test_a_slow_terminal_loses_nothing(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it takes at a time, and however much comes at once."""
    monkeypatch.setattr(terminal_writer, "PATIENCE", 1000.0)
    monkeypatch.setattr(terminal_writer, "MOST", 50)
    terminal = Scripted(*[size, 0] * 5000, more=size)
    writer = TerminalWriter(terminal, marked)
    writer.write(b"".join(numbered(0, 200)))
    writer.write(b"".join(numbered(200, 201)))
    writer.close()
    assert terminal.seen == b"".join(numbered(0, 201))


def test_a_stopped_terminal_is_waited_for_once() -> None:
    """It took nothing: from then on nothing waits, until it takes something again."""
    terminal = Scripted()
    writer = TerminalWriter(terminal, marked)
    for line in numbered(0, 50):
        writer.write(line)
        assert not writer.draw(b"\rlive")
    assert terminal.asked <= terminal_writer.PATIENCE
    terminal.more = 1000
    writer.catch_up()
    assert terminal.seen == b"".join(numbered(0, 50))
    assert writer.draw(b"\rlive")


def test_what_is_too_much_is_dropped_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest lines go. What is half on the terminal is completed, and the gap has its place and its number."""
    monkeypatch.setattr(terminal_writer, "MOST", 110)
    terminal = Scripted(4)
    writer = TerminalWriter(terminal, marked)
    for line in numbered(0, 100):
        writer.write(line)
    terminal.more = 10_000
    writer.catch_up()
    writer.write(b"last\n")
    lines = terminal.seen.decode().splitlines()
    (gap,) = (number for number, line in enumerate(lines) if "not shown" in line)
    dropped = int(re.findall(r"… (\d+) lines not shown", lines[gap])[0])
    first, rest = lines[:gap], lines[gap + 1 :]
    assert first[0] == "line 00000"
    assert len(first) + dropped + len(rest) == 101
    assert first == [f"line {number:05d}" for number in range(len(first))]
    assert rest == [*(f"line {number:05d}" for number in range(len(first) + dropped, 100)), "last"]


def test_the_end_does_not_hang() -> None:
    """And the way is closed once."""
    terminal = Scripted()
    writer = TerminalWriter(terminal, marked)
    writer.write(b"x\n")
    writer.close()
    writer.close()
    assert terminal.closed == 1


@pytest.fixture
def ends() -> Iterator[tuple[int, int]]:
    """The two ends of a pseudo-terminal."""
    ours, theirs = pty.openpty()
    yield ours, theirs
    os.close(ours)
    os.close(theirs)


def test_a_real_terminal_is_opened_again(ends: tuple[int, int]) -> None:
    """What others have open stays as it was: a program that shares it would otherwise fail."""
    ours, theirs = ends
    before = fcntl.fcntl(theirs, fcntl.F_GETFL)
    way = way_to(theirs)
    assert isinstance(way, OwnDescription)
    writer = TerminalWriter(way, marked)
    writer.write(b"one\n")
    assert os.read(ours, 100) == b"one\r\n"
    assert fcntl.fcntl(theirs, fcntl.F_GETFL) == before
    for _ in range(2000):
        writer.write(b"x" * 100 + b"\n")  # more than it holds: it must not block
    assert not select.select([], [theirs], [], 0)[1]
    assert not terminals.accepts_output(theirs)
    writer.close()
    assert fcntl.fcntl(theirs, fcntl.F_GETFL) == before


def test_what_is_no_terminal_is_not_opened_again() -> None:
    """Nor a descriptor that is closed."""
    read, write = os.pipe()
    assert terminals.reopen(write) is None
    assert terminals.accepts_output(write)
    os.close(read)
    os.close(write)
    assert terminals.reopen(write) is None


def test_a_thread_writes_where_the_terminal_cannot_be_opened_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """It waits in our place: in order, and nothing is lost when the other side reads again."""
    monkeypatch.setattr(terminal_writer, "PATIENCE", 0.0)
    monkeypatch.setattr(terminal_writer, "LAST_PATIENCE", 120.0)
    read, write = os.pipe()
    writer = TerminalWriter(WritingThread(write), marked)
    for line in numbered(0, 20_000):
        writer.write(line)
    seen: list[bytes] = []
    wanted = b"".join(numbered(0, 20_000))

    def watch() -> None:
        while sum(map(len, seen)) < len(wanted):
            seen.append(os.read(read, 65536))

    watcher = threading.Thread(target=watch)
    watcher.start()
    writer.close()
    watcher.join(120)
    assert b"".join(seen) == wanted
    os.close(read)
    os.close(write)


def test_a_thread_tells_when_the_terminal_is_gone() -> None:
    """As a direct write would."""
    read, write = os.pipe()
    os.close(read)
    way = WritingThread(write)
    way.write(b"x")
    assert way.wait(120)
    with pytest.raises(BrokenPipeError):
        way.write(b"y")
    os.close(write)
