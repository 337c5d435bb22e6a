"""The folder in which a run keeps its record: whether it is still there, and what of it had to be put back.

What the user wrote for a run is kept as the run last saw it: instructions, settings, prompts, hooks, notes. What a
program of the run deletes of it (`git clean`, `git checkout`, `rm`) is put back; what its user deletes between two of
them is not, and an edit is left as it is.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from claude_iterate.errors import WorkspaceProblem
from claude_iterate.system import untrusted_files
from claude_iterate.system.restorable_file import Version, identity_of, version
from claude_iterate.workspace import metadata, plan_file
from claude_iterate.workspace.layout import PROJECT_FILES, Layout
from claude_iterate.workspace.run_folder import hook_files, notes
from claude_iterate.workspace.run_folder.run_lock import RunLock

GONE, REPLACED = "gone", "replaced"
FOLDER, WORKSPACE, LOCK, JOURNAL, LOG = "folder", "workspace", "lock", "journal", "log"
"""What can be put back, besides the files of the user."""
_RECORD = frozenset({LOCK, JOURNAL, LOG})
INSTRUCTIONS, SETTINGS, PROMPTS, HOOKS, NOTES = "INSTRUCTIONS.md", "settings", "prompts", "hooks", "notes"
SEVERAL = frozenset({SETTINGS, PROMPTS, HOOKS, NOTES})
_MOST_BYTES = 16 * 1024 * 1024
"""Of all files together."""


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
        self._created = _creation_moment(layout)
        self._files = UserFiles(layout, prompts, works_off_plan, writes_instructions)
        self._put_back: list[str] = []
        self._told: set[str] = set()

    def look(self) -> str:
        """What became of the folder: GONE, REPLACED by one that is not ours, or nothing.

        `git stash -u` and `git stash pop` make another folder with the same name and content. That one is ours: it is
        locked, and the run continues in it.
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

    def last_prompt(self) -> str:
        """The newest prompt of an iteration that is still there: it has the text of the instructions."""
        sent = untrusted_files.find(self._layout.runs / self._run / "raw", "[0-9]*.prompt.md")
        return str(sent[-1]) if sent else ""

    def note(self, what: str) -> None:
        """This was deleted or replaced, and is there again."""
        if what not in self._put_back:
            self._put_back.append(what)

    def news(self, when: str = "") -> Iterator[tuple[str, str]]:
        """What was lost or put back since the last time, in words, and what to do about it. `when` it was deleted. What
        happens in each iteration is reported once."""
        for what, why in self._files.lost:
            copy = self.last_prompt() if what == INSTRUCTIONS else ""
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
            yield (
                "The workspace's folder was replaced by another one with the same content; the run continues in it.",
                "",
            )
            parts = [part for part in parts if part not in _RECORD | {FOLDER}]
        if parts:
            *most, last = (f"the {part}" if part in _RECORD else part for part in parts)
            named = f"{', '.join(most)} and {last}" if most else last
            were = "were" if most or last in SEVERAL else "was"
            how = "deleted, replaced or emptied" if _RECORD & set(parts) else "deleted"
            hint = "" if set(parts) - _RECORD else self._against_git()
            yield f"Restored {named}, which {were} {how}{when}.", hint

    def _make_again(self) -> None:
        """The folder, if it was deleted and not moved, and if no link leads its name elsewhere now. One that has no
        metadata was made by Claude, who wrote a report into it, or by the run."""
        there = untrusted_files.is_folder(self._layout.project)
        if not there or not self._held.is_folder_deleted() or untrusted_files.exists(self._layout.metadata):
            return
        with contextlib.suppress(OSError):
            untrusted_files.make_folder(self._layout.folder, parents=True)
            if self._held.lock_folder():
                self.identity = identity_of(self._layout.folder)
                self._put_back = [WORKSPACE]

    def _against_git(self) -> str:
        if not any(
            untrusted_files.exists(folder / ".git") for folder in (self._layout.root, *self._layout.root.parents)
        ):
            return ""
        folder = shlex.quote(str(self._layout.folder))
        ours = "runs .lock .status.json 'iterate-*.log'"
        return f"If git did that, take them out of git: git -C {folder} rm -r -q --cached --ignore-unmatch {ours}"

    def _is_ours(self) -> bool:
        """The folder has the journal of this run, or is the same workspace by the moment at which it was made."""
        if untrusted_files.is_file(self._layout.journal(self._run)):
            return True
        return bool(self._created) and _creation_moment(self._layout) == self._created


def _creation_moment(layout: Layout) -> str:
    try:
        return metadata.read(layout.metadata).created or ""
    except WorkspaceProblem:
        return ""


