"""A recorded run, shown again by the console of a live run: on the terminal, as a picture, or as a recording.

Its texts are whole where the raw output is there; a warning stands where a line is lost. The picture is one SVG file
that needs no font, no script and no network. A recording is for asciinema (version 2, one JSON value per line).
"""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, TextIO

import msgspec
from msgspec.structs import replace
from rich.console import Console
from rich.text import Text

from claude_iterate.core.events import (
    AgentStarted,
    Entry,
    IterationStarted,
    RunFinished,
    RunStarted,
    StreamEvent,
    Warned,
)
from claude_iterate.core.formats import join_names, plural
from claude_iterate.core.redact import Redactor
from claude_iterate.core.state.condition import recorded_settings
from claude_iterate.errors import UsageProblem
from claude_iterate.operations.playback import (
    ConsolePlayback,
    RecordedPace,
    recorded_beginning,
    recorded_console,
    usual_speed,
)
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
_NAMED = 5
"""Calls that are named where their raw output is missing."""


def entries(path: Path) -> Iterator[Entry]:
    """All entries of a journal. In the place of a line that cannot be read stands a warning; the last line may be torn
    by a kill, which shows in the missing end of the run."""
    damaged: list[int] = []
    last = Entry(0, 0.0, 0.0, Warned(""))
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            entry = _decode(line)
            if entry is None:
                damaged += [number] if line.endswith(b"\n") else []
                continue
            if damaged:
                yield Entry(last.seq, last.at or entry.at, last.elapsed, _loss_warning(damaged))
                damaged = []
            last = entry
            yield entry
    if damaged:
        yield Entry(last.seq, last.at, last.elapsed, _loss_warning(damaged))


def _decode(line: bytes) -> Entry | None:
    try:
        return journal_reader.as_entry(msgspec.json.decode(line.decode("utf-8", "replace")))
    except (ValueError, RecursionError):
        return None


def _loss_warning(numbers: list[int]) -> Warned:
    where = f"Line {numbers[0]}" if len(numbers) == 1 else f"Lines {numbers[0]} to {numbers[-1]}"
    return Warned(f"{where} of the journal cannot be read: something is missing here.")


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


def _describe_missing(outputs: Mapping[str, FullTexts]) -> str:
    """Where long texts are shortened, and why; empty where the raw output of all calls is there."""
    lost = [(name, output.missing) for name, output in outputs.items() if output.missing]
    if not lost:
        return ""
    if len(lost) == len(outputs):
        return lost[0][1]
    named = join_names([name for name, _ in lost[:_NAMED]])
    named += f" and {len(lost) - _NAMED} more" if len(lost) > _NAMED else ""
    return f"The raw output of {plural(len(lost), 'call')} is missing ({named}), so long texts are shortened there."


class ReplayedRun(msgspec.Struct, frozen=True):
    """What is shown: a run, or one `part` of it, on a level. Texts are made whole from the outputs of its calls, which
    `redactor` cleans; `missing` says where there is none."""

    layout: Layout
    run: str
    started: RunStarted
    level: str
    part: range | None
    redactor: Redactor
    missing: str = ""

    @property
    def title(self) -> str:
        """The command that it was."""
        return f"claude-iterate {self.started.purpose} {self.started.workspace}"

    def usual_speed(self) -> float:
        """The whole takes about a minute."""
        return usual_speed(journal_reader.age(self.layout.journal(self.run)))

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
        console = recorded_console(self.started, stream, stream, self.level, wall=pace.wall, **looks)
        with contextlib.closing(console):
            ConsolePlayback(console, pace, self.part).show(self._entries())

    def _entries(self) -> Iterator[Entry]:
        """The entries with their texts whole, as far as the raw output is there."""
        printed: Iterator[StreamEvent] = iter(())
        for entry in entries(self.layout.journal(self.run)):
            if isinstance(entry.event, AgentStarted) and self.level == "verbose":  # the only one with long texts
                printed = full_texts(self.layout, self.run, entry.event.raw).events(self.redactor)
            yield from restore_texts([entry], printed)


def load_replay(layout: Layout, run: str, number: int | None, level: str, redactor: Redactor) -> ReplayedRun:
    """The run as it is recorded, or an ExpectedError. Nothing is written."""
    path, started = layout.journal(run), recorded_beginning(layout, run)
    part = iteration_range(entries(path), number) if number is not None else None
    if number is not None and part is None:
        hint = f"See which it has: claude-iterate history {layout.name}"
        raise UsageProblem(f"Run {run} has no iteration {number}.", hint)
    shown = ReplayedRun(layout, run, started, level or recorded_settings(started).output, part, redactor)
    if shown.level != "verbose":
        return shown
    calls = [entry.event.raw for entry in journal_reader.milestones(path) if isinstance(entry.event, AgentStarted)]
    outputs = {name: full_texts(layout, run, name) for name in calls}
    return replace(shown, missing=_describe_missing(outputs))


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

    def __init__(self, file: IO[bytes], title: str, began: float, columns: int = CAST_COLUMNS) -> None:
        super().__init__()
        self._file = file
        self._now = 0.0
        size = {"width": columns, "height": ROWS}
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
