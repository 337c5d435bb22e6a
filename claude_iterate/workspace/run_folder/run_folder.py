"""The folder in which a run keeps its record: whether it is still there, and what of it had to be put back."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from claude_iterate.errors import WorkspaceProblem
from claude_iterate.workspace import metadata
from claude_iterate.workspace.files.restorable_file import identity_of
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.run_folder import user_files
from claude_iterate.workspace.run_folder.run_lock import RunLock
from claude_iterate.workspace.run_folder.user_files import UserFiles, version

GONE, REPLACED = "gone", "replaced"
FOLDER, WORKSPACE, LOCK, JOURNAL, LOG = "folder", "workspace", "lock", "journal", "log"
"""What can be put back, besides the files of the user."""
_RECORD = frozenset({LOCK, JOURNAL, LOG})


class RunFolder:
    """The folder of a run that is on. Looking costs little, so it can be done often. `prompts` and what
    follows it are those of UserFiles."""

    def __init__(
        self,
        layout: Layout,
        run: str,
        held: RunLock,
        prompts: Sequence[Path] = (),
        works_off_plan: bool = False,
        writes_instructions: bool = False,
    ) -> None:
        self._layout = layout
        self._run = run
        self._held = held
        self.identity = identity_of(layout.folder)
        self._real = Path(os.path.realpath(layout.folder))
        self._created = _creation_moment(layout)
        self._summary = version(layout.metadata)
        self._files = UserFiles(layout, prompts, works_off_plan, writes_instructions)
        self._put_back: list[str] = []
        self._told: set[str] = set()

    def look(self) -> str:
        """What became of the folder: GONE, REPLACED by one that is not ours, or nothing.

        `git stash -u` and `git stash pop` make another folder with the same name and content. That one is ours: it is
        locked, and the run goes on in it.
        """
        found = identity_of(self._layout.folder)
        if found == self.identity:
            return ""
        if found is None:
            return GONE
        if not self._is_ours() or not self._held.lock_folder():
            return REPLACED
        self.identity = found
        self.note(FOLDER)
        return ""

    def is_ours(self) -> bool:
        """True when the record of the run may be written there."""
        return not self.look()

    def remember(self) -> None:
        """Take the files of the user as they are now."""
        if not self.look():
            self._files.remember()

    def restore(self, deleted_by_us: bool = False) -> bool:
        """Put back the lock and what was deleted of the user's files. True when one of these was put back. Only while
        Claude does not work.

        `deleted_by_us`: a program of the run has just ended. Files that were deleted meanwhile are put back, a folder
        is made again; at any other time their user has deleted them. A folder that was moved or replaced is never made
        again.
        """
        if deleted_by_us and self.look():
            self._make_again()
        if self.look():
            return False
        if self._held.keep():
            self.note(LOCK)
        self._files.remember()
        if not deleted_by_us:
            self._files.forget_deleted()
            return False
        found = self._files.put_back(swept=WORKSPACE in self._put_back)
        self._put_back += [what for what in found if what not in self._put_back]
        return bool(found)

    def summary_is_written(self) -> None:
        """The file with the summary is the one that is there now."""
        self._summary = version(self._layout.metadata)

    def summary_was_replaced(self) -> bool:
        """True when `.metadata.json` is not the file that this run wrote: it may say how things were last week."""
        return version(self._layout.metadata) != self._summary

    def last_prompt(self) -> str:
        """The newest prompt of an iteration that is still there: it has the text of the instructions."""
        return max((str(path) for path in (self._layout.runs / self._run / "raw").glob("[0-9]*.prompt.md")), default="")

    def note(self, what: str) -> None:
        """This was deleted or replaced, and is there again."""
        if what not in self._put_back:
            self._put_back.append(what)

    def news(self, when: str = "") -> Iterator[tuple[str, str]]:
        """What was lost or put back since the last time, in words, and what to do about it. `when` it was deleted. What
        happens in each iteration is told once."""
        for what, why in self._files.lost:
            copy = self.last_prompt() if what == user_files.INSTRUCTIONS else ""
            yield f"Deleted{when}, and cannot be put back: {what} ({why}).", f"Its text is in {copy}" if copy else ""
        parts = [part for part in self._put_back if part not in self._told]
        self._files.lost, self._put_back = [], []
        self._told.update(parts)
        if WORKSPACE in parts:
            self._told |= _RECORD  # they follow
            has = "Instructions, settings, notes, and the journal and log of this run are there again"
            yield f"Restored the workspace, which was deleted{when}.", f"{has}; what earlier runs recorded is lost."
            return
        if FOLDER in parts:
            yield "The workspace's folder was replaced by another one with the same content; the run goes on in it.", ""
            parts = [part for part in parts if part not in _RECORD | {FOLDER}]
        if parts:
            *most, last = (f"the {part}" if part in _RECORD else part for part in parts)
            named = f"{', '.join(most)} and {last}" if most else last
            were = "were" if most or last in user_files.SEVERAL else "was"
            how = "deleted, replaced or emptied" if _RECORD & set(parts) else "deleted"
            hint = "" if set(parts) - _RECORD else self._against_git()
            yield f"Restored {named}, which {were} {how}{when}.", hint

    def _make_again(self) -> None:
        """The folder, if it was deleted and not moved, and if no link leads its name elsewhere now. One that has no
        metadata was made by Claude, who wrote a report into it, or by the run."""
        there = Path(os.path.realpath(self._layout.folder)) == self._real and self._layout.project.is_dir()
        if not there or not self._held.folder_is_deleted() or os.path.lexists(self._layout.metadata):
            return
        with contextlib.suppress(OSError):
            self._real.mkdir(parents=True, exist_ok=True)
            if self._held.lock_folder():
                self.identity = identity_of(self._layout.folder)
                self._put_back = [WORKSPACE]

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
        return bool(self._created) and _creation_moment(self._layout) == self._created


def _creation_moment(layout: Layout) -> str:
    try:
        return metadata.read(layout.metadata).created or ""
    except WorkspaceProblem:
        return ""
