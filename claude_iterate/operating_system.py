"""The one file that knows which operating system this is: locks, signals, orphans, processes and their environment.

Linux and macOS are supported. Windows would be added here and nowhere else.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

try:
    import fcntl
    import termios
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]
    termios = None  # type: ignore[assignment]

LINUX = sys.platform.startswith("linux")
_PR_SET_CHILD_SUBREAPER = 36
_F_SETPIPE_SZ = 1031


def try_lock(handle: int) -> bool:
    """Take an exclusive kernel lock on an open file without waiting; it ends with the file or the process."""
    if fcntl is None:
        raise NotImplementedError("file locks on this system")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


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


def _state(pid: int) -> bytes:
    """One letter for what a process does, as Linux tells it; nothing when it is gone."""
    with contextlib.suppress(OSError, IndexError):
        return _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()[0]
    return b""


def birth(pid: int) -> str:
    """When a process began, in the system's own count: with the pid it names one process for ever."""
    with contextlib.suppress(OSError, IndexError):
        return _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()[19].decode()
    return ""


def descendants(roots: set[int]) -> set[int]:
    """Living processes born of these, by their parents (Linux; elsewhere none are known)."""
    if not LINUX or not roots:
        return set()
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError, IndexError, ValueError):
                parents[int(name)] = int(_read(f"/proc/{name}/stat").rpartition(b")")[2].split()[1])
    found: set[int] = set()
    fresh = roots
    while fresh:
        fresh = {pid for pid, parent in parents.items() if parent in fresh} - found - roots
        found |= fresh
    return {pid for pid in found if is_alive(pid)}


def is_alive(pid: int) -> bool:
    """True while the process runs; a zombie is dead."""
    if LINUX:
        return _state(pid) not in {b"", b"Z", b"X"}
    with contextlib.suppress(OSError):
        os.kill(pid, 0)
        return True
    return False


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
    if not LINUX or _state(pid) == b"T":  # else Ctrl-Z reached us both, and we have been woken already
        os.kill(os.getpid(), signal.SIGTSTP)
    send(pid, signal.SIGCONT)


@contextlib.contextmanager
def terminal_kept(handle: int) -> Iterator[None]:
    """The terminal's settings are afterwards what they were; a program that is killed leaves them as it liked them."""
    if termios is None or not os.isatty(handle):
        yield
        return
    before = termios.tcgetattr(handle)
    try:
        yield
    finally:
        with contextlib.suppress(termios.error):  # the terminal may be gone
            termios.tcsetattr(handle, termios.TCSADRAIN, before)


def _is_ours(handle: int) -> bool:
    """False while another job has the terminal: whoever touches it then is suspended."""
    try:
        return os.tcgetpgrp(handle) == os.getpgrp()
    except OSError:  # it is not the terminal that controls us
        return True


def typed(handle: int) -> bytes | None:
    """What was typed since the last time, without waiting for more; None when nothing can come any more."""
    try:
        if not _is_ours(handle) or not select.select([handle], [], [], 0)[0]:
            return b""
        return os.read(handle, 4096) or None
    except (OSError, ValueError):
        return None


@contextlib.contextmanager
def single_keys(handle: int) -> Iterator[None]:
    """Keys arrive one by one and are not shown; Ctrl-C and Ctrl-Z work as ever. Afterwards, and while we are suspended,
    the terminal is as it was."""
    if termios is None or not os.isatty(handle):
        yield
        return
    before, ours = termios.tcgetattr(handle), termios.tcgetattr(handle)
    ours[3] &= ~(termios.ECHO | termios.ICANON)

    def use(attributes: list[Any]) -> None:
        if _is_ours(handle):
            with contextlib.suppress(termios.error):  # the terminal may be gone
                termios.tcsetattr(handle, termios.TCSADRAIN, attributes)

    def suspended(_number: int, _frame: object) -> None:
        use(before)
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        signal.raise_signal(signal.SIGTSTP)  # here time stands still
        signal.signal(signal.SIGTSTP, suspended)
        use(ours)

    handlers = {number: signal.getsignal(number) for number in (signal.SIGTSTP, signal.SIGCONT)}
    if handlers[signal.SIGTSTP] is not signal.SIG_IGN:
        signal.signal(signal.SIGTSTP, suspended)
    # A job that went on in the background gets the terminal back with this signal.
    signal.signal(signal.SIGCONT, lambda _number, _frame: use(ours))
    use(ours)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        use(before)


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
