"""Leaves processes behind, as tools of Claude Code do: in their own session, holding stdout, without the run's id."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from claude_iterate.fake_claude.tools import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def leave_behind(value: dict[str, Any], path: Callable[[str], Path]) -> None:
    """Start a `sleep` and do not wait for it. It ignores the signals that this process ignores."""
    import shutil
    import subprocess

    program = shutil.which("sleep") or "/bin/sleep"
    argv = [program, str(value.get("seconds", 300))]
    if value.get("orphan"):
        # Its parent, a shell, ends at once, so that another process adopts it.
        argv = ["/bin/sh", "-c", '"$0" "$1" & echo $! > "$2"', *argv, str(path(value["pidfile"]))]
    sleeper = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=None if value.get("hold_stdout") else subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={} if value.get("clear_environment") else dict(os.environ),
        start_new_session=bool(value.get("own_session")),
    )
    if value.get("orphan"):
        sleeper.wait()
    elif "pidfile" in value:
        pidfile = path(value["pidfile"])
        pidfile.parent.mkdir(parents=True, exist_ok=True)
        replace(pidfile, str(sleeper.pid).encode())
