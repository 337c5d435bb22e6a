"""Notes: messages from the user that reach the next iteration's prompt once.

A note is pending while it is in `notes/`. It moves to `notes/delivered/` when an iteration that had it in its prompt
ended well: after any other end it is delivered again, rather than never.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable
from pathlib import Path

import msgspec

from claude_iterate.errors import UsageProblem, WorkspaceProblem
from claude_iterate.system import file_errors, untrusted_files
from claude_iterate.workspace.layout import Layout

LARGEST = 1024 * 1024
"""Bytes of one note, and of all notes in one prompt; notes that do not fit wait for the next prompt."""
DELIVERED = "delivered"


class Note(msgspec.Struct, frozen=True):
    """One pending note."""

    name: str
    text: str


def add(layout: Layout, text: str) -> str:
    """Write a note; returns its name. An empty or huge one is refused."""
    data = text.strip().encode("utf-8", "replace")
    if not data:
        raise UsageProblem("The note is empty.", f"Say something: claude-iterate note {layout.name} 'Use tabs.'")
    if len(data) > LARGEST:
        raise UsageProblem(
            "The note is larger than 1 MB, which is too much for a prompt.",
            "Put it into a file of the project, and name the file in the note.",
        )
    name = f"{time.time_ns():020d}-{os.urandom(3).hex()}.md"
    if problem := trouble(layout):
        raise WorkspaceProblem(f"The note would not be read: {problem}.", f"Move it out of {layout.folder}")
    with file_errors.explain_errors(WorkspaceProblem, "The note cannot be written", layout.notes):
        untrusted_files.make_folder(layout.notes)
        untrusted_files.write_bytes(layout.notes / name, data + b"\n")
    return name


def trouble(layout: Layout) -> str:
    """Why no note can be read, else empty. Notes that cannot be moved would be delivered again and again."""
    for folder in (layout.notes, layout.notes / DELIVERED):
        if untrusted_files.is_folder(folder) is False:
            return f"{folder.relative_to(layout.folder)}/ is {untrusted_files.NOT_A_FOLDER}"
    return ""


def names(layout: Layout) -> list[str]:
    """The names of all notes that wait, oldest first. What is not a plain file is skipped."""
    if untrusted_files.is_folder(layout.notes) is None or trouble(layout):
        return []
    found = (name for name in untrusted_files.names_in(layout.notes) if name.endswith(".md") and name[0] != ".")
    return [name for name in found if untrusted_files.is_file(layout.notes / name)]


def pending_notes(layout: Layout) -> list[Note]:
    """The notes for the next prompt, oldest first. What cannot be read is skipped."""
    found: list[Note] = []
    room = LARGEST
    for name in names(layout):
        text = _text(layout.notes / name)
        room -= len(text)
        if room < 0 and found:
            break
        if text.strip():
            found.append(Note(name, text.strip()))
    return found


def mark_delivered(layout: Layout, shown: Iterable[str]) -> None:
    """Move the notes that reached their iteration. One that cannot be moved is delivered again."""
    for name in shown:
        with contextlib.suppress(OSError):
            untrusted_files.make_folder(layout.notes)
            untrusted_files.make_folder(layout.notes / DELIVERED)
            untrusted_files.rename(layout.notes / name, layout.notes / DELIVERED / name)


def _text(path: Path) -> str:
    """The text of the note; one that is larger than `add` allows is cut."""
    try:
        found = untrusted_files.look(path, LARGEST)
    except OSError:
        return ""
    cut = "" if found.whole else "\n[The note was longer than 1 MB and is cut here.]"
    return found.data.decode("utf-8", "replace") + cut
