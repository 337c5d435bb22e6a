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

from claude_iterate.system.files import try_lock
from claude_iterate.workspace import plan_file
from claude_iterate.workspace.files import untrusted_files
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
        for label, path in self._named():
            if path not in self._known and len(self._known) < _MOST_FILES and os.path.lexists(path):
                folder = Path(os.path.realpath(path.parent))
                place = next((place for place in self._inside if folder.is_relative_to(place)), None)
                if place is not None:
                    self._known[path] = label, KeptFile(path, place, folder.relative_to(place))
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

    def _named(self) -> Iterator[tuple[str, Path]]:
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


def version(path: Path, folder: int | None = None) -> Version | None:
    """Which file this is. Its number alone does not say: that of a file that was deleted is given to the next one."""
    try:
        about = os.stat(path, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None
    return about.st_ino, about.st_mtime_ns, about.st_size


class KeptFile:
    """One file. `place` is a folder around it that Claude cannot replace; `inside` leads from there to its folder. Both
    are real: without a link."""

    def __init__(self, path: Path, place: Path, inside: Path) -> None:
        self._path = path
        self._name = Path(path.name)
        self._place = place
        self._inside = inside
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
        with contextlib.suppress(OSError), self._folder() as folder:
            now = version(self._name, folder)
            if now in (None, self._version):
                return
            before, self._version, self._data = self._data, now, None
            found = untrusted_files.look(self._name, min(most, MOST), links=False, folder=folder)
            if found.whole:
                self._data = found.data if found.data.strip() else before or found.data
                self._mode = stat.S_IMODE(os.stat(self._name, dir_fd=folder, follow_symlinks=False).st_mode)

    @property
    def is_deleted(self) -> bool:
        """True for a file that was there, and whose name leads to nothing now."""
        return self._data is not None and not os.path.lexists(self._path)

    def put_back(self) -> None:
        """Write the file with the mode that it had, and its folder where that is gone, too. An OSError says why not."""
        if Path(os.path.realpath(self._path.parent)) != self._place / self._inside:
            raise OSError(errno.ELOOP, "a link leads its folder elsewhere", str(self._path))
        with self._folder(make=True) as folder:
            # As `atomic` calls it, who removes what a killed writer left.
            temporary = f".{self._name}.{os.urandom(4).hex()}.tmp"
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=folder)
            try:
                with os.fdopen(handle, "wb") as file:
                    try_lock(handle)
                    file.write(self._data or b"")
                    file.flush()
                    os.fchmod(handle, self._mode)
                    os.fsync(handle)
                    os.rename(temporary, self._name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(temporary, dir_fd=folder)
                raise
            with contextlib.suppress(OSError):
                os.fsync(folder)  # makes the rename itself durable, where the file system lets us
            self._version = version(self._name, folder)

    @contextlib.contextmanager
    def _folder(self, make: bool = False) -> Iterator[int]:
        """Its folder, open. Those that are gone are an OSError, unless they are to be made."""
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
        handle = os.open(self._place, flags)
        try:
            for name in self._inside.parts:
                if make:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(name, dir_fd=handle)
                above, handle = handle, os.open(name, flags, dir_fd=handle)
                os.close(above)
            yield handle
        finally:
            os.close(handle)
