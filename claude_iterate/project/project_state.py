"""What the project is at a moment, so that two moments can be compared: the same work, or which files differ.

Our own files do not count, nor what tools leave (`ignored.py`). Where there is git, what it ignores does not count
either, and the state has a name.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from claude_iterate.project import scan
from claude_iterate.project.git import Git, GitProblem, IndexCopy
from claude_iterate.project.ignored import ToolOutput
from claude_iterate.system import untrusted_files

_MOST_NESTED = 100
_LINK = "160000 "
"""The mode of a submodule."""


class ProjectState(msgspec.Struct, frozen=True):
    """`tree` is git's name for it, if git knows the project; `files` what is in each file; None where the project is
    too large to look at without git."""

    tree: str = ""
    files: Mapping[str, str] | None = None

    @property
    def identity(self) -> str:
        """The same for the same files, whenever and wherever they are looked at; empty when it is not known."""
        if self.files is None:
            return ""
        listed = "\0".join(f"{name}\0{self.files[name]}" for name in sorted(self.files))
        return hashlib.blake2b(listed.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()

    def changes_since(self, before: ProjectState) -> tuple[str, ...]:
        """The paths that differ, sorted; none when one of the two states is not known."""
        if self.files is None or before.files is None:
            return ()
        if bool(self.tree) != bool(before.tree):
            return (".git",)  # it came or went, so that nothing else can be compared
        names = self.files.keys() | before.files.keys()
        return tuple(sorted(name for name in names if self.files.get(name) != before.files.get(name)))


def look(
    root: Path,
    left_out: Sequence[Path],
    watched: Sequence[Path],
    scratch: Path,
    environ: Mapping[str, str] = os.environ,
    filters: bool = True,
) -> ProjectState:
    """The state now, without what is `left_out`: files, or folders with all that is in them. The files `watched` count
    in any case. `scratch` is a folder for temporary files; it is removed. `filters`: those of git may run."""
    ours = tuple(str(path.relative_to(root)) for path in left_out if path.is_relative_to(root))

    def counts(name: str) -> bool:
        return not any(name == one or name.startswith(f"{one}/") for one in ours)

    state = state_in_git(root, counts, scratch, environ, filters)
    if state is None:
        found = scan.scan(root, counts)
        if not found.whole:
            return ProjectState()
        state = ProjectState("", {name: file.content for name, file in found.files.items()})
    return msgspec.structs.replace(state, files={**(state.files or {}), **_contents(root, watched)})


def state_in_git(
    root: Path, counts: Callable[[str], bool], scratch: Path, environ: Mapping[str, str], filters: bool = True
) -> ProjectState | None:
    """All files of the project that count: those that git tracks, and those that it does not ignore and no tool left.
    None when git cannot tell. The repository is only read."""
    try:
        return _GitLook(root, counts, scratch, environ, filters).state()
    except (GitProblem, OSError, ValueError):
        return None
    finally:
        untrusted_files.remove_folder(scratch, ignore_errors=True)


class _GitLook:
    """One look, with an index of its own. That and new objects go into the folder `scratch`.

    Files are listed first and judged by us, then hashed: no pattern of ours ever meets the rules of a `.gitignore`.
    """

    def __init__(
        self, root: Path, counts: Callable[[str], bool], scratch: Path, environ: Mapping[str, str], filters: bool
    ) -> None:
        self._root = root
        self._counts = counts
        self._look_into: Callable[[str], ProjectState | None] = lambda folder: state_in_git(
            root / folder, lambda name: counts(folder + name), scratch / "nested", environ, filters
        )
        self._git = git = Git(str(root), environ, filters=filters)
        places = git.line("rev-parse", "--git-path", "index", "--show-prefix", "--git-path", "objects")
        index, self._prefix, objects = places.split("\n")
        if self._prefix and git.ignores_folder():
            raise GitProblem("the repository around the project knows nothing of it")
        untrusted_files.make_folder(scratch / "objects", parents=True)
        git.write_objects_to(str(scratch / "objects"), str(root / objects))
        self._index = IndexCopy(git, str(scratch / "index"), str(root / index))
        self._spent = 0

    def state(self) -> ProjectState:
        self._index.renew()
        tools = ToolOutput(str(self._root))
        new = [name for name in self._index.list_new() if not tools.covers(name)]
        changed = (*self._index.list_changed(), *new)
        names = dict.fromkeys(name for name in changed if self._counts(name) and not name.endswith("/"))
        unread = {name: mark for name in names if (mark := self._mark_instead_of_reading(name))}
        # First what is gone: git refuses a folder in the place of a file that it still knows.
        gone = [name for name in names if self._is_gone(name)]
        self._index.update("--force-remove", paths=gone)
        left = names.keys() - unread.keys() - set(gone)
        self._index.update("--add", "--remove", "--replace", paths=[name for name in names if name in left])
        listed = self._git.names("ls-files", "--stage", "-z", "--", ".", index=self._index.path)
        found = dict(_entry(line) for line in listed)
        self._index.update("--force-remove", paths=[name for name in found if not self._counts(name)])
        files = {name: content for name, content in found.items() if self._counts(name)}
        links = [f"{name}/" for name, content in files.items() if content.startswith(_LINK)]
        nested = [name for name in (*new, *links) if name.endswith("/") and self._counts(name.rstrip("/"))]
        return ProjectState(self._identity(bool(files)), files | unread | self._files_within(nested))

    def _files_within(self, folders: list[str]) -> dict[str, str]:
        """What is in repositories inside of this one: git itself does not look into them."""
        found: dict[str, str] = {}
        for folder in folders[:_MOST_NESTED]:
            state = self._look_into(folder) if (self._root / folder / ".git").exists() else None
            if state is not None and state.files is not None:
                found |= {folder + name: content for name, content in state.files.items()}
        return found

    def _identity(self, has_files: bool) -> str:
        if self._prefix and not has_files:
            return self._git.line("hash-object", "-t", "tree", os.devnull)
        of_project = [f"--prefix={self._prefix}"] if self._prefix else []
        return self._index.write_tree(*of_project)

    def _is_gone(self, name: str) -> bool:
        """There is no file of this name; a folder is one only as a repository of its own."""
        path = self._root / name
        return not os.path.lexists(path) or (path.is_dir() and not path.is_symlink() and not (path / ".git").exists())

    def _mark_instead_of_reading(self, name: str) -> str:
        """What stands for the content of a file that is too large or cannot be read; empty: git reads it."""
        path = self._root / name
        try:
            about = path.lstat()
        except OSError:
            return ""  # it is gone, which git sees as well
        if not stat.S_ISREG(about.st_mode):
            return ""
        self._spent += about.st_size
        if about.st_size <= scan.LARGEST_READ and self._spent <= scan.MOST_READ and os.access(path, os.R_OK):
            return ""
        return f"{about.st_size} {about.st_mtime_ns} {about.st_ctime_ns}"


def _entry(line: str) -> tuple[str, str]:
    """A file's path, its mode and its content's id."""
    about, _, name = line.partition("\t")
    return name, " ".join(about.split()[:2])


def _contents(root: Path, paths: Sequence[Path]) -> dict[str, str]:
    found = {}
    for path in paths:
        with contextlib.suppress(OSError):
            name = str(path.relative_to(root)) if path.is_relative_to(root) else str(path)
            if untrusted_files.exists(path):
                found[name] = scan.checksum(path) if untrusted_files.is_file(path) else "not a file"
    return found
