"""A program: what it prints is drained, kept and framed while it runs, and it is ended step by step."""

from __future__ import annotations

import io
import json
import os
import queue
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from claude_iterate.agent.command.sandbox import Command
from claude_iterate.agent.processes.child import (
    AFTER_INTERRUPT,
    AFTER_KILL,
    CUT,
    ChildProcess,
    Exited,
    Ladder,
    Printed,
    Recording,
    StreamEnded,
)
from claude_iterate.core.events import ErrorPrinted, Event
from claude_iterate.errors import AgentProblem


def whole(_stream: str, lines: list[bytes]) -> list[Event]:
    """Each line as it is."""
    return [ErrorPrinted(line.decode()) for line in lines]


def lines_of(printed: Printed) -> list[bytes]:
    assert printed.size == sum(len(event.text) + 1 for event in printed.events if isinstance(event, ErrorPrinted))
    return [event.text.encode() for event in printed.events if isinstance(event, ErrorPrinted)]


class Spoilt(io.RawIOBase):
    """A recording that cannot be written, with an unexpected error."""

    def write(self, data: Any) -> int:
        raise RuntimeError("unforeseen")


def test_a_thread_that_fails_tells_the_end(tmp_path: Path) -> None:
    """Claude is ended, its stderr says why, and the exit is posted."""
    said: queue.SimpleQueue[Any] = queue.SimpleQueue()
    argv = [sys.executable, "-c", "import sys, time; print('x', flush=True); time.sleep(60)"]
    process = ChildProcess(Command(argv, dict(os.environ)), tmp_path, b"", Spoilt(), said.put, whole)  # type: ignore[arg-type]
    messages = [said.get(timeout=120) for _ in range(4)]
    assert [type(message) for message in messages] == [Printed, StreamEnded, StreamEnded, Exited]
    assert "unforeseen" in messages[0].events[0].text
    assert messages[-1].code == -9
    process.signal(9)


def test_the_exit_is_told_while_another_process_holds_a_stream(tmp_path: Path) -> None:
    """The end of that stream comes when its holder ends."""
    said: queue.SimpleQueue[Any] = queue.SimpleQueue()
    heir = "exec 2>&-; until [ -e go ]; do sleep 0.05; done & exit 3"
    process = ChildProcess(Command(["/bin/sh", "-c", heir], dict(os.environ)), tmp_path, b"", None, said.put, whole)
    first = {said.get(timeout=120) for _ in range(2)}
    assert first == {Exited(process.pid, 3), StreamEnded(process.pid, "stderr")}
    (tmp_path / "go").touch()
    assert said.get(timeout=120) == StreamEnded(process.pid, "stdout")


def test_what_a_short_life_printed_is_there(tmp_path: Path) -> None:
    """A program that prints and exits at once loses not a line: its output is read from the first byte on."""
    said: queue.SimpleQueue[Any] = queue.SimpleQueue()
    lines = b"".join(b"%d\n" % number for number in range(1, 2001))
    ChildProcess(Command(["/bin/sh", "-c", "seq 2000"], dict(os.environ)), tmp_path, b"", None, said.put, whole)
    printed, ends = b"", 0
    while ends < 3:
        match said.get(timeout=120):
            case Printed() as batch:
                printed += b"".join(line + b"\n" for line in lines_of(batch))
            case _:
                ends += 1
    assert printed == lines


def test_an_error_calls_the_program_by_its_name(tmp_path: Path) -> None:
    """A check that cannot be started is not called Claude."""
    with pytest.raises(AgentProblem, match=r"The check cannot be started: No such file.* \(/no/shell\)"):
        ChildProcess(Command(["/no/shell"], {}), tmp_path, b"", None, lambda _message: None, whole, label="The check")


def test_a_flood_waits_in_the_pipe(tmp_path: Path) -> None:
    """As long as `post` waits nothing more is read; every message that it takes lets exactly one more come."""
    said: queue.Queue[Any] = queue.Queue(1)
    taken = threading.Semaphore(0)

    def post(message: Any) -> None:
        said.put(message)
        taken.acquire()

    argv = [sys.executable, "-c", "print(('x' * 99 + chr(10)) * 10**6)"]
    process = ChildProcess(Command(argv, dict(os.environ)), tmp_path, b"", None, post, whole)
    try:
        for _ in range(3):
            assert isinstance(said.get(timeout=120), Printed)
            assert said.empty()
            taken.release()
    finally:
        process.signal(9)
    while not isinstance(said.get(timeout=120), Exited):
        taken.release()
    taken.release(3)


