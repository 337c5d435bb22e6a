"""Journals of runs that never were, for tests that look at them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from claude_iterate.core.events import Entry, Event, RunStarted
from claude_iterate.core.state.fold import fold
from claude_iterate.workspace import metadata_updates
from claude_iterate.workspace.journal.writer import JournalWriter
from claude_iterate.workspace.layout import Layout

RUN = "20260101-000000-aaaaaa"


def write(layout: Layout, run: str, events: Sequence[Event], began: float = 1_767_225_600.0) -> list[Entry]:
    """A journal; one second from event to event."""
    entries = [Entry(seq, began + seq, float(seq), event) for seq, event in enumerate(events, 1)]
    writer = JournalWriter(layout.journal(run), pytest.fail)
    for entry in entries:
        writer.append(entry)
    writer.close()
    return entries


def journal(layout: Layout, *events: Event, running: bool, began: float = 1_767_225_600.0) -> None:
    """A run of these events, and what it leaves in the metadata."""
    started = RunStarted(RUN, layout.name, "loop", 50, 1, "h", "0", ("claude",), "iterate-20260101-000000.log")
    metadata_updates.record_run(layout, fold(write(layout, RUN, [started, *events], began)), RUN, running)
