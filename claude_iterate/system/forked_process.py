"""A copy of this program that goes on in a process of its own: all that is loaded is there at once, which a new
interpreter would need a tenth of a second for.

The copy has nothing of ours but code and data: it has a session, handlers of signals and streams of its own, and no
other file that we have open. It never returns to the code that made it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterable, Mapping

from claude_iterate.system import signals
from claude_iterate.system.processes import LINUX

_INTERRUPTED = 130
_STANDARD_ERROR = 2


class ForkedProcess:
    """The side of the program that made it. It offers what `subprocess.Popen` does under the same names."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._code: int | None = None

    def poll(self) -> int | None:
        """The exit code, negative if a signal killed it; None while it runs."""
        return self._ended(os.WNOHANG)

    def wait(self) -> int:
        """Wait for its end."""
        code = self._ended(0)
        assert code is not None
        return code

    def _ended(self, flags: int) -> int | None:
        if self._code is None:
            try:
                ended, status = os.waitpid(self.pid, flags)
            except ChildProcessError:  # our parent left us SIGCHLD ignored: the system keeps no exit codes
                ended, status = self.pid, 0
            self._code = os.waitstatus_to_exitcode(status) if ended else None
        return self._code


def is_safe() -> bool:
    """Only the thread that forks is copied, so what another one has locked would stay locked in the copy. Frameworks of
    macOS have threads that Python does not know of, and end a copy that uses them: there it is never safe."""
    with contextlib.suppress(OSError):
        return LINUX and len(os.listdir("/proc/self/task")) == 1
    return False


def fork(work: Callable[[], int], streams: tuple[int, int], environ: Mapping[str, str]) -> ForkedProcess:
    """Do `work` in a copy of this program; what it returns is the exit code. `streams` become its standard input and
    output. Call it only where it `is_safe`."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()  # else both would print what is held
    # Until the copy has handlers of its own, a signal would only call the copy of ours.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        pid = os.fork()
        if pid == 0:
            _be_the_copy(work, streams, environ, before)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return ForkedProcess(pid)


def _be_the_copy(
    work: Callable[[], int], streams: tuple[int, int], environ: Mapping[str, str], mask: Iterable[int]
) -> None:
    import fcntl

    code = 1
    try:
        os.setsid()
        # A program that was started without standard streams may have a pipe in their place.
        safe = [fcntl.fcntl(handle, fcntl.F_DUPFD, _STANDARD_ERROR + 1) for handle in streams]
        for number, handle in enumerate(safe):
            os.dup2(handle, number)
        _close_all_others()
        if environ is not os.environ:
            wanted = dict(environ)
            os.environ.clear()
            os.environ.update(wanted)
        signals.forget_handlers()
        code = _worked(work, mask)
    finally:
        # Not `sys.exit`: it would go on with what the program does after its own work, such as ending all runs.
        os._exit(code)


def _worked(work: Callable[[], int], mask: Iterable[int]) -> int:
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        return int(work())
    except KeyboardInterrupt:
        return _INTERRUPTED
    except Exception:  # noqa: BLE001 - the boundary of this process
        sys.excepthook(*sys.exc_info())
        return 1
    finally:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # nothing may come between it and its end
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.flush()


def _close_all_others() -> None:
    """Above all the pipes to other copies: while we have them, those do not see the end of the program."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > _STANDARD_ERROR:
            with contextlib.suppress(OSError):  # the one that lists them is closed already
                os.close(int(name))
