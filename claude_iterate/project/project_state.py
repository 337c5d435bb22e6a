"""What the project is at a moment, so that two moments can be compared: the same work, or which files differ.

Our own files do not count, nor what tools leave (`tool_output.py`). Where there is git, what it ignores does not count
either, and the state has a name.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from claude_iterate.project import git_tree, scan


class ProjectState(msgspec.Struct, frozen=True):
    """`tree` is git's name for it, if git knows the project; `files` what is in each file. None: it is not known."""

    tree: str = ""
    files: Mapping[str, str] | None = None

    @property
    def is_known(self) -> bool:
        """False when the project is too large to look at without git."""
        return self.files is not None

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


def _counting(root: Path, left_out: Sequence[Path]) -> Callable[[str], bool]:
    """Says of a path in the project whether it counts: it is not left out."""
    ours = tuple(str(path.relative_to(root)) for path in left_out if path.is_relative_to(root))

    def counts(name: str) -> bool:
        return not any(name == one or name.startswith(f"{one}/") for one in ours)

    return counts


def look(
    root: Path, left_out: Sequence[Path], watched: Sequence[Path], scratch: Path, asked: git_tree.Asked = git_tree.USUAL
) -> ProjectState:
    """The state now, without what is `left_out`: files, or folders with all that is in them. The files `watched` count
    in any case. `scratch` is a folder for temporary files; it is removed."""
    counts = _counting(root, left_out)
    tree = git_tree.tree_of(root, counts, scratch, asked)
    if tree is not None:
        return ProjectState(tree.id, tree.files | _contents(root, watched))
    found = scan.scan(root, counts)
    if not found.whole:
        return ProjectState()
    return ProjectState("", {name: file.content for name, file in found.files.items()} | _contents(root, watched))


def _contents(root: Path, paths: Sequence[Path]) -> dict[str, str]:
    found = {}
    for path in paths:
        with contextlib.suppress(OSError):
            name = str(path.relative_to(root)) if path.is_relative_to(root) else str(path)
            if path.exists():
                found[name] = scan.checksum(path) if path.is_file() else "not a file"
    return found
