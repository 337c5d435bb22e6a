"""Signals: to send them, to notice them, and what programs that we start inherit of them."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable

_STOP = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def send(pid: int, number: int, group: bool = False) -> bool:
    """Signal one process, or the process group that it leads; False when it is gone or not ours."""
    with contextlib.suppress(OSError):
        (os.killpg if group else os.kill)(pid, number)
        return True
    return False


def restore_signals_for_children() -> None:
    """Children get default handlers for stop signals that we inherited as ignored (`nohup`, `&` in a script).

    We keep ignoring them: a handler that does nothing is, unlike an ignored signal, not inherited.
    """
    for number in _STOP:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda _number, _frame: None)


def on_stop_signals(notice: Callable[[str], None], *more: signal.Signals) -> Callable[[], None]:
    """Call `notice` with the signal's name on SIGINT, SIGTERM, SIGHUP and `more`. Returns a function that restores the
    old handlers. Children get the default handlers, because handlers are not inherited."""

    def report(number: int, _frame: object) -> None:
        notice(signal.Signals(number).name)

    # A signal that was ignored when we started (nohup) stays ignored: that is what the user asked for.
    handled = [number for number in (*_STOP, *more) if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, report) for number in handled}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    return restore
