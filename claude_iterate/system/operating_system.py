"""The file that knows which operating system this is: locks, signals, orphans, processes and their environment.

Linux and macOS are supported. Windows would be added here and in `terminals`, and nowhere else.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]

LINUX = sys.platform.startswith("linux")
_PR_SET_CHILD_SUBREAPER = 36
_F_SETPIPE_SZ = 1031


def try_lock(handle: int, shared: bool = False) -> bool:
    """Take a kernel lock on an open file without waiting; it ends with the file or the process. Any number can have a
    shared one, but nobody beside an exclusive one."""
    if fcntl is None:
        raise NotImplementedError("file locks on this system")
    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def unlock(handle: int) -> None:
    """Give a lock back."""
    fcntl.flock(handle, fcntl.LOCK_UN)


def become_subreaper() -> bool:
    """Let orphans of our children become our children, so that none can hide from us (Linux)."""
    if not LINUX:
        return False
    import ctypes

    try:
        return bool(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False


class ExitNotice(NamedTuple):
    """How to learn of a process's end: a handle that becomes readable, or None and a time after which to look."""

    handle: int | None
    look_up_ms: int


@contextlib.contextmanager
def exit_notice(pid: int) -> Iterator[ExitNotice]:
    """A handle for the end of a child of ours (Linux); elsewhere the child is looked at now and then."""
    try:
        handle = os.pidfd_open(pid) if LINUX and hasattr(os, "pidfd_open") else None
    except OSError:
        handle = None
    if handle is None:
        yield ExitNotice(None, 50)
        return
    try:
        # Now and then also here: an abandoned process is noticed by looking up.
        yield ExitNotice(handle, 500)
    finally:
        os.close(handle)


def enlarge_pipe(handle: int, size: int) -> None:
    """Let a pipe hold more, so that a fast writer waits less (Linux; elsewhere nothing happens)."""
    if LINUX and fcntl is not None:
        with contextlib.suppress(OSError):
            fcntl.fcntl(handle, _F_SETPIPE_SZ, size)


def children() -> set[int] | None:
    """Our direct children, adopted orphans included; None where the system does not tell."""
    if not LINUX or not os.path.exists(f"/proc/self/task/{os.getpid()}/children"):
        return None
    found: set[int] = set()
    for task in os.listdir("/proc/self/task"):
        # A thread may end while we look; its children are then listed under another one.
        with contextlib.suppress(OSError):
            found.update(int(pid) for pid in _read(f"/proc/self/task/{task}/children").split())
    return found


def processes_with(variable: str, value: str) -> Iterator[int]:
    """Processes whose initial environment holds `variable=value`, ourselves excluded."""
    marker = f"{variable}={value}".encode()
    for pid, environment in _environments():
        if pid != os.getpid() and marker in environment:
            yield pid


def _environments() -> Iterator[tuple[int, list[bytes]]]:
    if LINUX:
        for name in os.listdir("/proc"):
            if name.isdigit():
                with contextlib.suppress(OSError):
                    yield int(name), _read(f"/proc/{name}/environ").split(b"\0")
        return
    # macOS and the BSDs: ps prints the environment of our own processes after the command.
    import subprocess

    with contextlib.suppress(OSError, subprocess.SubprocessError):
        command = ["ps", "-Eww", "-A", "-o", "pid=,command="]
        listing = subprocess.run(command, capture_output=True, timeout=10, check=False)
        for line in listing.stdout.splitlines():
            pid, _, rest = line.strip().partition(b" ")
            if pid.isdigit():
                yield int(pid), rest.split(b" ")


