"""How Claude is ended: SIGINT, a pause, SIGTERM to its group, a pause, SIGKILL. The caller passes the time in.

SIGINT goes first because only it lets Claude end its own tools; SIGTERM and SIGKILL leave them running.
"""

from __future__ import annotations

import signal
from typing import Protocol

AFTER_INTERRUPT = 3.0
AFTER_KILL = 2.0


class SignalTarget(Protocol):
    """A process that can be sent a signal, alone or with the group that it leads."""

    def signal(self, number: int, group: bool = False) -> None:
        """Send the signal; no effect when the process has ended."""


class Ladder:
    """The signals in their order, each stronger than the one before; `due` is the moment of the next. A program that is
    not Claude need not be interrupted first: a shell waits for its child then, and does not end."""

    def __init__(self, process: SignalTarget, now: float, terminate_grace: float, interrupts: bool = True) -> None:
        self._process = process
        # The signal, whether it goes to the whole group, and how long to wait for its effect.
        self._steps = [
            *([(signal.SIGINT, False, AFTER_INTERRUPT)] if interrupts else []),
            (signal.SIGTERM, True, terminate_grace),
            (signal.SIGKILL, True, AFTER_KILL),
        ]
        self.due = now

    def climb(self, now: float) -> None:
        """Send the next signal if its time has come. The last one, SIGKILL, is repeated."""
        if now < self.due:
            return
        number, group, pause = self._steps.pop(0) if len(self._steps) > 1 else self._steps[0]
        self._process.signal(number, group)
        self.due = now + pause