class UserFiles:
    """`prompts` are folders of prompts. What is outside of project and workspace is left out.

    TODO.md is the agent's: it may delete it, and so may it the plan, unless the run works that off (`works_off_plan`).
    They are put back only together with a file of the user: then they were not deleted, but swept away.
    The instructions are left to a call that writes them (`writes_instructions`): what it leaves is its result.
    """

    def __init__(
        self, layout: Layout, prompts: Sequence[Path], works_off_plan: bool, writes_instructions: bool
    ) -> None:
        self._layout = layout
        self._prompts = prompts
        self._inside = (layout.project, layout.folder)
        self._works_off_plan = works_off_plan
        self._writes_instructions = writes_instructions
        self._agents = {layout.todo}
        self._known: dict[Path, KeptFile] = {}
        self.lost: list[tuple[str, str]] = []
        """What could not be put back, and why."""
        self.remember()

    def remember(self) -> None:
        """Take all files as they are now."""
        if not self._works_off_plan:
            self._agents.update(plan_file.paths(self._layout))
        held = sum(file.size for file in self._known.values())
        for label, path in self._list_files():
            is_inside = any(path.is_relative_to(place) for place in self._inside)
            if path not in self._known and is_inside and untrusted_files.exists(path):
                self._known[path] = KeptFile(label, path)
            if path in self._known:
                file = self._known[path]
                held -= file.size
                file.remember(_MOST_BYTES - held)
                held += file.size

    def forget_deleted(self) -> None:
        """What is deleted now stays deleted: its user did that."""
        self._known = {path: file for path, file in self._known.items() if not file.is_deleted}

    def put_back(self, swept: bool = False) -> list[str]:
        """Put back what was deleted, and say what. `swept`: more was deleted with it."""
        delivered = self._layout.notes / notes.DELIVERED
        for path, file in list(self._known.items()):
            if file.label == NOTES and untrusted_files.exists(delivered / path.name):
                del self._known[path]
        deleted = {path: file for path, file in self._known.items() if file.is_deleted}
        if not swept and not deleted.keys() - self._agents:
            self.forget_deleted()
            return []
        there: dict[str, None] = {}
        for path, file in deleted.items():
            try:
                file.put_back()
                there[file.label] = None
            except OSError as error:
                del self._known[path]
                self.lost.append((file.label, error.strerror or str(error)))
        return list(there)

    def _list_files(self) -> Iterator[tuple[str, Path]]:
        """Each file, and what messages call it."""
        layout = self._layout
        if not self._writes_instructions:
            yield INSTRUCTIONS, layout.instructions
        yield SETTINGS, layout.metadata
        for name in PROJECT_FILES:
            yield SETTINGS, layout.project / name
        yield ".gitignore", layout.folder / ".gitignore"
        yield PROMPTS, layout.status_instructions
        for folder in self._prompts:
            for path in (*untrusted_files.find(folder, "*.md"), *untrusted_files.find(folder, "*/*.md")):
                yield PROMPTS, path
        for _, folder in hook_files.folders(layout.project, layout.folder):
            for name in untrusted_files.names_in(folder):
                if name in hook_files.POINTS:
                    yield HOOKS, folder / name
        for name in notes.names(layout):
            yield NOTES, layout.notes / name
        for path in (layout.todo, *plan_file.paths(layout)):
            yield path.name, path


class KeptFile:
    """One file. `label` is what it is called in messages."""

    def __init__(self, label: str, path: Path) -> None:
        self.label = label
        self._path = path
        self._version: Version | None = None
        self._data: bytes | None = None
        self._mode = 0

    @property
    def size(self) -> int:
        """How many bytes are kept."""
        return len(self._data or b"")

    def remember(self, most: int = _MOST_BYTES) -> None:
        """Take the file as it is now, up to `most` bytes. One that is gone, or that has no text any more, stays as it
        was: first emptied and then deleted is deleted, too."""
        now = version(self._path)
        if now in (None, self._version):
            return
        before, self._version, self._data = self._data, now, None
        about, data = untrusted_files.status(self._path), untrusted_files.read(self._path, most)
        if about is not None and data is not None:
            self._data, self._mode = data if data.strip() else before or data, stat.S_IMODE(about.st_mode)

    @property
    def is_deleted(self) -> bool:
        """True for a file that was there, and whose name leads to nothing now."""
        return self._data is not None and not untrusted_files.exists(self._path)

    def put_back(self) -> None:
        """Write the file with the mode that it had, and its folder where that is gone, too. An OSError says why not."""
        untrusted_files.make_folder(self._path.parent, parents=True)
        with untrusted_files.open_replacement(self._path, private=True) as file:
            file.write(self._data or b"")
            os.fchmod(file.fileno(), self._mode)
        self._version = version(self._path)
