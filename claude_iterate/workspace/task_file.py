"""Which task INSTRUCTIONS.md holds now. It is the user's to edit at any time, also while a run is on."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from claude_iterate.core import fingerprints
from claude_iterate.core.rules.facts import Facts
from claude_iterate.workspace.files import untrusted_files
from claude_iterate.workspace.files.untrusted_files import LARGE

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


class StartingTask:
    """The instructions as they are when a run begins, to be compared at its end."""

    def __init__(self, instructions: Path) -> None:
        self._path = instructions
        self._text = untrusted_files.read(instructions, LARGE) or b""

    def compare(self, facts: Facts) -> Facts:
        """These facts with what became of the instructions."""
        lost = self.lost()
        spoilt = bool(lost) and (self._path.is_dir() or (self._path.is_file() and self._path.stat().st_size > 0))
        replaced = not lost and self._is_replaced()
        return replace(facts, instructions_lost=lost, instructions_spoilt=spoilt, replaced=replaced)

    def _is_replaced(self) -> bool:
        now = untrusted_files.read(self._path, LARGE) or b""
        if not self._text or not now or now == self._text:
            return False
        old, new = (fingerprints.task_identity(text.decode("utf-8", "replace")) for text in (self._text, now))
        return not fingerprints.is_same_task(old, new)

    def lost(self) -> str:
        """Where they were, if the next run cannot read them. A folder that is gone, or is no workspace any more, has
        another cause."""
        return "" if is_readable(self._path) or not (self._path.parent / ".metadata.json").exists() else str(self._path)


def is_readable(instructions: Path) -> bool:
    """True when a run can begin with it: it is there, text, and not empty."""
    return bool((_text(instructions) or "").strip())


def is_another(instructions: Path, before: object) -> bool:
    """True when the task is certainly another one than `before`, which is a value of a file: it may be anything."""
    if not isinstance(before, str) or before in {"", fingerprints.UNREADABLE}:
        return False
    now = current_identity(instructions)
    return now != fingerprints.UNREADABLE and not fingerprints.is_same_task(before, now)
