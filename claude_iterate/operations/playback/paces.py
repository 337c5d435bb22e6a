"""How fast a recorded run is shown: a clock that goes on with the entries, and the pauses between them."""

from __future__ import annotations

import time
from collections.abc import Callable

from claude_iterate.core.events import Entry

TICK = 0.2
"""Seconds between two drawings of the live line: more often it is not drawn."""
MINUTE = 60.0
LONGEST = 1.0
"""Seconds: where no speed is asked for, a longer pause is cut to this."""


class RecordedPace:
    """The recorded pauses, `speed` times as fast and none longer than `longest`; with speed 0 there are none. `wait`
    takes seconds. Only the entries with the numbers `first` to `last` are waited for."""

    def __init__(
        self,
        speed: float,
        longest: float = float("inf"),
        wait: Callable[[float], None] = time.sleep,
        first: int = 0,
        last: int | None = None,
    ) -> None:
        self._speed = speed
        self._longest = longest
        self._wait = wait
        self._first, self._last = first, last
        self._elapsed: float | None = None
        self._wall = 0.0

    def wall(self) -> float:
        """What the clock on the wall showed at that time."""
        return self._wall

    def __call__(self, entry: Entry, tick: Callable[[float], None]) -> None:
        """Wait until the moment of this entry has come."""
        before = entry.elapsed if self._elapsed is None else self._elapsed
        gap = max(0.0, entry.elapsed - before)
        begun = self._first < entry.seq and (self._last is None or entry.seq <= self._last)
        if begun and self._speed > 0 and gap > 0:
            self._let_pass(entry, before, gap, min(gap / self._speed, self._longest), tick)
        self._elapsed, self._wall = max(before, entry.elapsed), entry.at

    def _let_pass(self, entry: Entry, before: float, gap: float, pause: float, tick: Callable[[float], None]) -> None:
        """The clocks go on evenly during the pause, however much was cut from it."""
        parts = max(1, int(pause / TICK))
        for part in range(1, parts + 1):
            self._wait(pause / parts)
            if part < parts:
                self._wall = entry.at - gap * (parts - part) / parts
                tick(before + gap * part / parts)


def usual_speed(duration: float) -> float:
    """Fast, but readable: the whole takes about a minute."""
    return max(1.0, duration / MINUTE)