def _read(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:
        return file.read()


def describe_process(pid: int) -> str:
    """The program behind a pid, for people."""
    with contextlib.suppress(OSError):
        words = _read(f"/proc/{pid}/cmdline").split(b"\0")
        return b" ".join(words).decode("utf-8", "replace").strip()[:120] or f"process {pid}"
    return f"process {pid}"


def _stat(pid: int) -> list[bytes]:
    """What Linux tells of a process, from the letter for what it does onwards; nothing when it is gone."""
    with contextlib.suppress(OSError):
        return _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return []


def birth(pid: int) -> str:
    """With the pid it names one process for ever: `who counts the pids/when it began`; empty when it is gone.

    Pids are counted by one start of one machine, and in containers apart; what was counted elsewhere tells nothing.
    """
    if LINUX:
        stat = _stat(pid)
        return f"{_pid_count()}/{stat[19].decode()}" if len(stat) > 19 else ""
    import subprocess

    with contextlib.suppress(OSError, subprocess.SubprocessError):
        command = ["env", "TZ=UTC", "LC_ALL=C", "ps", "-o", "lstart=", "-p", str(pid)]
        words = subprocess.run(command, capture_output=True, timeout=10, check=False).stdout.decode().split()
        return "/" + "-".join(words) if words else ""
    return ""


@functools.cache
def _pid_count() -> str:
    with contextlib.suppress(OSError):
        started = _read("/proc/sys/kernel/random/boot_id").decode().strip()
        return f"{started}.{os.stat('/proc/self/ns/pid').st_ino}"
    return ""


def descendants(roots: set[int]) -> set[int]:
    """Living processes born of these, by their parents (Linux; elsewhere none are known)."""
    if not LINUX or not roots:
        return set()
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(IndexError):
                parents[int(name)] = int(_stat(int(name))[1])
    found: set[int] = set()
    fresh = roots
    while fresh:
        fresh = {pid for pid, parent in parents.items() if parent in fresh} - found - roots
        found |= fresh
    return {pid for pid in found if is_alive(pid)}


def is_alive(pid: int) -> bool:
    """True while the process runs; a zombie is dead."""
    if LINUX:
        return _stat(pid)[:1] not in ([], [b"Z"], [b"X"])
    return send(pid, 0)


def send(pid: int, number: int) -> bool:
    """Signal one process; False when it is gone or not ours."""
    with contextlib.suppress(OSError):
        os.kill(pid, number)
        return True
    return False


def send_group(pid: int, number: int) -> bool:
    """Signal the process group that this process leads."""
    with contextlib.suppress(OSError):
        os.killpg(pid, number)
        return True
    return False


def reap(pid: int) -> None:
    """Take a dead adopted child off the process table; harmless for any other."""
    with contextlib.suppress(OSError):
        os.waitpid(pid, os.WNOHANG)


def await_change(pid: int) -> int | None:
    """Wait for a child of ours: its exit code, or None when it was suspended (Ctrl-Z) and is still there."""
    _, status = os.waitpid(pid, getattr(os, "WUNTRACED", 0))
    return None if os.WIFSTOPPED(status) else os.waitstatus_to_exitcode(status)


def suspend_with(pid: int) -> None:
    """A child was suspended: so are we, until somebody says to go on; then it goes on too.

    Where no shell could ever wake us, the system ignores the signal, and the child goes on at once.
    """
    if not LINUX or _stat(pid)[:1] == [b"T"]:  # else Ctrl-Z reached us both, and we have been woken already
        os.kill(os.getpid(), signal.SIGTSTP)
    send(pid, signal.SIGCONT)


def hand_on_no_deafness() -> None:
    """Programs that we start heed signals that we were started deaf to (`nohup`, `&` in a script); we stay deaf. A
    handler that does nothing is, unlike an ignored signal, not inherited."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda _number, _frame: None)


def on_stop_signals(notice: Callable[[str], None], *more: str) -> Callable[[], None]:
    """Call `notice` with the signal's name on SIGINT, SIGTERM, SIGHUP and `more`; returns what puts the old handlers
    back. A program started meanwhile has the default ones: handlers, unlike ignored signals, are not inherited."""
    names = [name for name in ("SIGINT", "SIGTERM", "SIGHUP", *more) if hasattr(signal, name)]

    def arrived(number: int, _frame: object) -> None:
        notice(signal.Signals(number).name)

    # A signal that is ignored when we start (nohup) stays ignored: whoever started us wants that.
    heeded = [name for name in names if signal.getsignal(getattr(signal, name)) is not signal.SIG_IGN]
    before = {name: signal.signal(getattr(signal, name), arrived) for name in heeded}

    def restore() -> None:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)

    return restore
