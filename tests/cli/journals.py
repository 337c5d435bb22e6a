"""Journals of runs that never were, for tests that look at them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from claude_iterate.core.events import Entry, Event, RunStarted
from claude_iterate.core.state.fold import fold
from claude_iterate.workspace import metadata_updates
from claude_iterate.workspace.journal_writer import JournalWriter
from claude_iterate.workspace.layout import Layout

RUN = "20260101-000000-aaaaaa"


def beginning(run: str = RUN, workspace: str = "w", mode: str = "loop", **more: Any) -> RunStarted:
    """The beginning of a run."""
    known: dict[str, Any] = {"max_iterations": 50, "pid": 1, "host": "h", "version": "0", "command": ("claude",)}
    return RunStarted(run, workspace, mode, **known | more)


def write(layout: Layout, run: str, events: Sequence[Event], began: float = 1_767_225_600.0) -> list[Entry]:
    """A journal; one second from event to event."""
    entries = [Entry(seq, began + seq, float(seq), event) for seq, event in enumerate(events, 1)]
    writer = JournalWriter(layout.journal(run), pytest.fail)
    for entry in entries:
        writer.append(entry)
    writer.close()
    return entries


def journal(layout: Layout, *events: Event, began: float = 1_767_225_600.0) -> None:
    """A run of these events, and what it leaves in the metadata."""
    begun = beginning(RUN, layout.name, log="iterate-20260101-000000.log")
    record(layout, RUN, [begun, *events], began)


def record(layout: Layout, run: str, events: Sequence[Event], began: float = 1_767_225_600.0) -> None:
    """A journal, and what its run leaves in the metadata."""
    metadata_updates.record_run(layout, fold(write(layout, run, events, began)), run)
