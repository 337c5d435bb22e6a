"""The folder in which a run keeps its record: whether it is still there, and what of the record had to be put back."""

from __future__ import annotations

import contextlib
import shlex
from pathlib import Path

from claude_iterate.errors import WorkspaceProblem
from claude_iterate.workspace import metadata
from claude_iterate.workspace.files import atomic, foreign
from claude_iterate.workspace.files.lasting_file import identity_of
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.running.run_lock import Held

GONE, REPLACED = "gone", "replaced"
FOLDER, LOCK, JOURNAL, LOG, METADATA = "folder", "lock", "journal", "log", "metadata"
"""What can be put back."""


class RunPlace:
    """The folder of a run that is on. Looking costs little, so it can be done often."""

    def __init__(self, layout: Layout, run: str, held: Held) -> None:
        self._layout = layout
        self._run = run
        self._held = held
        self._identity = identity_of(layout.folder)
        self._created = _created(layout)
        self._metadata = foreign.read(layout.metadata)
        self._summary = _version(layout.metadata)
        self._put_back: list[str] = []
        self._told: set[str] = set()

    def look(self) -> str:
        """What became of the folder: GONE, REPLACED by one that is not ours, or nothing.

        `git stash -u` and `git stash pop` make another folder with the same name and content. That one is ours: it is
        locked, and the run goes on in it.
        """
        found = identity_of(self._layout.folder)
        if found == self._identity:
            return ""
        if found is None:
            return GONE
        if not self._is_ours() or not self._held.lock_folder():
            return REPLACED
        self._identity = found
        self.note(FOLDER)
        return ""

    def is_ours(self) -> bool:
        """True when the record of the run may be written there."""
        return not self.look()

    def keep_lock(self) -> None:
        """Lock and name the lock file again if it was deleted or replaced. Only while Claude does not work."""
        if self._held.keep():
            self.note(LOCK)

    def summary_is_written(self) -> None:
        """The file with the summary is the one that is there now."""
        self._summary = _version(self._layout.metadata)

    def summary_was_replaced(self) -> bool:
        """True when `.metadata.json` is not the file that this run wrote: it may say how things were last week. One
        that was deleted is put back as it was when the run began. Only while Claude does not work."""
        found = _version(self._layout.metadata)
        if found is None and self._metadata:
            with contextlib.suppress(OSError):
                atomic.write_bytes(self._layout.metadata, self._metadata)
                self.note(METADATA)
        return found != self._summary

    def note(self, what: str) -> None:
        """This was deleted or replaced, and is there again."""
        if what not in self._put_back:
            self._put_back.append(what)

    def told(self) -> tuple[str, str] | None:
        """What was put back since the last time, in words, and what to do against it; None when nothing was."""
        parts, self._put_back = [part for part in self._put_back if part not in self._told], []
        if not parts:
            return None
        self._told.update(parts)  # what happens in each iteration is told once
        if FOLDER in parts:
            what = "The workspace's folder was replaced by another one with the same content; the run goes on in it."
        else:
            *most, last = (f"the {part}" for part in parts)
            named = f"{', '.join(most)} and {last}" if most else last
            were, they = ("were", "they are") if most else ("was", "it is")
            lost = f"{were} deleted, replaced or emptied"
            what = f"{named[0].upper()}{named[1:]} of this run {lost}, and {they} written again."
        return what, self._against_git()

    def _against_git(self) -> str:
        if not any((folder / ".git").exists() for folder in (self._layout.root, *self._layout.root.parents)):
            return ""
        folder = shlex.quote(str(self._layout.folder))
        ours = "runs .lock .status.json 'iterate-*.log'"
        return f"If git did that, take them out of git: git -C {folder} rm -r -q --cached --ignore-unmatch {ours}"

    def _is_ours(self) -> bool:
        """The folder has the journal of this run, or is the same workspace by the moment at which it was made."""
        if self._layout.journal(self._run).is_file():
            return True
        return bool(self._created) and _created(self._layout) == self._created


def _version(path: Path) -> tuple[int, int, int] | None:
    """Which file this is. Its number alone does not say: that of a file that was deleted is given to the next one."""
    try:
        about = path.stat()
    except OSError:
        return None
    return about.st_ino, about.st_mtime_ns, about.st_size


def _created(layout: Layout) -> str:
    try:
        return str(metadata.read(layout.metadata).document.get("created") or "")
    except WorkspaceProblem:
        return ""
