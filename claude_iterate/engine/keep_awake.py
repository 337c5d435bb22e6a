"""Keeps the computer awake while a run is on. A machine that falls asleep at midnight has done nothing by morning.

Best effort: if no inhibitor is available, nothing happens.
"""

from __future__ import annotations

import contextlib
import shutil
import signal
import subprocess
from collections.abc import Mapping

from claude_iterate.agent.command.command_line import BESIDE, RUN_VARIABLE
from claude_iterate.system import signals

_WAYS = (
    ("systemd-inhibit", "--what=idle:sleep", "--who=claude-iterate", "--why=Claude is working"),
    ("caffeinate", "-i"),
)
"""Programs that keep the computer awake as long as another one runs: Linux, macOS."""
_PATIENCE = 1.0


class Awake:
    """A process that holds the system's sleep back while `cat` reads from a pipe of ours: it ends when we do.

    One that hangs does not. It leads a session of its own, so that whatever it started is found and ended with it.
    """

    def __init__(self, run: str, environ: Mapping[str, str]) -> None:
        self._run = run
        self._environ = environ
        self._process: subprocess.Popen[bytes] | None = None
        self.begun = False

    def begin(self) -> tuple[int, ...]:
        """Keep the computer awake from now on; the pid of what does it, if there is such a program."""
        self.begun = True
        environ = self._environ
        way = next((way for way in _WAYS if shutil.which(way[0], path=environ.get("PATH"))), None)
        if way is None:
            return ()
        with contextlib.suppress(OSError, ValueError):
            self._process = subprocess.Popen(
                [*way, "cat"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={**environ, RUN_VARIABLE: self._run + BESIDE},
                start_new_session=True,
            )
        return () if self._process is None else (self._process.pid,)

    def end(self) -> None:
        """The computer may sleep again."""
        if self._process is None:
            return
        assert self._process.stdin is not None
        self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_PATIENCE)
        # Also when it ended in time: it may have been killed alone.
        signals.send(self._process.pid, signal.SIGKILL, group=True)
        self._process.wait()
