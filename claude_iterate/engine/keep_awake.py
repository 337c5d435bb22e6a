"""Keeps the computer awake while a run is on. A machine that falls asleep at midnight has done nothing by morning.

Best effort: if no inhibitor is available, nothing happens.
"""

from __future__ import annotations

import contextlib
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping

from claude_iterate.agent.command.command_line import BESIDE, RUN_VARIABLE
from claude_iterate.system import signals

_WAYS = (
    ("systemd-inhibit", "--what=idle:sleep", "--who=claude-iterate", "--why=Claude is working"),
    ("caffeinate", "-i"),
)
"""Programs that keep the computer awake as long as another one runs: Linux, macOS."""
_PATIENCE = 1.0


@contextlib.contextmanager
def computer_awake(run: str, environ: Mapping[str, str]) -> Iterator[tuple[int, ...]]:
    """Hold the system's sleep back meanwhile. Gives the pid of what does it, if there is such a program.

    It lasts as long as `cat` reads from a pipe of ours, so it ends when we do. One that hangs does not: it leads a
    session of its own, so that whatever it started is found and ended with it.
    """
    way = next((way for way in _WAYS if shutil.which(way[0], path=environ.get("PATH"))), None)
    process: subprocess.Popen[bytes] | None = None
    with contextlib.suppress(OSError, ValueError):
        if way is not None:
            process = subprocess.Popen(
                [*way, "cat"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={**environ, RUN_VARIABLE: run + BESIDE},
                start_new_session=True,
            )
    if process is None:
        yield ()
        return
    try:
        yield (process.pid,)
    finally:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=_PATIENCE)
        # Also when it ended in time: it may have been killed alone.
        signals.send(process.pid, signal.SIGKILL, group=True)
        process.wait()
