"""All workspaces at a glance: each metadata file is read once, plainly, because there may be thousands."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from claude_iterate.workspace.running import run_lock

CONDITIONS = ("in_progress", "completed", "error", "running", "interrupted", "damaged")
"""The original's three words, and what they cannot say: running now, cut off by a crash, unreadable."""


def rows(folder: Path, names: list[str]) -> list[dict[str, Any]]:
    """One row per workspace, ready for JSON."""
    base = str(folder) + os.sep
    return [_row(name, _document(base + name + os.sep + ".metadata.json"), base + name) for name in names]


def current(document: dict[str, Any], folder: str) -> tuple[str, dict[str, Any]]:
    """One of CONDITIONS, and the document as the journal has it.

    Only where it says `running` are the lock and the journal asked: it is then as old as the start of the run.
    """
    run = document.get("run")
    if isinstance(run, dict) and run.get("state") == "running":
        held = run_lock.holder(Path(folder, ".lock")) is not None
        document, finished = _from_journal(document, folder)
        if held or not finished:
            return "running" if held else "interrupted", document
    said = document.get("status", "in_progress")
    return said if said in CONDITIONS else "in_progress", document


def _row(name: str, document: dict[str, Any] | None, folder: str) -> dict[str, Any]:
    if document is None:
        return {"name": name, "status": "damaged", "path": folder}
    state, document = current(document, folder)
    found = document.get("run")
    run: dict[str, Any] = found if isinstance(found, dict) else {}
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


def _from_journal(document: dict[str, Any], folder: str) -> tuple[dict[str, Any], bool]:
    """What the journal knows, and whether the run is over."""
    from claude_iterate.workspace.layout import Layout
    from claude_iterate.workspace.lifecycle import summary
    from claude_iterate.workspace.metadata import Metadata

    about = Metadata(dict(document))
    state = summary.as_journal_has_it(Layout(Path(folder), Path(folder)), about)
    return about.document, state is not None and state.finished is not None


def _document(path: str) -> dict[str, Any] | None:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a Path for each of thousands costs more than the reading
            found = json.loads(file.read())
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
