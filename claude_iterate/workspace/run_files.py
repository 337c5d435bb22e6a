"""The files of single runs: which log belongs to which run, the journal as plain documents, a row per run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from claude_iterate.core import moments
from claude_iterate.core.events import RunStarted
from claude_iterate.core.state import fold
from claude_iterate.workspace import journal
from claude_iterate.workspace.layout import Layout


def newest_run(layout: Layout) -> str | None:
    """The newest run that has a journal."""
    return next((run for run in reversed(layout.run_ids()) if layout.journal(run).is_file()), None)


def log_of(layout: Layout, run: str | None = None) -> Path | None:
    """The log of a run, whether it is written yet or not; without a run the newest log, the original's included."""
    if run is None:
        logs = layout.logs()
        return logs[-1] if logs else None
    path = layout.journal(run)
    if path.is_file():
        for entry in journal.read(path):
            if isinstance(entry.event, RunStarted):
                # Joined, so that a log named without its folder is found as well.
                return layout.folder / entry.event.log if entry.event.log else None
    return None


def entries(path: Path) -> Iterator[dict[str, Any]]:
    """A journal as documents; torn lines are passed over."""
    import ndjson

    with path.open(encoding="utf-8", errors="replace", newline="\n") as file:
        rows = ndjson.reader(file)
        while True:
            try:
                row = next(rows)
            except StopIteration:
                return
            except (ValueError, RecursionError):
                continue
            if isinstance(row, dict):
                yield row


def summaries(layout: Layout) -> list[dict[str, Any]]:
    """One row per run, oldest first."""
    rows = []
    for run in layout.run_ids():
        path = layout.journal(run)
        state = fold(journal.read(path)) if path.is_file() else None
        if state is None or state.started is None:
            continue
        rows.append(
            {
                "id": run,
                "started": moments.written(state.started_at),
                "iterations": state.iterations,
                "reason": state.reason,
                "costUsd": round(state.cost_usd, 6),
                "dryRun": state.started.dry_run,
                "log": str(layout.folder / state.started.log) if state.started.log else None,
            }
        )
    return rows
