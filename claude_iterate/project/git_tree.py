"""Asks git what is in the project now: the tree's id and the content of every file. The repository is only read.

An index of our own begins as a copy of the user's, because its times save git the reading of what has not changed.
Files are listed first and judged by us, then hashed: no pattern of ours ever meets the rules of a `.gitignore`.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import msgspec

from claude_iterate.project.git_commands import FILTERS, OPTIONS, GitProblem, without_filters
from claude_iterate.project.tool_output import ToolOutput

_PATIENCE = 20.0
_LARGEST = 64 * 1024 * 1024
_MOST = 512 * 1024 * 1024
"""Bytes of one file and of all files that are read again. Beyond that, size and times stand for the content."""
_MOST_NESTED = 100
_LINK = "160000 "
"""The mode of a submodule."""
_ELSEWHERE = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR")
_ALWAYS = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}
_OPTIONS = (*OPTIONS, "core.looseCompression=0")  # these objects are not kept, so they are not compressed
_GIT = ("git", *(word for option in _OPTIONS for word in ("-c", option)))


class Asked(msgspec.Struct, frozen=True):
    """How git is asked: with which environment, None for our own, and whether its filters may run."""

    environ: Mapping[str, str] | None = None
    filters: bool = True
    more: tuple[tuple[str, str], ...] = ()
    """What is put on top of the environment."""
    options: tuple[str, ...] = ()

    def of(self, root: Path) -> Asked:
        """In this repository, which may have filters of its own."""
        plain = msgspec.structs.replace(self, options=())
        if self.filters:
            return plain
        try:
            return msgspec.structs.replace(plain, options=tuple(without_filters(_run(root, FILTERS, plain))))
        except _Failed:
            return plain  # there are none


USUAL = Asked()


class Tree(msgspec.Struct, frozen=True):
    """The id of the tree, and each file of it with its content's id."""

    id: str
    files: dict[str, str]


class _Failed(Exception):
    """Git is missing, fails or takes too long."""


def tree_of(root: Path, counts: Callable[[str], bool], scratch: Path, asked: Asked = USUAL) -> Tree | None:
    """All files of the project that count, by their path in it: those that git tracks, and those that it does not
    ignore and no tool left. None when git cannot tell.

    The index and new objects go into the folder `scratch`, which is removed afterwards.
    """
    try:
        asked = msgspec.structs.replace(asked, more=()).of(root)
        prefix, index, objects = _ask(
            root, asked, "rev-parse", "--show-prefix", "--git-path", "index", "--git-path", "objects"
        )
        if prefix and _is_ignored(root, asked):
            return None  # the repository around the project knows nothing of it
        (scratch / "objects").mkdir(parents=True, exist_ok=True)
        if (root / index).exists():
            shutil.copy2(root / index, scratch / "index")  # with its time, which git compares with that of each file
        elsewhere = {
            "GIT_INDEX_FILE": f"{scratch}/index",
            "GIT_OBJECT_DIRECTORY": f"{scratch}/objects",
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": _known_objects(root / objects),
        }
        return _Look(
            root, counts, msgspec.structs.replace(asked, more=tuple(elsewhere.items())), scratch / "nested"
        ).tree(prefix)
    except (_Failed, GitProblem, OSError, ValueError):
        return None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


