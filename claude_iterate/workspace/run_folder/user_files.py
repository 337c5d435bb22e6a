"""What the user wrote for a run, as the run last saw it: instructions, settings, prompts, hooks, notes.

What a program of the run deletes of it (`git clean`, `git checkout`, `rm`) is put back; what its user deletes between
two of them is not, and an edit is left as it is.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from claude_iterate.workspace import plan_file
from claude_iterate.workspace.files import atomic, untrusted_files
from claude_iterate.workspace.layout import PROJECT_FILES, Layout
from claude_iterate.workspace.run_folder import hook_files, notes

INSTRUCTIONS, SETTINGS, PROMPTS, HOOKS, NOTES = "INSTRUCTIONS.md", "settings", "prompts", "hooks", "notes"
SEVERAL = frozenset({SETTINGS, PROMPTS, HOOKS, NOTES})
_MOST_FILES = 200
_MOST_BYTES = 16 * 1024 * 1024
"""Of all files together."""


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
        self._inside = [Path(os.path.realpath(place)) for place in (layout.project, layout.folder)]
        self._works_off_plan = works_off_plan
        self._writes_instructions = writes_instructions
        self._agents = {layout.todo}
        self._known: dict[Path, tuple[str, KeptFile]] = {}
        self.lost: list[tuple[str, str]] = []
        """What could not be put back, and why."""
        self.remember()

    def remember(self) -> None:
        """Take all files as they are now."""
        if not self._works_off_plan:
            self._agents.update(plan_file.paths(self._layout))
        held = sum(file.size for _, file in self._known.values())
        for label, path in self._list_files():
            if path not in self._known and len(self._known) < _MOST_FILES and os.path.lexists(path):
                folder = Path(os.path.realpath(path.parent))
                if any(folder.is_relative_to(place) for place in self._inside):
                    self._known[path] = label, KeptFile(path, folder)
            if path in self._known:
                file = self._known[path][1]
                held -= file.size
                file.remember(_MOST_BYTES - held)
                held += file.size

    def forget_deleted(self) -> None:
        """What is deleted now stays deleted: its user did that."""
        self._known = {path: known for path, known in self._known.items() if not known[1].is_deleted}

    def put_back(self, swept: bool = False) -> list[str]:
        """Put back what was deleted, and say what. `swept`: more was deleted with it."""
        delivered = self._layout.notes / notes.DELIVERED
        for path, (label, _) in list(self._known.items()):
            if label == NOTES and (delivered / path.name).exists():
                del self._known[path]
        deleted = {path: label for path, (label, file) in self._known.items() if file.is_deleted}
        if not swept and not deleted.keys() - self._agents:
            for path in deleted:
                del self._known[path]
            return []
        return list(dict.fromkeys(label for path, label in deleted.items() if self._put_back_one(path)))

    def _put_back_one(self, path: Path) -> bool:
        label, file = self._known[path]
        try:
            file.put_back()
        except OSError as error:
            del self._known[path]
            self.lost.append((label, error.strerror or str(error)))
            return False
        return True

    def _list_files(self) -> Iterator[tuple[str, Path]]:
        """Each file, and under which name it is told."""
        layout = self._layout
        if not self._writes_instructions:
            yield INSTRUCTIONS, layout.instructions
        yield SETTINGS, layout.metadata
        for name in PROJECT_FILES:
            yield SETTINGS, layout.project / name
        yield ".gitignore", layout.folder / ".gitignore"
        yield PROMPTS, layout.status_instructions
        for folder in self._prompts:
            for path in (*folder.glob("*.md"), *folder.glob("*/*.md")):
                yield PROMPTS, path
        for _, folder in hook_files.folders(layout.project, layout.folder):
            for point in hook_files.POINTS:
                yield HOOKS, folder / point
        for name in notes.names(layout):
            yield NOTES, layout.notes / name
        for path in (layout.todo, *plan_file.paths(layout)):
            yield path.name, path


MOST = 4 * 1024 * 1024
Version = tuple[int, int, int]


def version(path: Path) -> Version | None:
    """Which file this is. Its number alone does not say: that of a file that was deleted is given to the next one."""
    try:
        about = path.lstat()
    except OSError:
        return None
    return about.st_ino, about.st_mtime_ns, about.st_size


class KeptFile:
    """One file in `folder`, which is a real path: where a link leads elsewhere now, nothing is read or written."""

    def __init__(self, path: Path, folder: Path) -> None:
        self._path = path
        self._folder = folder
        self._version: Version | None = None
        self._data: bytes | None = None
        self._mode = 0

    @property
    def size(self) -> int:
        """How many bytes are kept."""
        return len(self._data or b"")

    def remember(self, most: int = MOST) -> None:
        """Take the file as it is now, up to `most` bytes. One that is gone, or that has no text any more, stays as it
        was: first emptied and then deleted is deleted, too."""
        now = version(self._path)
        if now in (None, self._version) or self._is_led_elsewhere:
            return
        before, self._version, self._data = self._data, now, None
        with contextlib.suppress(OSError):
            mode = stat.S_IMODE(self._path.lstat().st_mode)
            found = untrusted_files.look(self._path, min(most, MOST), links=False)
            if found.whole and not self._is_led_elsewhere:
                self._data, self._mode = found.data if found.data.strip() else before or found.data, mode

    @property
    def is_deleted(self) -> bool:
        """True for a file that was there, and whose name leads to nothing now."""
        return self._data is not None and not os.path.lexists(self._path)

    def put_back(self) -> None:
        """Write the file with the mode that it had, and its folder where that is gone, too. An OSError says why not."""
        if self._is_led_elsewhere:
            raise OSError(errno.ELOOP, "a link leads its folder elsewhere", str(self._path))
        self._folder.mkdir(parents=True, exist_ok=True)
        with atomic.open_replacement(self._folder / self._path.name, private=True, follow=False) as file:
            file.write(self._data or b"")
            os.fchmod(file.fileno(), self._mode)
        self._version = version(self._path)

    @property
    def _is_led_elsewhere(self) -> bool:
        return Path(os.path.realpath(self._path.parent)) != self._folder
