"""The guardian: a process that sees the runner die, even by SIGKILL, and ends what the run left.

It holds the read end of a pipe whose write end only the runner has. The word `done` means that all is well; the end
of the pipe without it means that the runner is dead. It imports little, so that it starts fast and stays small.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from claude_iterate import operating_system

_RUN_VARIABLE = "CLAUDE_ITERATE_RUN"
_STEPS = ((signal.SIGINT, 2.0), (signal.SIGTERM, 1.5), (signal.SIGKILL, 5.0))
_POLL = 0.05
_DONE = b"done"


class Guardian:
    """The runner's side: starts the guardian and tells it when it is not needed any more."""

    def __init__(self, run: str) -> None:
        package = str(Path(__file__).parents[2])
        code = f"import sys; sys.path.insert(0, {package!r}); import claude_iterate.agent.guardian as g; g.watch()"
        read_end, self._write_end = os.pipe()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", code, run],
                stdin=read_end,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,
            )
        finally:
            os.close(read_end)
        self.pid = self._process.pid

    def dismiss(self) -> None:
        """All is well: the guardian leaves."""
        with contextlib.suppress(OSError):
            os.write(self._write_end, _DONE)
        os.close(self._write_end)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=5)


def watch() -> None:
    """The guardian's side: wait for the runner's last word, then act or leave."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    heard = b""
    while part := os.read(0, 64):
        heard += part
    if heard != _DONE:
        end_run(sys.argv[1])


def end_run(run: str) -> None:
    """Politely first, so that Claude can end its own tools; then whatever it takes."""
    for number, patience in _STEPS:
        deadline = time.monotonic() + patience
        told: set[int] = set()
        while time.monotonic() < deadline:
            living = [
                pid for pid in operating_system.processes_with(_RUN_VARIABLE, run) if operating_system.is_alive(pid)
            ]
            if not living:
                return
            for pid in living:
                if pid not in told:
                    told.add(pid)
                    operating_system.send(pid, number)
            time.sleep(_POLL)
