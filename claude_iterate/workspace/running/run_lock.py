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

from claude_iterate.core import formats
from claude_iterate.errors import WorkspaceProblem
from claude_iterate.system import locks, processes
from claude_iterate.workspace.files.folders import unwritable_workspace

_ASKING = 0.5


class Held:
    """The lock in our hands. Its file tells others what it is held for."""

    def __init__(self, handle: int, purpose: str) -> None:
        self._handle = handle
        self._me = {"pid": os.getpid(), "host": socket.gethostname(), "birth": processes.start_identity(os.getpid())}
        self._me["started"] = _now()
        self.tell(purpose)

    def tell(self, run: str) -> None:
        """Write down what the lock is held for: the id of a run, or a word such as `reset`."""
        # Shortened afterwards: the room that the file has cannot be lost to others, however full the disk is.
        os.ftruncate(self._handle, os.pwrite(self._handle, json.dumps(self._me | {"run": run}).encode(), 0))


@contextlib.contextmanager
def hold(path: Path, name: str, purpose: str) -> Iterator[Held]:
    """Hold the lock, or raise a WorkspaceProblem that names the holder's pid, host and start."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise unwritable_workspace(name, path.parent, error) from None
    try:
        if not _taken(handle, path):
            raise _busy(path, name)
        try:
            held = Held(handle, purpose)
        except OSError as error:  # the disk is full
            raise unwritable_workspace(name, path.parent, error) from None
        try:
            yield held
        finally:
            # An empty file says that nobody was killed here; one with a name in it makes `doctor` look closer.
            with contextlib.suppress(OSError):
                os.ftruncate(handle, 0)
    finally:
        os.close(handle)


def refuse_if_held(path: Path, name: str) -> None:
    """Raise what `hold` would raise now, without taking the lock."""
    if holder(path) is not None:
        raise _busy(path, name)


def holder(path: Path) -> dict[str, Any] | None:
    """Who runs this workspace now; None when nobody does. Others who only look are not in the way, nor are we."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        if locks.try_lock(handle, shared=True):
            return None
        return named(path)
    finally:
        os.close(handle)


def _taken(handle: int, path: Path) -> bool:
    """Take the lock. Somebody who only asks `holder` shares it for an instant: he is waited for, and so is the name of
    whoever has it to himself."""
    deadline = time.monotonic() + _ASKING
    while not locks.try_lock(handle):
        pid = named(path).get("pid")
        has_a_name = isinstance(pid, int) and processes.is_alive(pid)
        if (has_a_name and not _only_looked_at(handle)) or time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def _only_looked_at(handle: int) -> bool:
    if not locks.try_lock(handle, shared=True):
        return False
    locks.unlock(handle)
    return True


def named(path: Path) -> dict[str, Any]:
    """Whom the file names: who has the lock, or had it when he was killed."""
    with contextlib.suppress(OSError, ValueError):
        found = json.loads(path.read_bytes())
        if isinstance(found, dict):
            return found
    return {}


def _busy(path: Path, name: str) -> WorkspaceProblem:
    who = named(path)
    return WorkspaceProblem(
        f"The workspace {name!r} is already running: pid {who.get('pid', 'unknown')}"
        f" on {who.get('host', 'this host')}, started {who.get('started', 'a moment ago')}.",
        f"Wait for it, or end it: claude-iterate stop {name}. See: claude-iterate show {name}",
    )


def _now() -> str:
    return formats.moment(time.time())
