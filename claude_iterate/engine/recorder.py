"""Gives each event its place, folds it, writes it to the journal and shows it to the sinks. Only this place does."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Protocol

import msgspec

from claude_iterate.core.events import Entry, Event, Warned
from claude_iterate.core.redact import Redactor
from claude_iterate.core.state.fold import reduce
from claude_iterate.core.state.run_state import RunState
from claude_iterate.workspace.journal_writer import JournalWriter


class Sinks(Protocol):
    """The sinks, seen from the engine."""

    def __call__(self, entry: Entry, state: RunState) -> None:
        """An entry was recorded."""

    def tick(self, now: float) -> None:
        """Time has passed."""

    def flush(self) -> None:
        """Something happened after which nothing may be lost."""


class Recorder:
    """The one place that puts events in order.

    `troubles` is where the journal and the sinks leave what went wrong with them: it cannot be recorded while they are
    still busy with an entry, so it is recorded right after, like everything else without its secrets.
    """

    def __init__(self, journal: JournalWriter, sinks: Sinks, redactor: Redactor, troubles: list[Warned]) -> None:
        self.journal = journal
        self.sinks = sinks
        self._redactor = redactor
        self._troubles = troubles
        self._began = time.monotonic()
        self._sequence = 0
        self._warnings: set[str] = set()
        self.state = RunState()

    def now(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self._began

    def wall_time(self) -> float:
        """Epoch seconds."""
        return time.time()

    def record(self, event: Event) -> None:
        """Record what the runner did or saw. It has left our memory when this returns."""
        self.record_printed([event])

    def warn_once(self, text: str, hint: str, about: str = "") -> None:
        """Record a warning, unless this run has given it before, or another one `about` the same."""
        if (about or text) not in self._warnings:
            self._warnings.add(about or text)
            self.record(Warned(text, hint))

    def record_printed(self, events: Sequence[Event]) -> None:
        """Record a batch: one look for secrets, one time, one write. A flood must not cost a write per line."""
        if events:
            self._write(events)
        self.record_troubles()

    def record_troubles(self) -> None:
        """Record what went wrong with the journal and the sinks meanwhile."""
        while self._troubles:
            self._write([self._troubles.pop(0)])  # one by one: another thread may add one at any moment

    def _write(self, events: Sequence[Event]) -> None:
        at, elapsed = round(time.time(), 3), round(time.monotonic() - self._began, 4)
        if self._redactor.suspects(msgspec.json.encode(events)):
            events = [self._redactor.clean_event(event) for event in events]
        folded: list[tuple[Entry, RunState]] = []
        for event in events:
            self._sequence += 1
            entry = Entry(self._sequence, at, elapsed, event)
            self.state = reduce(self.state, entry)
            folded.append((entry, self.state))
        self.journal.append(*[entry for entry, _ in folded])
        self.journal.write_out()
        for entry, state in folded:
            self.sinks(entry, state)

    def tick(self) -> None:
        """Tell the sinks that time has passed."""
        self.sinks.tick(self.now())
        self.record_troubles()
