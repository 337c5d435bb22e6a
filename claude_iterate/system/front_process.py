"""A process in front of a worker: the shell waits for the front, so the worker can detach while it works.

Both are made by a fork of a program that has no threads yet: that costs a millisecond, where a second interpreter costs
a tenth of a second. They share a process group, so keys such as Ctrl-C and Ctrl-Z reach the worker as ever. The front
does nothing but wait: it is suspended, and ends, exactly as the worker is and does.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterable
from pathlib import Path

_HEARD = {signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP, signal.SIGUSR1}
_PASSED_ON = {signal.SIGTERM, signal.SIGHUP}
"""Signals that may be meant for the front alone, and do no harm twice. Ctrl-C reaches both; twice it means more."""


class Worker:
    """The worker's side."""

    def __init__(self, front: int, news: int) -> None:
        self._front = front
        self._news = news
        self.has_left = False

    def end_if_abandoned(self) -> None:
        """If the front was killed, although it was to wait for us, we end as after SIGTERM."""
        if not self.has_left and os.getppid() != self._front:
            self.has_left = True
            signal.raise_signal(signal.SIGTERM)

    def leave(self) -> None:
        """Go on without the terminal, in a session of our own: its end cannot reach us any more. The front ends."""
        self.has_left = True
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os.setsid()
        with Path(os.devnull).open("r+b") as nothing:
            for handle in (0, 1, 2):
                os.dup2(nothing.fileno(), handle)
        with contextlib.suppress(OSError):  # the front may be gone
            os.write(self._news, b"left")
            os.kill(self._front, signal.SIGUSR1)
        os.close(self._news)


class Front:
    """The side that the shell sees."""

    def __init__(self, worker: int, news: int, before: Iterable[int]) -> None:
        self.worker = worker
        self._news = news
        self._before = before

    def wait(self) -> int | None:
        """The worker's exit code; None when it has detached and continues. If a signal killed it, the same kills us."""
        suspended = False
        while True:
            changed, status = os.waitpid(self.worker, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
            if changed and os.WIFSTOPPED(status):
                suspended = True
                os.kill(os.getpid(), signal.SIGSTOP)  # the shell has the terminal, until it continues us
            elif changed and os.WIFCONTINUED(status):
                suspended = False
            elif changed:
                return _end_as_worker(status)
            elif suspended:  # we alone were continued. Not if both were: the user may have suspended it again since
                suspended = False
                os.kill(self.worker, signal.SIGCONT)
            elif self._has_left():
                signal.pthread_sigmask(signal.SIG_SETMASK, self._before)
                return None
            else:
                self._pass_on(signal.sigwait(_HEARD))

    def _has_left(self) -> bool:
        with contextlib.suppress(BlockingIOError):
            return os.read(self._news, 16) == b"left"
        return False

    def _pass_on(self, number: int) -> None:
        if number in _PASSED_ON:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.worker, number)


def split() -> Worker | Front:
    """Become two: the result says which one we are. Call it before any thread is started, and `wait` in the front."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()  # else both would print what is held
    front = os.getpid()
    hears, tells = os.pipe()
    os.set_blocking(hears, False)
    # Blocked before there are two, so that nothing is missed; the worker gets its own back at once.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HEARD)
    worker = os.fork()
    if worker == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.close(hears)
        return Worker(front, tells)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)  # some systems drop what is ignored, even if blocked
    os.close(tells)
    return Front(worker, hears, before)


def _end_as_worker(status: int) -> int:
    if not os.WIFSIGNALED(status):
        return os.WEXITSTATUS(status)
    number = os.WTERMSIG(status)
    if number not in {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    os.kill(os.getpid(), number)
    return 128 + number  # it is ignored, as after nohup
