"""One run per workspace: kernel locks, which a crash frees, on the folder and on a file in it that names their holder.

The file can be deleted or replaced under a run, for example by `git stash`; the folder then is still locked. Where
folders cannot be locked (some network disks), or where the folder itself was replaced a moment ago, the journal names
the runner.

A free lock is not enough to know that a runner is dead: a copy of a workspace has the journal of a run, but not the
lock that its runner holds. A process is never known by its number alone. Only what a dead runner started is ended, and
only the state of a dead runner is taken over.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from msgspec.structs import replace

from claude_iterate.core import formats, names
from claude_iterate.core.events import RunStarted
from claude_iterate.errors import WorkspaceProblem
from claude_iterate.system import processes, untrusted_files
from claude_iterate.system.file_errors import explain_write_errors
from claude_iterate.system.files import try_lock, unlock
from claude_iterate.system.restorable_file import identity_of
from claude_iterate.workspace import journal_reader
from claude_iterate.workspace.layout import Layout

_RETRY_FOR = 0.5
LIVES, DEAD, UNKNOWN = "lives", "dead", "unknown"


class Holder(msgspec.Struct, frozen=True, omit_defaults=True):
    """The process that holds the locks, as far as it is known. `pid` and `birth` together name it; `run` is the id of
    its run, or a word such as `reset`."""

    pid: int = 0
    host: str = ""
    birth: str = ""
    started: str = ""
    run: str = ""

    def runs(self, run: str) -> bool:
        """It is the process of this run. One that has just taken the lock has not written its name yet."""
        return self.run in {"", run}


class RunLock:
    """The locks while we hold them. The file says what for. What was locked stays locked to the end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._folders: list[int] = []
        self._files: list[int] = []
        me = os.getpid()
        self._me = Holder(me, os.uname().nodename, processes.start_identity(me), formats.moment(time.time()))

    def take(self, name: str, purpose: str) -> None:
        """Lock the folder and the file, or raise a WorkspaceProblem that names the holder."""
        with explain_write_errors(name, self._path.parent):
            self._files.append(_open_file(self._path))
        if not self.lock_folder() or not _acquire(self._files[-1], self._path, needed=True):
            raise _busy_problem(self._path, name)
        live = living_runner(self._path.parent)
        if live is not None and live.pid != os.getpid():
            raise _busy_problem(self._path, name, live)
        with explain_write_errors(name, self._path.parent):  # the disk may be full
            self.record(purpose)

    def lock_folder(self) -> bool:
        """Lock the folder that has the name now; False while another process has it, or when it is gone."""
        try:
            handle = untrusted_files.open_folder(self._path.parent)
        except PermissionError:
            return True  # it may be written and not be read: the lock of the file must do
        except OSError:
            return False
        if not _acquire(handle, self._path):
            os.close(handle)
            return False
        self._folders.append(handle)
        return True

    def is_folder_deleted(self) -> bool:
        """True when the folder that was locked last is deleted; False when it is there, moved, or nothing is known."""
        try:
            return bool(self._folders) and not os.listdir(self._folders[-1])  # noqa: PTH208 - ours holds a file
        except FileNotFoundError:
            return True  # so says Linux of a deleted folder
        except OSError:
            return False

    def record(self, purpose: str) -> None:
        """Write into the file what the locks are held for: the id of a run, or a word such as `reset`."""
        self._me = replace(self._me, run=purpose)
        handle = self._files[-1]
        data = msgspec.json.format(msgspec.json.encode(self._me))
        # Truncated after the write: the file keeps its blocks, so this works on a full disk too.
        os.ftruncate(handle, os.pwrite(handle, data, 0))

    def keep(self) -> bool:
        """Lock and name the file again if it was deleted or replaced. True when it was. Costs one look.

        Not while Claude works: git may be between `stash` and `stash pop`, and a new file would be in its way.
        """
        about = os.fstat(self._files[-1])
        if identity_of(self._path) == (about.st_dev, about.st_ino):
            return False
        try:
            handle = _open_file(self._path)
            if not _acquire(handle, self._path):
                os.close(handle)
                return False
            self._files.append(handle)
            self.record(self._me.run)
        except OSError:
            return False  # the folder is gone, or its disk is full
        return True

    def release(self) -> None:
        """Free the locks. An empty file means that the holder ended well; `doctor` examines a file that names one."""
        for handle in self._files:
            if self._me.run:
                with contextlib.suppress(OSError):
                    os.ftruncate(handle, 0)
        for handle in (*self._files, *self._folders):
            os.close(handle)


@contextlib.contextmanager
def hold(path: Path, name: str, purpose: str) -> Iterator[RunLock]:
    """Hold the lock, or raise a WorkspaceProblem that names the holder's pid, host and start."""
    held = RunLock(path)
    try:
        held.take(name, purpose)
        yield held
    finally:
        held.release()


def refuse_if_held(path: Path, name: str) -> None:
    """Raise what `hold` would raise now, without taking the lock."""
    if holder(path) is not None:
        raise _busy_problem(path, name)


