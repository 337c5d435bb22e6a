"""A recorded run, shown again by the console of a live run: on the terminal, as a picture, or as a recording.

Its texts are whole where the raw output is there; a word stands where one is lost.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any, TextIO

import msgspec

from claude_iterate.core import events
from claude_iterate.core.events import Entry, RunStarted
from claude_iterate.core.events.run_events import JOURNAL_FORMAT
from claude_iterate.core.formats import counted, listed
from claude_iterate.core.secrets.redact import Redactor
from claude_iterate.core.state.recorded_settings import recorded_settings
from claude_iterate.core.state.run_state import RunState
from claude_iterate.errors import UsageProblem, WorkspaceProblem
from claude_iterate.operations.cassettes import RecordedCalls, raw_outputs
from claude_iterate.operations.playback import console_playback
from claude_iterate.operations.playback.console_playback import ConsolePlayback, RecordedPace, recorded_console
from claude_iterate.operations.playback.terminal_recordings import COLUMNS, Cast, ShownLines, picture
from claude_iterate.sinks.console.console import Console
from claude_iterate.views.full_texts import FullTexts, restored
from claude_iterate.workspace import metadata
from claude_iterate.workspace.journal import reader
from claude_iterate.workspace.layout import Layout

_NAMED = 5
"""Calls that are named where their raw output is missing."""


def entries(path: Path) -> Iterator[events.Entry]:
    """All entries of a journal. In the place of a line that cannot be read stands a warning; the last line may be torn
    by a kill, which is told by the missing end of the run."""
    damaged, added, last = [], 0, events.Entry(0, 0.0, 0.0, events.Warned(""))
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            entry = _entry(line)
            if entry is None:
                damaged += [number] if line.endswith(b"\n") else []
                continue
            if damaged:
                added += 1
                yield events.Entry(last.seq + added, last.at or entry.at, last.elapsed, _lost(damaged))
                damaged = []
            last = entry
            # Warnings that stand in for others are numbered like entries: no number comes twice.
            yield events.Entry(entry.seq + added, entry.at, entry.elapsed, entry.event) if added else entry
    if damaged:
        yield events.Entry(last.seq + added + 1, last.at, last.elapsed, _lost(damaged))


def _entry(line: bytes) -> events.Entry | None:
    try:
        return reader.as_entry(msgspec.json.decode(line.decode("utf-8", "replace")))
    except (ValueError, RecursionError):
        return None


def _lost(numbers: list[int]) -> events.Warned:
    where = f"Line {numbers[0]}" if len(numbers) == 1 else f"Lines {numbers[0]} to {numbers[-1]}"
    return events.Warned(f"{where} of the journal cannot be read: something is missing here.")


class Range(msgspec.Struct, frozen=True):
    """The entries of one iteration, by their numbers."""

    first: int
    last: int


def iteration_range(found: Iterable[events.Entry], number: int) -> Range | None:
    """From the beginning of an iteration, all its attempts, to the next one or to the end of the run."""
    first = last = 0
    for entry in found:
        event = entry.event
        if isinstance(event, events.IterationStarted) and event.number == number and not first:
            first = entry.seq
        elif first and _ends_iteration(event, number):
            break
        last = entry.seq
    return Range(first, last) if first else None


def _ends_iteration(event: events.Event, number: int) -> bool:
    another = isinstance(event, events.IterationStarted) and event.number != number
    return another or isinstance(event, events.RunFinished)


class RawOutputs:
    """The raw output of each call of a run, in their order. `missing` says in one sentence what is not there."""

    def __init__(self, layout: Layout, run: str) -> None:
        calls = RecordedCalls(reader.milestones(layout.journal(run))).calls
        self.outputs = raw_outputs(layout, run, calls)
        lost = [call.name for call, found in zip(calls, self.outputs, strict=True) if found.missing]
        self.missing = _missing(lost, self.outputs)

    def restored(self, found: Iterable[events.Entry], redactor: Callable[[], Redactor]) -> Iterator[events.Entry]:
        """The entries with their texts whole, as far as the raw output is there."""
        left = iter(self.outputs)
        printed: Iterator[events.StreamEvent] = iter(())
        cleaner = redactor() if any(not one.missing for one in self.outputs) else None
        for entry in found:
            if isinstance(entry.event, events.AgentStarted):
                output = next(left, None)
                printed = output.events(cleaner) if output is not None and cleaner is not None else iter(())
            yield from restored([entry], printed)


def _missing(lost: list[str], outputs: list[FullTexts]) -> str:
    if not lost:
        return ""
    if len(lost) == len(outputs):
        return next(found.missing for found in outputs if found.missing)
    named = listed(lost[:_NAMED]) + (f" and {len(lost) - _NAMED} more" if len(lost) > _NAMED else "")
    return f"The raw output of {counted(len(lost), 'call')} is missing ({named}), so long texts are shortened there."


class ReplayedRun(msgspec.Struct, frozen=True):
    """What is shown: a run, or one iteration of it, on a level. `redactor` cleans the full texts, which come from the
    raw output; `missing` says where there is none."""

    layout: Layout
    run: str
    started: RunStarted
    level: str
    part: Range | None
    outputs: RawOutputs | None
    redactor: Callable[[], Redactor]

    @property
    def missing(self) -> str:
        """Where long texts are shortened, and why; empty where they are whole or not shown."""
        return self.outputs.missing if self.outputs is not None else ""

    @property
    def title(self) -> str:
        """The command that it was."""
        return f"claude-iterate {self.started.purpose} {self.started.workspace}"

    def usual_speed(self) -> float:
        """The whole takes about a minute."""
        return console_playback.usual_speed(reader.age(self.layout.journal(self.run)))

    def play(self, stream: TextIO, speed: float, longest: float, color: bool) -> None:
        """Show it on a terminal, or wherever the stream leads, in real time."""
        pace = self._pace(speed, longest)
        self._show(recorded_console(self.started, stream, stream, self.level, color, wall=pace.wall), pace)

    def draw(self) -> str:
        """All that was shown, as a picture."""
        kept, pace = ShownLines(), self._pace(0.0)
        looks: dict[str, Any] = {"live": False, "forced_color": True, "clock": False}
        self._show(recorded_console(self.started, kept, kept, self.level, wall=pace.wall, **looks), pace)
        return picture(kept.lines(), self.title, COLUMNS)

    def record(self, file: IO[bytes], speed: float, longest: float) -> None:
        """All that was shown and when, as a recording for asciinema."""
        began = next(self._entries()).at
        cast = Cast(file, self.title, began)
        pace = self._pace(speed, longest, cast.pass_time)
        looks: dict[str, Any] = {"columns": lambda: 80, "clock": False, "environ": {}}
        self._show(recorded_console(self.started, cast, cast, self.level, wall=pace.wall, **looks), pace)

    def _pace(self, speed: float, longest: float = 0.0, wait: Callable[[float], None] | None = None) -> RecordedPace:
        first, last = (self.part.first, self.part.last) if self.part is not None else (0, None)
        more = {"wait": wait} if wait is not None else {}
        return RecordedPace(speed, longest, first=first, last=last, **more)

    def _show(self, console: Console, pace: RecordedPace) -> None:
        playback = ConsolePlayback(console if self.part is None else _Part(console, self.part), pace)
        with contextlib.closing(playback):
            playback.show(self._entries())

    def _entries(self) -> Iterator[Entry]:
        found = entries(self.layout.journal(self.run))
        return self.outputs.restored(found, self.redactor) if self.outputs is not None else found


class _Part:
    """Shows only some entries on a console; the state of all others is folded all the same."""

    def __init__(self, console: Console, part: Range) -> None:
        self._console = console
        self._part = part
        self._on = False

    def __call__(self, entry: Entry, state: RunState) -> None:
        self._on = self._part.first <= entry.seq <= self._part.last
        if self._on:
            self._console(entry, state)

    def tick(self, now: float) -> None:
        if self._on:
            self._console.tick(now)

    def flush(self) -> None:
        self._console.flush()

    def close(self) -> None:
        self._console.close()


def replayed_run(
    layout: Layout, run: str, number: int | None, level: str, redactor: Callable[[], Redactor]
) -> ReplayedRun:
    """The run as it is recorded, or an ExpectedError. Nothing is written."""
    path = layout.journal(run)
    other = f"Choose another run: claude-iterate logs {layout.name} --list"
    if not path.is_file():
        raise WorkspaceProblem(f"Run {run} has no journal: {path}", other)
    metadata.refuse_newer(reader.format_of(path), JOURNAL_FORMAT, f"The journal of run {run}")
    started = reader.beginning(path)
    if started is None:
        raise WorkspaceProblem(f"The journal of run {run} has no beginning that can be read: {path}", other)
    level = level or recorded_settings(started).output
    part = None
    if number is not None and (part := iteration_range(entries(path), number)) is None:
        raise UsageProblem(
            f"Run {run} has no iteration {number}.", f"See which it has: claude-iterate history {layout.name}"
        )
    # Only this level shows texts that the journal shortens.
    outputs = RawOutputs(layout, run) if level == "verbose" else None
    return ReplayedRun(layout, run, started, level, part, outputs, redactor)
