"""The entries of a run on a console, as the run itself showed them, folded once.

`attach` follows a run that is under way and shows what is there at once; `replay` shows one that is over at the pace it
had. Memory does not grow with the number of entries.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TextIO

import msgspec

from claude_iterate.core.events import Entry, RunStarted
from claude_iterate.core.settings.declared import Settings
from claude_iterate.core.settings.modes import stop_settings
from claude_iterate.core.state.condition import recorded_settings
from claude_iterate.core.state.fold import reduce
from claude_iterate.core.state.run_state import RunState
from claude_iterate.sinks.console.console import Console
from claude_iterate.sinks.fanout import Sink
from claude_iterate.system.files import near

Pace = Callable[[Entry, Callable[[float], None]], None]
"""Returns when the moment of an entry has come. Until then it may call the given function with moments in between, on
the clock of `Entry.elapsed`: that redraws the live line."""


class Range(msgspec.Struct, frozen=True):
    """Some entries of a run, such as those of one iteration, by their numbers; without a `last`, all from the first."""

    first: int = 0
    last: int | None = None

    def __contains__(self, number: int) -> bool:
        return self.first <= number and (self.last is None or number <= self.last)


ALL = Range()


class ConsolePlayback:
    """Shows entries on a sink, at once or at a pace; with a `part` only these, but the state after each is that of the
    whole run."""

    def __init__(self, sink: Sink, pace: Pace | None = None, part: Range = ALL) -> None:
        self._sink = sink
        self._pace = pace
        self._part = part
        self.state = RunState()
        """What the entries came to so far."""
        self.last: Entry | None = None

    def show(self, entries: Iterable[Entry]) -> bool:
        """Show these, which come after those before. True if there were any."""
        before = self.last
        for entry in entries:
            shown = entry.seq in self._part
            if shown and self._pace is not None:
                self._pace(entry, self._sink.tick)
            self.state, self.last = reduce(self.state, entry), entry
            if shown:
                self._sink(entry, self.state)
        return self.last is not before


def console_for(
    settings: Settings, mode: str, out: TextIO, err: TextIO, environ: Mapping[str, str] = os.environ, **more: Any
) -> Console:
    """The console of a run with these settings. `more` goes to `Console`, and wins."""
    usual: dict[str, Any] = {
        "level": settings.output,
        # In attended mode the live line would cover the question.
        "live": environ.get("TERM") != "dumb" and not settings.attended,
        "attended": settings.attended,
        "clock": not err.isatty(),
        "columns": lambda: shutil.get_terminal_size().columns,
        "is_there": os.path.isfile,
        "place": near,
        "stop": stop_settings(settings, mode),
    }
    return Console(out, err, **(usual | more))


def recorded_console(
    started: RunStarted, out: TextIO, err: TextIO, level: str = "", color: bool = True, **more: Any
) -> Console:
    """The console that a recorded run had. `level`: another one than it was started with."""
    settings = recorded_settings(started)
    level, color = level or settings.output, color and settings.colors
    return console_for(settings, started.mode, out, err, level=level, color=color, **more)


TICK = 0.2
"""Seconds between two drawings of the live line: more often it is not drawn."""
MINUTE = 60.0
LONGEST = 1.0
"""Seconds: where no speed is asked for, a longer pause is cut to this."""


class RecordedPace:
    """The recorded pauses, `speed` times as fast and none longer than `longest`; with speed 0 there are none. `wait`
    takes seconds."""

    def __init__(self, speed: float, longest: float = float("inf"), wait: Callable[[float], None] = time.sleep) -> None:
        self._speed = speed
        self._longest = longest
        self._wait = wait
        self._elapsed: float | None = None
        self._wall = 0.0

    def wall(self) -> float:
        """What the clock on the wall showed at that time."""
        return self._wall

    def __call__(self, entry: Entry, tick: Callable[[float], None]) -> None:
        """Wait until the moment of this entry has come."""
        before = entry.elapsed if self._elapsed is None else self._elapsed
        gap = max(0.0, entry.elapsed - before)
        if self._speed > 0 and gap > 0:
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
