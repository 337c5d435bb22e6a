"""The files of single runs: which log belongs to which run, the journal as plain documents, a row per run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from claude_iterate.core import formats
from claude_iterate.core.state.steps import fold
from claude_iterate.workspace.journal import reader
from claude_iterate.workspace.layout import Layout


def newest_run(layout: Layout) -> str | None:
    """The newest run that has a journal."""
    return next((run for run in reversed(layout.run_ids()) if layout.journal(run).is_file()), None)


def log_of(layout: Layout, run: str | None = None) -> Path | None:
    """The log of a run, whether it is written yet or not; without a run the newest log, the original's included."""
    if run is None:
        logs = layout.logs()
        return logs[-1] if logs else None
    started = reader.beginning(layout.journal(run))
    # Joined, so that a log named without its folder is found as well.
    return layout.folder / started.log if started is not None and started.log else None


def entries(path: Path) -> Iterator[dict[str, Any]]:
    """A journal as documents; torn lines are passed over."""
    return (row for row in reader.documents(path) if isinstance(row, dict))


def summaries(layout: Layout) -> list[dict[str, Any]]:
    """One row per run, oldest first."""
    rows = []
    for run in layout.run_ids():
        path = layout.journal(run)
        state = fold(reader.read(path)) if path.is_file() else None
        if state is None or state.started is None:
            continue
        rows.append(
            {
                "id": run,
                "started": formats.moment(state.started_at),
                "iterations": state.iterations,
                "reason": state.reason,
                "costUsd": round(state.cost_usd, 6),
                "dryRun": state.started.dry_run,
                "log": str(layout.folder / state.started.log) if state.started.log else None,
            }
        )
    return rows
