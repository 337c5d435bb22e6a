"""Gives each event its place once, folds it, writes it to the journal and shows it to the sinks. Nobody else does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from claude_iterate.core.events import Entry, Event, Warned
from claude_iterate.core.redact import Redactor
from claude_iterate.core.state import RunState, reduce
from claude_iterate.engine.clock import Clock


class Journal(Protocol):
    """Where the truth is kept."""

    def append(self, entry: Entry) -> None:
        """Take an entry."""

    def write_out(self) -> None:
        """Put what was taken on disk."""


class Recorder:
    """The one place that puts events in order.

    `troubles` is where the journal and the sinks leave what went wrong with them: it cannot be told while they are
    still busy with an entry, so it is told right after.
    """

    def __init__(
        self,
        clock: Clock,
        journal: Journal,
        show: Callable[[Entry], None],
        redactor: Redactor,
        troubles: list[Warned],
    ) -> None:
        self._clock = clock
        self._journal = journal
        self._show = show
        self._redactor = redactor
        self._troubles = troubles
        self._encode = msgspec.json.Encoder().encode
        self._began = clock.steady()
        self._sequence = 0
        self.state = RunState()

    def elapsed(self) -> float:
        """Seconds since the run began."""
        return self._clock.steady() - self._began

    def record(self, event: Event) -> None:
        """Record what the runner did or saw. It is on disk when this returns."""
        if self._redactor.suspects(self._encode(event)):
            event = self._redactor.clean_event(event)
        self._add(event)
        self.write_out()

    def suspects(self, data: bytes) -> bool:
        """True when these bytes may hold a secret."""
        return self._redactor.suspects(data)

    def record_printed(self, events: list[Event], suspicious: bool) -> None:
        """Record what Claude printed. `write_out` follows once per batch: a flood must not cost a write per line."""
        for event in events:
            self._add(self._redactor.clean_event(event) if suspicious else event)

    def write_out(self) -> None:
        """Put a batch on disk, and tell of the trouble there was."""
        self._journal.write_out()
        while self._troubles:
            self._add(self._troubles.pop(0))

    def _add(self, event: Event) -> None:
        self._sequence += 1
        elapsed = self._clock.steady() - self._began
        entry = Entry(self._sequence, round(self._clock.wall(), 3), round(elapsed, 4), event)
        self.state = reduce(self.state, entry)
        self._journal.append(entry)
        self._show(entry)
