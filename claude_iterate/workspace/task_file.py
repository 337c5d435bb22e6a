"""Which task INSTRUCTIONS.md holds now. It is the user's to edit at any time, also while a run is on."""

from __future__ import annotations

import stat
from pathlib import Path

from msgspec.structs import replace

from claude_iterate.core import fingerprints
from claude_iterate.core.rules.facts import Facts
from claude_iterate.system import untrusted_files
from claude_iterate.system.untrusted_files import LARGE

LARGEST = 10_000_000
"""Bytes that INSTRUCTIONS.md may have: Claude reads all of it in each iteration."""
LONG_MATERIAL = "Put long material into files of its own, and name them there."


def current_identity(instructions: Path) -> str:
    """The identity of the task (`core.fingerprints`), or that it cannot be read."""
    text = _text(instructions)
    return fingerprints.task_identity(text) if text is not None else fingerprints.UNREADABLE


def _text(instructions: Path) -> str | None:
    data = untrusted_files.read(instructions, LARGE)
    try:
        return data.decode() if data is not None else None
    except UnicodeDecodeError:
        return None


def with_loss(facts: Facts, instructions: Path) -> Facts:
    """These facts with the instructions, if the next run cannot read them. A folder that is gone, or is no workspace
    any more, has another cause."""
    if is_readable(instructions) or not untrusted_files.exists(instructions.parent / ".metadata.json"):
        return facts
    about = untrusted_files.status(instructions)
    spoilt = about is not None and (not stat.S_ISREG(about.st_mode) or about.st_size > 0)
    return replace(facts, instructions_lost=str(instructions), instructions_spoilt=spoilt)


def is_readable(instructions: Path) -> bool:
    """True when a run can begin with it: it is there, text, and not empty."""
    return bool((_text(instructions) or "").strip())


def is_another(instructions: Path, before: object) -> bool:
    """True when the task is certainly another one than `before`, which is a value of a file: it may be anything."""
    if not isinstance(before, str) or before in {"", fingerprints.UNREADABLE}:
        return False
    now = current_identity(instructions)
    return now != fingerprints.UNREADABLE and not fingerprints.is_same_task(before, now)
