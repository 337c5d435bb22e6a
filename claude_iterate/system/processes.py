"""What the operating system knows about one process: whether it lives, which one it is, how it ends.

Linux and macOS are supported; the rooms above `system` do not ask which of them this is. `process_table` looks at all
processes.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import signal
import sys
from collections.abc import Iterator

import msgspec

from claude_iterate.system import signals

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]

LINUX = sys.platform.startswith("linux")
if not LINUX:
    import psutil  # Linux tells the same of one process in a single short file, and `list` asks for each workspace
_PR_SET_CHILD_SUBREAPER = 36
_F_SETPIPE_SZ = 1031


def become_subreaper() -> None:
    """Let orphans of our children become our children, so that we can find them all (Linux)."""
    if LINUX:
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


class ExitNotice(msgspec.Struct, frozen=True):
    """How to notice the end of a process: a handle that becomes readable, if any, and how often to check anyway."""

    handle: int | None
    check_every_ms: int


@contextlib.contextmanager
def exit_notice(pid: int) -> Iterator[ExitNotice]:
    """A handle for the end of a child of ours (Linux); elsewhere the child has to be checked regularly."""
    try:
        handle = os.pidfd_open(pid) if LINUX and hasattr(os, "pidfd_open") else None
    except OSError:
        handle = None
    if handle is None:
        yield ExitNotice(None, 50)
        return
    try:
        # Also here, but rarely: each check wakes us, and the handle alone is enough.
        yield ExitNotice(handle, 5000)
    finally:
        os.close(handle)


def enlarge_pipe(handle: int, size: int) -> None:
    """Let a pipe hold more, so that a fast writer waits less (Linux; no effect elsewhere)."""
    if LINUX and fcntl is not None:
        with contextlib.suppress(OSError):
            fcntl.fcntl(handle, _F_SETPIPE_SZ, size)


def children() -> set[int] | None:
    """Our direct children, adopted orphans included; None where the system cannot list them."""
    if not _lists_children():
        return None
    found: set[int] = set()
    for task in os.listdir("/proc/self/task"):
        # A thread may end while we look; its children are then listed under another one.
        with contextlib.suppress(OSError):
            found.update(int(pid) for pid in _read(f"/proc/self/task/{task}/children").split())
    return found


@functools.cache
def _lists_children() -> bool:
    return LINUX and os.path.exists(f"/proc/self/task/{os.getpid()}/children")


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _stat(pid: int) -> list[bytes]:
    """The fields of `/proc/PID/stat` from the state letter onwards; none when the process is gone."""
    with contextlib.suppress(OSError):
        return _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return []


def start_identity(pid: int) -> str:
    """Boot id, pid namespace and start time as `NAMESPACE/START`; with the pid it identifies one process.

    Empty when the process is gone. Only comparable within one boot and one pid namespace.
    """
    if LINUX:
        stat = _stat(pid)
        return f"{_pid_namespace()}/{stat[19].decode()}" if len(stat) > 19 else ""
    with contextlib.suppress(psutil.Error):
        return f"/{psutil.Process(pid).create_time()}"
    return ""


@functools.cache
def _pid_namespace() -> str:
    with contextlib.suppress(OSError):
        boot = _read("/proc/sys/kernel/random/boot_id").decode().strip()
        return f"{boot}.{os.stat('/proc/self/ns/pid').st_ino}"
    return ""


def is_alive(pid: int) -> bool:
    """True while the process runs; a zombie is dead."""
    if LINUX:
        return _stat(pid)[:1] not in ([], [b"Z"], [b"X"])
    try:
        return psutil.Process(pid).status() not in {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True


def reap(pid: int) -> None:
    """Remove a dead adopted child from the process table; no effect on any other process."""
    with contextlib.suppress(OSError):
        os.waitpid(pid, os.WNOHANG)


def wait_for_change(pid: int) -> int | None:
    """Wait until a child of ours ends or is suspended (Ctrl-Z): its exit code, or None when it is suspended."""
    _, status = os.waitpid(pid, getattr(os, "WUNTRACED", 0))
    return None if os.WIFSTOPPED(status) else os.waitstatus_to_exitcode(status)


def suspend_with(pid: int) -> None:
    """Suspend ourselves because a child was suspended; continue the child when we are continued.

    Where no shell could ever continue us, the system ignores the signal, and the child continues at once.
    """
    if not LINUX or _stat(pid)[:1] == [b"T"]:  # else Ctrl-Z reached us both, and we have been continued already
        os.kill(os.getpid(), signal.SIGTSTP)
    signals.send(pid, signal.SIGCONT)
