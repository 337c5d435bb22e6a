"""Which task INSTRUCTIONS.md holds now. It is the user's to edit at any time, also while a run is on."""

from __future__ import annotations

from pathlib import Path

from claude_iterate.core import task_identity
from claude_iterate.workspace.files import foreign

_MOST = 64 << 20


def current(instructions: Path) -> str:
    """The identity of the task (`core.task_identity`), or that it cannot be read."""
    data = foreign.read(instructions, _MOST)
    try:
        return task_identity.identity(data.decode()) if data is not None else task_identity.UNREADABLE
    except UnicodeDecodeError:
        return task_identity.UNREADABLE


def is_another(instructions: Path, before: object) -> bool:
    """True when the task is certainly another one than `before`, which is a value of a file: it may be anything."""
    if not isinstance(before, str) or not before:
        return False
    now = current(instructions)
    return now != task_identity.UNREADABLE and not task_identity.is_same(before, now)
