"""Output is gathered for a few milliseconds: nothing is lost, doubled or misplaced, and no line waits for another."""

from __future__ import annotations

import io
import json
import os
import queue
import select
import sys
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from claude_iterate.agent.command.sandbox import Command
from claude_iterate.agent.processes.child import ChildProcess, Exited, Printed, StreamEnded
from claude_iterate.agent.processes.gathering_poll import GatheringPoll

WRITER = """
import json, os, sys, time
for piece, pause in json.loads(sys.argv[1]):
    os.write(1, piece.encode())
    time.sleep(pause)
"""
PIECES = st.lists(st.tuples(st.text("ab\n", max_size=20), st.sampled_from((0.0, 0.0, 0.001, 0.006))), max_size=30)


class Kept(io.BytesIO):
    """A recording in memory."""


def drained(said: queue.SimpleQueue[Any]) -> list[bytes]:
    """The lines of a process, up to its end."""
    lines: list[bytes] = []
    missing = {"stdout", "stderr", "exit"}
    while missing:
        match message := said.get(timeout=60):
            case Printed():
                lines += message.lines
                message.done()
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
    raw = Kept()
    argv = [sys.executable, "-S", "-c", WRITER, json.dumps(pieces)]
    ChildProcess(Command(argv, dict(os.environ)), Path("/"), b"", raw, said.put)
    printed = "".join(piece for piece, _ in pieces).encode()
    lines = drained(said)
    assert lines == (printed.removesuffix(b"\n").split(b"\n") if printed else [])
    assert raw.getvalue() == printed


def test_no_line_waits_for_another(tmp_path: Path) -> None:
    """A program that waits for an answer to its line gets it, also if its line follows another closely."""
    said: queue.SimpleQueue[Any] = queue.SimpleQueue()
    answer = tmp_path / "answer"
    os.mkfifo(answer)
    code = f"import os\nfor n in b'abc':\n os.write(1, bytes([n, 10]))\n n == 97 or open({str(answer)!r}).read()\n"
    ChildProcess(Command([sys.executable, "-S", "-c", code], dict(os.environ)), tmp_path, b"", None, said.put)
    lines: list[bytes] = []
    for wanted in (b"b", b"c"):
        while wanted not in lines:
            message = said.get(timeout=60)
            assert isinstance(message, Printed)
            lines += message.lines
            message.done()
        answer.write_text("")
    assert lines == [b"a", b"b", b"c"]
    assert drained(said) == []


def test_a_pipe_that_rests_is_ready_at_its_end() -> None:
    """What was printed comes later; the end of the other side at once, with what was printed before."""
    reading, writing = os.pipe()
    poll = GatheringPoll()
    poll.register(reading, select.POLLIN)
    os.write(writing, b"x")
    assert poll.wait(60_000) == [reading]
    os.read(reading, 1)
    poll.rest(reading)
    assert poll.wait(0) == []  # the rest is over, and there is nothing to read
    poll.rest(reading)
    os.write(writing, b"y")
    assert poll.wait(60_000) == [reading]
    poll.rest(reading)
    os.close(writing)
    assert poll.wait(60_000) == [reading]
    assert os.read(reading, 9) == b"y"
    poll.unregister(reading)
    os.close(reading)
