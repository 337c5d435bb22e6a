"""The process that a call starts, and the thread that reads its output."""

from __future__ import annotations

import io
import os
import queue
import sys
from pathlib import Path
from typing import Any

import pytest

from claude_iterate.agent.command.sandbox import Command
from claude_iterate.agent.processes.child import ChildProcess, Exited, Printed, StreamEnded
from claude_iterate.errors import AgentProblem


class Spoilt(io.RawIOBase):
    """A recording that cannot be written, with an unexpected error."""

    def write(self, data: Any) -> int:
        raise RuntimeError("unforeseen")


def test_a_thread_that_fails_tells_the_end(tmp_path: Path) -> None:
    """Claude is ended, its stderr says why, and the exit is posted."""
    said: queue.SimpleQueue[Any] = queue.SimpleQueue()
    argv = [sys.executable, "-c", "import sys, time; print('x', flush=True); time.sleep(60)"]
    process = ChildProcess(Command(argv, dict(os.environ)), tmp_path, b"", Spoilt(), said.put)  # type: ignore[arg-type]
    messages = [said.get(timeout=120) for _ in range(4)]
    assert [type(message) for message in messages] == [Printed, StreamEnded, StreamEnded, Exited]
    assert b"unforeseen" in messages[0].lines[0]
    assert messages[-1].code == -9
    process.signal(9)


def test_the_ends_come_with_the_exit(tmp_path: Path) -> None:
    """A stream that ends while the process lives is no news; one that outlives the process is told when it ends."""
    said: queue.SimpleQueue[Any] = queue.SimpleQueue()
    heir = "exec 2>&-; until [ -e go ]; do sleep 0.05; done & exit 3"
    process = ChildProcess(Command(["/bin/sh", "-c", heir], dict(os.environ)), tmp_path, b"", None, said.put)
    first = [said.get(timeout=120) for _ in range(2)]
    assert first == [Exited(process.pid, 3), StreamEnded(process.pid, "stderr")]
    (tmp_path / "go").touch()
    assert said.get(timeout=120) == StreamEnded(process.pid, "stdout")


def test_what_a_short_life_printed_is_there(tmp_path: Path) -> None:
    """A program that prints and exits at once loses not a line: its output is read from the first byte on."""
    said: queue.SimpleQueue[Any] = queue.SimpleQueue()
    lines = b"".join(b"%d\n" % number for number in range(1, 2001))
    ChildProcess(Command(["/bin/sh", "-c", "seq 2000"], dict(os.environ)), tmp_path, b"", None, said.put)
    printed, ends = b"", 0
    while ends < 3:
        match said.get(timeout=120):
            case Printed() as batch:
                printed += b"".join(line + b"\n" for line in batch.lines)
                batch.done()
            case _:
                ends += 1
    assert printed == lines


def test_an_error_calls_the_program_by_its_name(tmp_path: Path) -> None:
    """A check that cannot be started is not called Claude."""
    with pytest.raises(AgentProblem, match=r"The check cannot be started: No such file.* \(/no/shell\)"):
        ChildProcess(Command(["/no/shell"], {}), tmp_path, b"", None, lambda _message: None, label="The check")


def test_a_flood_waits_in_the_pipe(tmp_path: Path) -> None:
    """Output that the engine has not handled is bounded; every batch that is done lets exactly one more come."""
    said: queue.SimpleQueue[Any] = queue.SimpleQueue()
    argv = [
        sys.executable,
        "-c",
        "print(('x' * 99 + chr(10)) * 10**6)",
    ]
    process = ChildProcess(Command(argv, dict(os.environ)), tmp_path, b"", None, said.put)
    try:
        batches = [said.get(timeout=120) for _ in range(8)]
        with pytest.raises(queue.Empty):
            said.get(timeout=0.5)
        batches[0].done()
        assert isinstance(said.get(timeout=120), Printed)
        assert said.empty()
    finally:
        process.signal(9)
    for batch in batches[1:]:
        batch.done()
    while not isinstance(message := said.get(timeout=120), Exited):
        if isinstance(message, Printed):
            message.done()
