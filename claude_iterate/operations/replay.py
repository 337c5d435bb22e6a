"""A recorded run, shown again by the console of a live run: on the terminal, as a picture, or as a recording.

Its texts are whole where the raw output is there. The picture is one SVG file that needs no font, no script and no
network. A recording is for asciinema (version 2, one JSON value per line).
"""

from __future__ import annotations

import contextlib
import io
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Any, TextIO

import msgspec
from rich.console import Console
from rich.text import Text

from claude_iterate.core.events import (
    AgentStarted,
    Entry,
    Event,
    IterationStarted,
    RunFinished,
    RunStarted,
    StreamEvent,
)
from claude_iterate.core.formats import plural
from claude_iterate.core.redact import Redactor
from claude_iterate.core.state.condition import recorded_settings
from claude_iterate.core.state.fold import reduce
from claude_iterate.core.state.run_state import RunState
from claude_iterate.errors import UsageProblem
from claude_iterate.operations.playback import recorded_beginning, recorded_console
from claude_iterate.views.full_texts import FullTexts, full_texts, restore_texts
from claude_iterate.workspace import journal_reader
from claude_iterate.workspace.layout import Layout

COLUMNS = 100
MOST_LINES = 400
_FIRST_LINES = 100
_PICTURE = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"><style>
text {{ white-space: pre }}
.{unique_id}-matrix {{ font: {char_height}px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace }}
.{unique_id}-title {{ font: 18px sans-serif }}
{styles}
</style><defs>
<clipPath id="{unique_id}-clip-terminal"><rect width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g></g></svg>
"""
"""Rich's own has the address of a font."""
ROWS = 24
CAST_COLUMNS = 80
_TICK = 0.2
"""Seconds between two drawings of the live line: more often it is not drawn."""
_MINUTE = 60.0
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
        """Wait until the moment of this entry has come; until then `tick` draws the live line again."""
        before = entry.elapsed if self._elapsed is None else self._elapsed
        gap = max(0.0, entry.elapsed - before)
        pause = min(gap / self._speed, self._longest) if self._speed > 0 else 0.0
        parts = max(1, int(pause / _TICK))
        for part in range(1, parts + 1) if pause > 0 else ():
            self._wait(pause / parts)
            if part < parts:  # the clocks move evenly during the pause, however much was cut from it
                self._wall = entry.at - gap * (parts - part) / parts
                tick(before + gap * part / parts)
        self._elapsed, self._wall = max(before, entry.elapsed), entry.at


def iteration_range(found: Iterable[Entry], number: int) -> range | None:
    """From the beginning of an iteration, all its attempts, to the next one or to the end of the run."""
    first = last = 0
    for entry in found:
        event = entry.event
        if isinstance(event, IterationStarted) and event.number == number:
            first = first or entry.seq
        elif first and isinstance(event, IterationStarted | RunFinished):
            break
        last = entry.seq
    return range(first, last + 1) if first else None


