"""What the two ends of a journal tell, without reading what is between them."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import msgspec

from claude_iterate.core.events import RunStarted
from claude_iterate.workspace import journal

_TAIL = 4 * 1024 * 1024
"""Bytes in which the last entry is found, however long that is."""


class _Place(msgspec.Struct):
    elapsed: float


def beginning(path: Path) -> RunStarted | None:
    """How the run began; None when its journal does not tell."""
    if not path.is_file():
        return None
    return next((entry.event for entry in journal.milestones(path) if isinstance(entry.event, RunStarted)), None)


def age(path: Path) -> float:
    """How long the run had taken at its last entry, by its own clock: the file's times change when it is copied."""
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL))
        lines = file.read().split(b"\n")
    for line in reversed(lines):
        with contextlib.suppress(ValueError, RecursionError):  # torn by a crash, or by where we began to read
            return max(0.0, msgspec.json.decode(line, type=_Place).elapsed)
    return 0.0
