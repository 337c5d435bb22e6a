"""All workspaces at a glance: each metadata file is read once, plainly, because there may be thousands."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from claude_iterate.workspace import lock

CONDITIONS = ("in_progress", "completed", "error", "running", "interrupted", "damaged")
"""The original's three words, and what they cannot say: running now, cut off by a crash, unreadable."""


def rows(folder: Path, names: list[str]) -> list[dict[str, Any]]:
    """One row per workspace, ready for JSON."""
    base = str(folder) + os.sep
    return [_row(name, _document(base + name + os.sep + ".metadata.json"), base + name) for name in names]


def condition(document: dict[str, Any], folder: str) -> str:
    """One of CONDITIONS. Only where the metadata says `running` is the lock asked who holds it."""
    run = document.get("run")
    if isinstance(run, dict) and run.get("state") == "running":
        return "running" if lock.holder(Path(folder, ".lock")) is not None else "interrupted"
    said = document.get("status", "in_progress")
    return said if said in CONDITIONS else "in_progress"


def _row(name: str, document: dict[str, Any] | None, folder: str) -> dict[str, Any]:
    if document is None:
        return {"name": name, "status": "damaged", "path": folder}
    found = document.get("run")
    run: dict[str, Any] = found if isinstance(found, dict) else {}
    state = condition(document, folder)
    if state in {"running", "interrupted"}:
        document, run = _from_journal(document, run, folder)
    return {
        "name": name,
        "status": state,
        "mode": document.get("mode", "loop"),
        "iterations": document.get("executionIterations", 0),
        "progress": run.get("progress"),
        "reason": run.get("reason"),
        "costUsd": run.get("costUsd"),
        "created": document.get("created"),
        "lastRun": document.get("lastRun"),
        "path": folder,
    }


def _from_journal(document: dict[str, Any], run: dict[str, Any], folder: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The projection is as old as the start of the run; where it is under way, or was killed, the journal tells."""
    from claude_iterate.workspace import journal, projection
    from claude_iterate.workspace.layout import Layout

    last = journal.last_run(Layout(Path(folder), Path(folder)), ("run",))
    if last is None or last[0] != run.get("id"):
        return document, run
    now = projection.projected(last[1], last[0], running=True)
    return document | {"executionIterations": last[1].total_iterations}, now


def _document(path: str) -> dict[str, Any] | None:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a Path for each of thousands costs more than the reading
            found = json.loads(file.read())
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
