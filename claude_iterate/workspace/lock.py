"""One run per workspace: a kernel lock, so a crash frees it; the file tells who holds it."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from claude_iterate import operating_system
from claude_iterate.core import moments
from claude_iterate.errors import WorkspaceProblem

_ASKING = 0.5


class Held:
    """The lock in our hands. Its file tells others what it is held for."""

    def __init__(self, handle: int, purpose: str) -> None:
        self._handle = handle
        self._started = _now()
        self.tell(purpose)

    def tell(self, run: str) -> None:
        """Write down what the lock is held for: the id of a run, or a word such as `reset`."""
        me = {"pid": os.getpid(), "host": socket.gethostname(), "run": run, "started": self._started}
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, json.dumps(me).encode(), 0)


@contextlib.contextmanager
def hold(path: Path, name: str, purpose: str) -> Iterator[Held]:
    """Hold the lock, or raise a WorkspaceProblem that names the holder's pid, host and start."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise WorkspaceProblem(
            f"The workspace {name!r} cannot be written: {error.strerror}.", f"Check the permissions of {path.parent}"
        ) from None
    try:
        if not _taken(handle, path):
            raise _busy(path, name)
        try:
            yield Held(handle, purpose)
        finally:
            # An empty file says that nobody was killed here; one with a name in it makes `doctor` look closer.
            with contextlib.suppress(OSError):
                os.ftruncate(handle, 0)
    finally:
        os.close(handle)


def holder(path: Path) -> dict[str, Any] | None:
    """Who runs this workspace now; None when nobody does."""
    try:
        handle = os.open(path, os.O_RDWR)
    except OSError:
        return None
    try:
        if operating_system.try_lock(handle):
            return None
        return _who(path)
    finally:
        os.close(handle)


def _taken(handle: int, path: Path) -> bool:
    """Take the lock. Somebody who only asks `holder` has it for an instant and leaves no name: he is waited for."""
    deadline = time.monotonic() + _ASKING
    while not operating_system.try_lock(handle):
        pid = _who(path).get("pid")
        if (isinstance(pid, int) and operating_system.is_alive(pid)) or time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def _who(path: Path) -> dict[str, Any]:
    with contextlib.suppress(OSError, ValueError):
        found = json.loads(path.read_bytes())
        if isinstance(found, dict):
            return found
    return {}


def _busy(path: Path, name: str) -> WorkspaceProblem:
    who = _who(path)
    return WorkspaceProblem(
        f"The workspace {name!r} is already running: pid {who.get('pid', 'unknown')}"
        f" on {who.get('host', 'this host')}, started {who.get('started', 'a moment ago')}.",
        f"Wait for it, or end it: claude-iterate stop {name}. See: claude-iterate show {name}",
    )


def _now() -> str:
    return moments.written(time.time())
