"""A recorded run, shown again by the console of a live run: on the terminal, as a picture, or as a recording."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import IO, Any, TextIO

import msgspec

from claude_iterate.core.events import Entry, RunStarted
from claude_iterate.core.events.run_events import JOURNAL_FORMAT
from claude_iterate.core.secrets.redact import Redactor
from claude_iterate.core.state.recorded_settings import recorded_settings
from claude_iterate.core.state.run_state import Batch
from claude_iterate.errors import UsageProblem, WorkspaceProblem
from claude_iterate.operations.playback import paces
from claude_iterate.operations.playback.console_playback import ConsolePlayback
from claude_iterate.operations.playback.paces import RecordedPace
from claude_iterate.operations.playback.recorded_console import recorded_console
from claude_iterate.operations.playback.recorded_entries import Range, RawOutputs, entries, iteration_range
from claude_iterate.operations.playback.terminal_cast import Cast
from claude_iterate.operations.playback.terminal_picture import COLUMNS, ShownLines, picture
from claude_iterate.sinks.console.console import Console
from claude_iterate.workspace import metadata
from claude_iterate.workspace.journal import reader
from claude_iterate.workspace.layout import Layout


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
        return paces.usual_speed(reader.age(self.layout.journal(self.run)))

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

    def __call__(self, batch: Batch) -> None:
        chosen = [(entry, state) for entry, state in batch if self._part.first <= entry.seq <= self._part.last]
        self._on = bool(chosen)
        if chosen:
            self._console(chosen)

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
