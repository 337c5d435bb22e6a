"""One run per workspace: a kernel lock, which a crash frees, on a file that names its holder."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from claude_iterate.core import formats
from claude_iterate.errors import WorkspaceProblem
from claude_iterate.system import locks, processes
from claude_iterate.workspace.files.folders import writing

_RETRY_FOR = 0.5


class Held:
    """The lock while we hold it. Its file says what it is held for."""

    def __init__(self, handle: int, purpose: str) -> None:
        self._handle = handle
        self._me = {"pid": os.getpid(), "host": os.uname().nodename, "birth": processes.start_identity(os.getpid())}
        self._me["started"] = formats.moment(time.time())
        self.record(purpose)

    def record(self, run: str) -> None:
        """Write into the file what the lock is held for: the id of a run, or a word such as `reset`."""
        # Truncated after the write: the file keeps its blocks, so this works on a full disk too.
        os.ftruncate(self._handle, os.pwrite(self._handle, json.dumps(self._me | {"run": run}).encode(), 0))


@contextlib.contextmanager
def hold(path: Path, name: str, purpose: str) -> Iterator[Held]:
    """Hold the lock, or raise a WorkspaceProblem that names the holder's pid, host and start."""
    with writing(name, path.parent):
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        if not _acquired(handle, path):
            raise _busy(path, name)
        with writing(name, path.parent):  # the disk may be full
            held = Held(handle, purpose)
        try:
            yield held
        finally:
            # An empty file means that the holder ended well; `doctor` examines a file that names one.
            with contextlib.suppress(OSError):
                os.ftruncate(handle, 0)
    finally:
        os.close(handle)


def refuse_if_held(path: Path, name: str) -> None:
    """Raise what `hold` would raise now, without taking the lock."""
    if holder(path) is not None:
        raise _busy(path, name)


def holder(path: Path) -> dict[str, Any] | None:
    """Who runs this workspace now; None when it is not running. Takes the lock shared for an instant, so that readers
    do not block each other."""
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


def _acquired(handle: int, path: Path) -> bool:
    """Take the lock. Retry briefly while a reader holds it shared, or until the exclusive holder has written its
    name."""
    deadline = time.monotonic() + _RETRY_FOR
    while not locks.try_lock(handle):
        pid = named(path).get("pid")
        has_a_name = isinstance(pid, int) and processes.is_alive(pid)
        if (has_a_name and not _held_by_readers(handle)) or time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def _held_by_readers(handle: int) -> bool:
    if not locks.try_lock(handle, shared=True):
        return False
    locks.unlock(handle)
    return True


def named(path: Path) -> dict[str, Any]:
    """The holder that the file names; it may have been killed since."""
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
