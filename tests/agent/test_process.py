"""The thread that hears Claude: whatever happens to it, the end is told."""

from __future__ import annotations

import io
import os
import queue
import sys
from pathlib import Path
from typing import Any

from claude_iterate.agent.processes.child import AgentProcess, Exited, Printed, StreamEnded


class Spoilt(io.RawIOBase):
    """A recording that cannot be written, in a way that nobody foresaw."""

    def write(self, data: Any) -> int:
        raise RuntimeError("unforeseen")


def test_a_thread_that_fails_tells_the_end(tmp_path: Path) -> None:
    """Claude is ended, why is told on its stderr, and whoever waits for the exit does not wait for ever."""
    said: queue.SimpleQueue[Any] = queue.SimpleQueue()
    argv = [sys.executable, "-c", "import sys, time; print('x', flush=True); time.sleep(60)"]
    process = AgentProcess(argv, os.environ, tmp_path, b"", Spoilt(), said.put)  # type: ignore[arg-type]
    messages = [said.get(timeout=30) for _ in range(4)]
    assert [type(message) for message in messages] == [Printed, StreamEnded, StreamEnded, Exited]
    assert b"unforeseen" in messages[0].lines[0]
    assert messages[-1].code == -9
    process.signal(9)
