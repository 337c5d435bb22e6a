"""Time, given to the engine from outside so that tests can own it."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Two clocks: one that people read and one that never jumps."""

    def wall(self) -> float:
        """Epoch seconds."""

    def steady(self) -> float:
        """Seconds on a clock that only moves forward."""


class SystemClock:
    """The machine's own."""

    def wall(self) -> float:
        """Epoch seconds."""
        return time.time()

    def steady(self) -> float:
        """Seconds on a clock that only moves forward."""
        return time.monotonic()