def holder(path: Path) -> Holder | None:
    """Who runs this workspace now; None when it is not running. Takes the locks shared for an instant, so that readers
    do not block each other. Nothing is known of a holder that cannot be named."""
    is_locked = _is_locked(untrusted_files.open_folder, path.parent) or _is_locked(untrusted_files.open_handle, path)
    return _named_holder(path) if is_locked else None


def _is_locked(opened: Callable[[Path], int], path: Path) -> bool:
    try:
        handle = opened(path)
    except OSError:
        return False
    try:
        return try_lock(handle, shared=True) is False
    finally:
        os.close(handle)


def _open_file(path: Path) -> int:
    """What is no file in its place, such as a link or a pipe, is not ours."""
    try:
        return untrusted_files.open_handle(path, os.O_RDWR | os.O_CREAT, 0o644)
    except untrusted_files.NotAFile:
        untrusted_files.unlink(path)
        return untrusted_files.open_handle(path, os.O_RDWR | os.O_CREAT, 0o644)


def _acquire(handle: int, path: Path, needed: bool = False) -> bool:
    """Take the lock. Retry briefly while a reader holds it shared, or until the exclusive holder has written its
    name. Where there are no locks: True, unless it is needed."""
    deadline = time.monotonic() + _RETRY_FOR
    while not (taken := try_lock(handle)) and (needed or taken is not None):
        pid = holder_named_in(path).pid
        has_a_name = pid > 0 and processes.is_alive(pid)
        if (has_a_name and not _held_by_readers(handle)) or time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def _held_by_readers(handle: int) -> bool:
    if not try_lock(handle, shared=True):
        return False
    unlock(handle)
    return True


def _named_holder(path: Path) -> Holder:
    """The holder of a lock: a file that was replaced may be empty, or name one of last week."""
    found = holder_named_in(path)
    if found.pid and fate(found) != DEAD:
        return found
    return living_runner(path.parent) or Holder()


def _busy_problem(path: Path, name: str, who: Holder | None = None) -> WorkspaceProblem:
    who = who or _named_holder(path)
    return WorkspaceProblem(
        f"The workspace {name!r} is already running: pid {who.pid or 'unknown'}"
        f" on {who.host or 'this host'}, started {who.started or 'a moment ago'}.",
        f"Wait for it, or end it: claude-iterate stop {name}. See: claude-iterate show {name}",
    )


def fate(process: Holder | RunStarted) -> str:
    """LIVES, DEAD, or UNKNOWN: it ran on another machine, in another container or before the machine was restarted."""
    if process.pid <= 0 or not process.birth:
        return UNKNOWN
    here, namespace = process.host == os.uname().nodename, _namespace(process.birth)
    if namespace != _namespace(processes.start_identity(os.getpid())) or not (namespace or here):
        return UNKNOWN
    is_same = processes.is_alive(process.pid) and processes.start_identity(process.pid) == process.birth
    return LIVES if is_same else DEAD


def living_runner(folder: Path) -> Holder | None:
    """The living runner of this folder that the newest journal names. A copy of the folder has the same journal, but
    another path than the one that the run writes its log to."""
    layout = Layout(folder, folder)
    for run in reversed(layout.run_ids()):
        path = layout.journal(run)
        entry = next(journal_reader.read(path), None) if untrusted_files.is_file(path) else None
        if entry is None or not isinstance(about := entry.event, RunStarted):
            continue
        is_of_this_folder = os.path.realpath(Path(about.log).parent) == os.path.realpath(folder)
        if not is_of_this_folder or fate(about) != LIVES or journal_reader.has_finished(path):
            return None
        return Holder(about.pid, about.host, about.birth, formats.moment(entry.at), run)
    return None


def _namespace(identity: str) -> str:
    return identity.partition("/")[0]


def fate_of(layout: Layout, run: str, started: RunStarted | None = None) -> str:
    """LIVES, DEAD or UNKNOWN. `started`: how its journal begins, if that is known."""
    started = started or journal_reader.beginning(layout.journal(run))
    if started is not None:
        return fate(started)
    named = holder_named_in(layout.lock)  # names a runner that was killed before its first entry
    return fate(named) if named.run == run else UNKNOWN


def is_copy(layout: Layout, run: str, started: RunStarted | None = None) -> bool:
    """The run, which has no end here, is alive and of another workspace: this one was copied meanwhile."""
    return fate_of(layout, run, started) == LIVES and living_runner(layout.folder) is None


def pid_of(layout: Layout, run: str) -> int:
    """The runner's pid, for users; 0 when it is unknown."""
    started = journal_reader.beginning(layout.journal(run))
    return started.pid if started is not None else 0


def holder_named_in(path: Path) -> Holder:
    """The holder that the file names; it may have been killed since."""
    with contextlib.suppress(ValueError, RecursionError):  # of msgspec, or UnicodeDecodeError
        found = msgspec.json.decode(untrusted_files.read(path) or b"{}", type=Holder)
        return found if names.is_acceptable(found.run) else replace(found, run="")
    return Holder()
