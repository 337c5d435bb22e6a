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
    return {
        "name": name,
        "status": condition(document, folder),
        "mode": document.get("mode", "loop"),
        "iterations": document.get("executionIterations", 0),
        "progress": run.get("progress"),
        "reason": run.get("reason"),
        "costUsd": run.get("costUsd"),
        "created": document.get("created"),
        "lastRun": document.get("lastRun"),
        "path": folder,
    }


def _document(path: str) -> dict[str, Any] | None:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a Path for each of thousands costs more than the reading
            found = json.loads(file.read())
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