class ReplayedRun(msgspec.Struct, frozen=True):
    """What is shown: a run, or one `part` of it, on a level. Texts are made whole from the outputs of its calls, which
    `redactor` cleans."""

    layout: Layout
    run: str
    started: RunStarted
    level: str
    part: range | None
    redactor: Redactor

    @property
    def title(self) -> str:
        """The command that it was."""
        return f"claude-iterate {self.started.purpose} {self.started.workspace}"

    @property
    def missing(self) -> str:
        """Why long texts are shortened; empty where the raw output of all calls is there."""
        found = (self._texts(entry.event) for entry in journal_reader.milestones(self.layout.journal(self.run)))
        return next((texts.missing for texts in found if texts is not None and texts.missing), "")

    def usual_speed(self) -> float:
        """Fast, but readable: the whole takes about a minute."""
        return max(1.0, journal_reader.age(self.layout.journal(self.run)) / _MINUTE)

    def play(self, stream: TextIO, speed: float, longest: float, color: bool) -> None:
        """Show it on a terminal, or wherever the stream leads, in real time."""
        self._show(stream, RecordedPace(speed, longest), color=color)

    def draw(self) -> str:
        """All that was shown, as a picture."""
        shown = io.StringIO()
        self._show(shown, RecordedPace(0.0), live=False, forced_color=True, clock=False)
        return picture(shown.getvalue().removesuffix("\n").split("\n"), self.title)

    def record(self, file: IO[bytes], speed: float, longest: float) -> None:
        """All that was shown and when, as a recording for asciinema."""
        cast = Cast(file, self.title, next(self._entries()).at)
        pace = RecordedPace(speed, longest, cast.pass_time)
        self._show(cast, pace, columns=lambda: CAST_COLUMNS, clock=False, environ={})

    def _show(self, stream: TextIO, pace: RecordedPace, **looks: Any) -> None:
        state = RunState()
        console = recorded_console(self.started, stream, stream, self.level, wall=pace.wall, **looks)
        with contextlib.closing(console):
            for entry in self._entries():
                shown = self.part is None or entry.seq in self.part
                if shown:
                    pace(entry, console.tick)
                state = reduce(state, entry)
                if shown:
                    console(entry, state)

    def _entries(self) -> Iterator[Entry]:
        """The entries with their texts whole, as far as the raw output is there."""
        printed: Iterator[StreamEvent] = iter(())
        for entry in journal_reader.read(self.layout.journal(self.run)):
            if (texts := self._texts(entry.event)) is not None:
                printed = texts.events(self.redactor)
            yield from restore_texts([entry], printed)

    def _texts(self, event: Event) -> FullTexts | None:
        """The texts of the call that this event begins, on the only level with long texts."""
        if self.level != "verbose" or not isinstance(event, AgentStarted):
            return None
        return full_texts(self.layout, self.run, event.raw)


def load_replay(layout: Layout, run: str, number: int | None, level: str, redactor: Redactor) -> ReplayedRun:
    """The run as it is recorded, or an ExpectedError. Nothing is written."""
    started = recorded_beginning(layout, run)
    part = iteration_range(journal_reader.read(layout.journal(run)), number) if number is not None else None
    if number is not None and part is None:
        hint = f"See which it has: claude-iterate history {layout.name}"
        raise UsageProblem(f"Run {run} has no iteration {number}.", hint)
    return ReplayedRun(layout, run, started, level or recorded_settings(started).output, part, redactor)


def picture(lines: Sequence[str], title: str, columns: int = COLUMNS) -> str:
    """The picture of these lines, with a title above them. Of a long output it has the beginning and the end."""
    shown = list(lines)
    if len(shown) > MOST_LINES:
        left_out = f"\x1b[2m… {plural(len(shown) - MOST_LINES, 'line')} left out\x1b[0m"
        shown = [*shown[:_FIRST_LINES], left_out, *shown[_FIRST_LINES - MOST_LINES :]]
    console = Console(record=True, width=columns, file=io.StringIO(), force_terminal=True, color_system="standard")
    for line in shown:
        text = Text.from_ansi(line, overflow="fold")
        text.plain = "".join(
            one if one.isprintable() or one == "\t" else "\ufffd" for one in text.plain
        )  # as XML has it
        console.print(text, highlight=False)
    return console.export_svg(title=title, code_format=_PICTURE).replace("&#160;", " ")


class Cast(io.StringIO):
    """A terminal that writes what it is given into a file, with the moment on a clock of its own."""

    def __init__(self, file: IO[bytes], title: str, began: float) -> None:
        super().__init__()
        self._file = file
        self._now = 0.0
        size = {"width": CAST_COLUMNS, "height": ROWS}
        self._put({"version": 2, **size, "timestamp": int(began), "title": title, "env": {"TERM": "xterm-256color"}})

    def isatty(self) -> bool:
        """The console is to write as to a terminal."""
        return True

    def pass_time(self, seconds: float) -> None:
        """The clock moves on."""
        self._now += seconds

    def write(self, text: str, /) -> int:
        """What is shown now. A terminal begins a new line at its left."""
        if text:
            self._put([round(self._now, 3), "o", text.replace("\n", "\r\n")])
        return len(text)

    def _put(self, value: object) -> None:
        self._file.write(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
