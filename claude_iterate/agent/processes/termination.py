"""How Claude is ended: SIGINT, a pause, SIGTERM to its group, a pause, SIGKILL. Time comes from outside.

SIGINT goes first because only it lets Claude end its own tools; SIGTERM and SIGKILL leave them running.
"""

from __future__ import annotations

import signal
from typing import NamedTuple, Protocol

AFTER_INTERRUPT = 3.0
AFTER_KILL = 2.0


class Signalled(Protocol):
    """Somebody who can be sent a signal, alone or with the group that it leads."""

    def signal(self, number: int, group: bool = False) -> None:
        """Send it; harmless when the process is gone."""


class Rung(NamedTuple):
    """One step: the signal, whom it goes to, and how long to wait for its effect."""

    signal: int
    group: bool
    pause: float


class Ladder:
    """Climbs one rung at a time; `due` is the moment of the next."""

    def __init__(self, process: Signalled, now: float, terminate_grace: float) -> None:
        self._process = process
        self._rungs = [
            Rung(signal.SIGINT, False, AFTER_INTERRUPT),
            Rung(signal.SIGTERM, True, terminate_grace),
            Rung(signal.SIGKILL, True, AFTER_KILL),
        ]
        self.due = now

    def climb(self, now: float) -> None:
        """Take the next rung if its time has come. The last one is repeated: nothing survives it for long."""
        if now < self.due:
            return
        rung = self._rungs.pop(0) if len(self._rungs) > 1 else self._rungs[0]
        self._process.signal(rung.signal, rung.group)
        self.due = now + rung.pause