class _Look:
    """One look, with an index of its own."""

    def __init__(self, root: Path, counts: Callable[[str], bool], asked: Asked, scratch: Path) -> None:
        self._root = root
        self._counts = counts
        self._asked = asked
        self._scratch = scratch
        self._spent = 0

    def tree(self, prefix: str) -> Tree:
        self._clear_flags()
        changed = self._list("diff-files", "--name-only", "--no-renames", "--ignore-submodules=dirty", "--relative")
        tools = ToolOutput(str(self._root))
        new = [name for name in self._list("ls-files", "--others", "--exclude-standard") if not tools.covers(name)]
        names = dict.fromkeys(name for name in (*changed, *new) if self._counts(name) and not name.endswith("/"))
        unread = {name: seen for name in names if (seen := self._instead_of_reading(name))}
        # First what is gone: git refuses a folder in the place of a file that it still knows.
        gone = [name for name in names if self._is_gone(name)]
        self._update("--force-remove", names=gone)
        left = names.keys() - unread.keys() - set(gone)
        self._update("--add", "--remove", "--replace", names=[name for name in names if name in left])
        found = dict(_entry(line) for line in self._list("ls-files", "--stage"))
        ours = [name for name in found if not self._counts(name)]
        self._update("--force-remove", names=ours)
        files = {name: content for name, content in found.items() if self._counts(name)}
        links = [f"{name}/" for name, content in files.items() if content.startswith(_LINK)]
        nested = [name for name in (*new, *links) if name.endswith("/") and self._counts(name.rstrip("/"))]
        return Tree(self._identity(prefix, bool(files)), files | unread | self._within(nested))

    def _within(self, folders: list[str]) -> dict[str, str]:
        """What is in repositories inside of this one: git itself does not look into them."""
        found: dict[str, str] = {}
        for folder in folders[:_MOST_NESTED]:
            if (self._root / folder / ".git").exists():
                found |= self._inside(folder)
        return found

    def _inside(self, folder: str) -> dict[str, str]:
        tree = tree_of(self._root / folder, lambda name: self._counts(folder + name), self._scratch, self._asked)
        return {folder + name: content for name, content in tree.files.items()} if tree is not None else {}

    def _clear_flags(self) -> None:
        """`assume-unchanged` would hide a change from us, and `skip-worktree` of a file that is there."""
        flagged = [line for line in self._list("ls-files", "-v") if line[:1].islower() or line[:1] == "S"]
        self._update("--no-assume-unchanged", names=[line[2:] for line in flagged if line[:1].islower()])
        skipped = [line[2:] for line in flagged if line[:1] in "sS" and not self._is_gone(line[2:])]
        self._update("--no-skip-worktree", names=skipped)

    def _identity(self, prefix: str, has_files: bool) -> str:
        if prefix and not has_files:
            return _ask(self._root, self._asked, "hash-object", "-t", "tree", os.devnull)[0]
        of_project = [f"--prefix={prefix}"] if prefix else []
        return _ask(self._root, self._asked, "write-tree", *of_project)[0]

    def _is_gone(self, name: str) -> bool:
        """There is no file of this name; a folder is one only as a repository of its own."""
        path = self._root / name
        return not os.path.lexists(path) or (path.is_dir() and not path.is_symlink() and not (path / ".git").exists())

    def _instead_of_reading(self, name: str) -> str:
        """What stands for the content of a file that is too large or cannot be read; empty: git reads it."""
        path = self._root / name
        try:
            about = path.lstat()
        except OSError:
            return ""  # it is gone, which git sees as well
        if not stat.S_ISREG(about.st_mode):
            return ""
        self._spent += about.st_size
        if about.st_size <= _LARGEST and self._spent <= _MOST and os.access(path, os.R_OK):
            return ""
        return f"{about.st_size} {about.st_mtime_ns} {about.st_ctime_ns}"

    def _list(self, *words: str) -> list[str]:
        return _fields(_run(self._root, (*words, "-z", "--", "."), self._asked))

    def _update(self, *options: str, names: Iterable[str]) -> None:
        given = b"".join(os.fsencode(name) + b"\0" for name in names)
        if given:
            _run(self._root, ("update-index", *options, "-z", "--stdin"), self._asked, given)


def _entry(line: str) -> tuple[str, str]:
    """A file's path, its mode and its content's id."""
    about, _, name = line.partition("\t")
    return name, " ".join(about.split()[:2])


def _fields(printed: bytes) -> list[str]:
    return [os.fsdecode(field) for field in printed.split(b"\0") if field]


def _known_objects(repository: Path) -> str:
    """The existing folders of objects, in git's notation: a path with a colon has to be quoted."""
    name = str(repository).replace("\\", "\\\\").replace('"', '\\"')
    others = os.environ.get("GIT_ALTERNATE_OBJECT_DIRECTORIES")
    return os.pathsep.join([f'"{name}"', *([others] if others else [])])


def _is_ignored(root: Path, asked: Asked) -> bool:
    try:
        _run(root, ("check-ignore", "-q", "."), asked)
    except _Failed:
        return False
    return True


def _ask(root: Path, asked: Asked, *words: str) -> list[str]:
    """The lines that git prints."""
    return os.fsdecode(_run(root, words, asked)).removesuffix("\n").split("\n")


def _run(root: Path, words: tuple[str, ...], asked: Asked, given: bytes = b"") -> bytes:
    own = os.environ if asked.environ is None else asked.environ
    inherited = {name: value for name, value in own.items() if name not in _ELSEWHERE}
    try:
        return subprocess.run(
            [*_GIT, *asked.options, *words],
            cwd=root,
            env=inherited | _ALWAYS | dict(asked.more),
            input=given,
            stderr=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            timeout=_PATIENCE,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise _Failed from error
