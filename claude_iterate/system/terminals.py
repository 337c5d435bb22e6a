"""The settings of the user's terminal, and the keys typed there."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import termios
from collections.abc import Iterator
from typing import Any


def accepts_output(handle: int) -> bool:
    """False when the descriptor is a terminal that takes nothing for half a second: it was stopped, or its connection
    hangs."""
    try:
        return not os.isatty(handle) or bool(select.select([], [handle], [], 0.5)[1])
    except (OSError, ValueError):
        return True


@contextlib.contextmanager
def restore_settings_afterwards(handle: int) -> Iterator[None]:
    """Restore the terminal's settings afterwards: a program that is killed does not restore them itself."""
    if not os.isatty(handle):
        yield
        return
    before = termios.tcgetattr(handle)
    try:
        yield
    finally:
        with contextlib.suppress(termios.error):  # the terminal may be gone
            termios.tcsetattr(handle, termios.TCSADRAIN, before)


def _is_ours(handle: int) -> bool:
    """False while another job has the terminal: a process that touches it then is suspended."""
    with contextlib.suppress(OSError):  # it may not be our controlling terminal
        return os.tcgetpgrp(handle) == os.getpgrp()
    return True


def read_keys(handle: int) -> bytes | None:
    """What was typed since the last call, without waiting; None when no more input can come."""
    try:
        if not _is_ours(handle) or not select.select([handle], [], [], 0)[0]:
            return b""
        return os.read(handle, 4096) or None
    except (OSError, ValueError):
        return None


def discard_keys(handle: int) -> None:
    """Discard what was typed so far, an unfinished line included."""
    if _is_ours(handle):
        with contextlib.suppress(termios.error):
            termios.tcflush(handle, termios.TCIFLUSH)


@contextlib.contextmanager
def single_keys(handle: int) -> Iterator[None]:
    """Keys arrive one by one and are not echoed; Ctrl-C and Ctrl-Z work as usual. Afterwards, and while we are
    suspended, the terminal has its old settings."""
    if not os.isatty(handle):
        yield
        return
    before, ours = termios.tcgetattr(handle), termios.tcgetattr(handle)
    ours[3] &= ~(termios.ECHO | termios.ICANON)

    def use(attributes: list[Any]) -> None:
        if _is_ours(handle):
            with contextlib.suppress(termios.error):  # the terminal may be gone
                # Not TCSADRAIN, which waits for a terminal that was stopped (Ctrl-S). What is still to be shown does
                # not depend on how keys are read.
                termios.tcsetattr(handle, termios.TCSANOW, attributes)

    def suspend(_number: int, _frame: object) -> None:
        use(before)
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        signal.raise_signal(signal.SIGTSTP)  # returns when we are continued
        signal.signal(signal.SIGTSTP, suspend)
        use(ours)

    handlers = {number: signal.getsignal(number) for number in (signal.SIGTSTP, signal.SIGCONT)}
    if handlers[signal.SIGTSTP] is not signal.SIG_IGN:
        signal.signal(signal.SIGTSTP, suspend)
    # A job that continued in the background gets the terminal back with this signal.
    signal.signal(signal.SIGCONT, lambda _number, _frame: use(ours))
    use(ours)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        use(before)