WRITER = """
import json, os, sys, time
for piece, pause in json.loads(sys.argv[1]):
    os.write(1, piece.encode())
    time.sleep(pause)
"""
PIECES = st.lists(st.tuples(st.text("ab\n", max_size=20), st.sampled_from((0.0, 0.0, 0.001, 0.006))), max_size=30)


def drained(said: queue.SimpleQueue[Any]) -> list[bytes]:
    """The lines of a process, up to its end."""
    lines: list[bytes] = []
    missing = {"stdout", "stderr", "exit"}
    while missing:
        match message := said.get(timeout=60):
            case Printed():
                lines += lines_of(message)
            case StreamEnded():
                missing.remove(message.stream)
            case Exited():
                missing.remove("exit")
    return lines


@settings(max_examples=12, deadline=None)
@given(PIECES)
def test_any_pieces_in_any_rhythm_give_the_same_lines(pieces: list[tuple[str, float]]) -> None:
    """Each line once and in order, and the recording byte for byte, wherever the pieces end and whenever they come."""
    said: queue.SimpleQueue[Any] = queue.SimpleQueue()
    raw = io.BytesIO()
    argv = [sys.executable, "-S", "-c", WRITER, json.dumps(pieces)]
    ChildProcess(Command(argv, dict(os.environ)), Path("/"), b"", raw, said.put, whole)
    printed = "".join(piece for piece, _ in pieces).encode()
    assert drained(said) == (printed.removesuffix(b"\n").split(b"\n") if printed else [])
    assert raw.getvalue() == printed


def test_no_line_waits_for_another(tmp_path: Path) -> None:
    """A program that waits for an answer to its line gets it, also if its line follows another closely."""
    said: queue.SimpleQueue[Any] = queue.SimpleQueue()
    answer = tmp_path / "answer"
    os.mkfifo(answer)
    code = f"import os\nfor n in b'abc':\n os.write(1, bytes([n, 10]))\n n == 97 or open({str(answer)!r}).read()\n"
    ChildProcess(Command([sys.executable, "-S", "-c", code], dict(os.environ)), tmp_path, b"", None, said.put, whole)
    lines: list[bytes] = []
    for wanted in (b"b", b"c"):
        while wanted not in lines:
            message = said.get(timeout=60)
            assert isinstance(message, Printed)
            lines += lines_of(message)
        answer.write_text("")
    assert lines == [b"a", b"b", b"c"]
    assert drained(said) == []


@pytest.mark.parametrize("pieces", [[b"0123456789"], [b"01234", b"56789"], [b"0"] * 3, []])
def test_up_to_its_size_it_is_whole(tmp_path: Path, pieces: list[bytes]) -> None:
    """Whatever the pieces it comes in."""
    with Recording(str(tmp_path / "raw"), 10) as file:
        for piece in pieces:
            assert file.write(piece) == len(piece)
    assert (tmp_path / "raw").read_bytes() == b"".join(pieces)


def test_beyond_it_is_cut_once_and_says_so(tmp_path: Path) -> None:
    """The rest is dropped: the process that prints it must not wait."""
    with Recording(str(tmp_path / "raw"), 10) as file:
        for piece in (b"01234567", b"89abc", b"def", b"ghi"):
            assert file.write(piece) == len(piece)
    assert (tmp_path / "raw").read_bytes() == b"0123456789" + CUT


def test_it_is_for_the_user_alone(tmp_path: Path) -> None:
    """What Claude prints is not redacted here."""
    Recording(str(tmp_path / "raw")).close()
    assert (tmp_path / "raw").stat().st_mode & 0o777 == 0o600


def test_signals_come_in_their_order_and_each_at_its_time() -> None:
    """SIGINT to Claude alone, SIGTERM and SIGKILL to its group; nothing before it is due."""
    received: list[tuple[int, bool]] = []
    ladder = Ladder(lambda *sent: received.append(sent), now=100.0, terminate_grace=7.0)
    moments = [100.0, 100.0 + AFTER_INTERRUPT, 107.0 + AFTER_INTERRUPT]
    for count, moment in enumerate(moments, 1):
        assert ladder.due == moment
        ladder.climb(moment - 0.1)
        assert len(received) == count - 1
        ladder.climb(moment)
    assert received == [(signal.SIGINT, False), (signal.SIGTERM, True), (signal.SIGKILL, True)]


def test_the_last_signal_is_repeated() -> None:
    """A process that waits for a device dies of it later."""
    received: list[tuple[int, bool]] = []
    ladder = Ladder(lambda *sent: received.append(sent), now=0.0, terminate_grace=1.0)
    for _ in range(5):
        ladder.climb(ladder.due)
    assert [number for number, _ in received[2:]] == [signal.SIGKILL] * 3
    assert ladder.due == AFTER_INTERRUPT + 1.0 + 3 * AFTER_KILL
