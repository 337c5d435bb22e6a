"""What the operating system knows about processes: whether one lives, which one it is, how it ends, and what it left.

Linux and macOS are supported; the rooms above `system` do not ask which of them this is. psutil is slow to import, and
most commands look at no process, so it is imported where it is used.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

from claude_iterate.system import signals

LINUX = sys.platform.startswith("linux")
_PR_SET_CHILD_SUBREAPER = 36
_F_SETPIPE_SZ = 1031


def become_subreaper() -> None:
    """Let orphans of our children become our children, so that we can find them all (Linux)."""
    import ctypes

    if LINUX:
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


@contextlib.contextmanager
def exit_handle(pid: int) -> Iterator[int | None]:
    """A handle that becomes readable when a child of ours ends (Linux); elsewhere the child has to be checked."""
    try:
        handle = os.pidfd_open(pid) if LINUX and hasattr(os, "pidfd_open") else None
    except OSError:
        handle = None
    try:
        yield handle
    finally:
        if handle is not None:
            os.close(handle)


def enlarge_pipe(handle: int, size: int) -> None:
    """Let a pipe hold more, so that a fast writer waits less (Linux; no effect elsewhere)."""
    if LINUX:
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
            found.update(map(int, Path(f"/proc/self/task/{task}/children").read_bytes().split()))
    return found


@functools.cache
def _lists_children() -> bool:
    return LINUX and os.path.exists(f"/proc/self/task/{os.getpid()}/children")


def start_identity(pid: int) -> str:
    """Boot id, pid namespace and start time as `NAMESPACE/START`; with the pid it identifies one process.

    Empty when the process is gone. Only comparable within one boot and one pid namespace.
    """
    if LINUX:  # psutil counts from the wall clock, which may be set
        with contextlib.suppress(OSError):
            started = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[19]
            return f"{_pid_namespace()}/{started.decode()}"
        return ""
    import psutil

    with contextlib.suppress(psutil.Error):
        return f"/{psutil.Process(pid).create_time()}"
    return ""


@functools.cache
def _pid_namespace() -> str:
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        return f"{boot}.{os.stat('/proc/self/ns/pid').st_ino}"
    return ""


def is_alive(pid: int) -> bool:
    """True while the process runs; a zombie is dead."""
    import psutil

    try:
        return psutil.Process(pid).status() not in {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}
    except psutil.AccessDenied:
        return True
    except (psutil.Error, OSError):
        return False


def _unless_gone() -> contextlib.suppress:
    """A process may end while we look at it."""
    import psutil

    return contextlib.suppress(psutil.Error, OSError)


def reap(pid: int) -> None:
    """Remove a dead adopted child from the process table; no effect on any other process."""
    with contextlib.suppress(OSError):
        os.waitpid(pid, os.WNOHANG)


def wait_for_change(pid: int) -> int | None:
    """Wait until a child of ours ends or is suspended (Ctrl-Z): its exit code, or None when it is suspended."""
    _, status = os.waitpid(pid, os.WUNTRACED)
    return None if os.WIFSTOPPED(status) else os.waitstatus_to_exitcode(status)


def suspend_with(pid: int) -> None:
    """Suspend ourselves because a child was suspended; continue the child when we are continued.

    Where no shell could ever continue us, the system ignores the signal, and the child continues at once.
    """
    import psutil

    with _unless_gone():
        if psutil.Process(pid).status() == psutil.STATUS_STOPPED:
            os.kill(os.getpid(), signal.SIGTSTP)  # else Ctrl-Z reached us both, and we have been continued already
    signals.send(pid, signal.SIGCONT)


# The functions below read about every process that there is, so none of them is for every tick.


def with_environment(variable: str, value: str) -> Iterator[int]:
    """Living processes that started with `variable=value` in their environment, ourselves excluded."""
    import psutil

    for pid in psutil.pids():
        with _unless_gone():
            found = pid != os.getpid() and psutil.Process(pid).environ().get(variable) == value
            if found and is_alive(pid):
                yield pid


def descendants(roots: set[int]) -> set[int]:
    """Living children of these processes, their children and so on."""
    import psutil

    found: set[int] = set()
    for pid in roots:
        with _unless_gone():
            found.update(child.pid for child in psutil.Process(pid).children(recursive=True))
    return {pid for pid in found - roots if is_alive(pid)}


def describe(pid: int) -> str:
    """The command line of a process, for users."""
    import psutil

    with _unless_gone():
        return " ".join(psutil.Process(pid).cmdline()).strip()[:120] or f"process {pid}"
    return f"process {pid}"


def own_output_files(root: Path) -> list[Path]:
    """The files in this folder that this process prints into (`> run.log`, `nohup`). They grow while a run works, and
    that is not work."""
    import psutil

    with _unless_gone():
        printed = {Path(file.path) for file in psutil.Process().open_files() if file.fd in {1, 2}}
        real = Path(os.path.realpath(root))
        return [root / path.relative_to(real) for path in sorted(printed) if path.is_relative_to(real)]
    return []


def sandbox_processes(outer: int) -> tuple[int, int] | None:
    """Of a sandbox with a pid namespace: the first process inside, which ends all others with it, and the program that
    was to run; None when they are not there (yet). `outer` is the process that made it and stayed outside."""
    import psutil

    with _unless_gone():
        for first in psutil.Process(outer).children():
            for second in first.children():
                if _number_inside(second.pid) == "2":
                    return first.pid, second.pid
    return None


def is_in_sandbox(pid: int) -> bool:
    """True for a living process that counts its pids otherwise than we do (Linux; elsewhere there is none)."""
    try:
        return LINUX and os.stat(f"/proc/{pid}/ns/pid").st_ino != os.stat("/proc/self/ns/pid").st_ino
    except OSError:  # it is gone, or is just going
        return False


def _number_inside(pid: int) -> str:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        for line in file:
            if line.startswith("NSpid:"):
                return line.split()[-1]
    return ""
