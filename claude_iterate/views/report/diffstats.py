"""What each iteration of a run changed, in files and lines, from the snapshots that are kept. Nothing is written."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from claude_iterate.project.git import Git, GitProblem
from claude_iterate.project.ignored import ignore_rules, ignores
from claude_iterate.views.iteration_rows import Row
from claude_iterate.workspace.layout import Layout

_MOST_FILES = 100
_MOST_ITERATIONS = 500
"""Each costs a call of git; those before are not looked at."""


class FileView(msgspec.Struct, frozen=True, rename="camel"):
    """A file that differs: lines that came and went; null for one that is no text."""

    path: str
    added: int | None
    removed: int | None

    @property
    def lines(self) -> int:
        """All that came or went."""
        return (self.added or 0) + (self.removed or 0)


class Diffstat(msgspec.Struct, frozen=True, rename="camel"):
    """What differs between two snapshots: how many files and lines, and the files, those with most lines first."""

    changed: int
    added: int
    removed: int
    files: tuple[FileView, ...]


class Diffstats(msgspec.Struct, frozen=True):
    """`whole` is from before the first iteration to after the last; `each` has one for each row. None: not known."""

    whole: Diffstat | None = None
    each: tuple[Diffstat | None, ...] = ()


def diffstats(layout: Layout, rows: Sequence[Row], ignore: Sequence[str]) -> Diffstats:
    """Of these iterations. What the user does not want to count as work is left out here, too."""
    if not any(row.tree_after for row in rows):
        return Diffstats(None, (None,) * len(rows))
    root = layout.root
    store = root / "claude-iterate" / "snapshots.git"
    places = [path for path in (*layout.own_folders(), store) if path != root and path.is_relative_to(root)]
    own, ignored = tuple(f"{path.relative_to(root)}/" for path in places), ignore_rules(ignore)
    trees = KeptTrees(root, store, lambda path: path.startswith(own) or ignores(ignored, path))
    late = len(rows) - _MOST_ITERATIONS
    each = [trees.compare(row.tree_before, row.tree_after) if at >= late else None for at, row in enumerate(rows)]
    first = next((row.tree_before for row in rows if row.tree_before), "")
    last = next((row.tree_after for row in reversed(rows) if row.tree_after), "")
    return Diffstats(trees.compare(first, last), tuple(each))


class KeptTrees:
    """The snapshots of a project: in its repository, or in a store of our own. Files that are ours do not count."""

    def __init__(self, root: Path, store: Path, is_ours: Callable[[str], bool]) -> None:
        self._is_ours = is_ours
        self._places: list[tuple[Git, str]] = []
        repository = Git(str(root), os.environ, filters=False)
        with contextlib.suppress(GitProblem):
            self._places.append((repository, repository.line("rev-parse", "--show-prefix")))
        if (store / "HEAD").is_file() and not store.is_symlink():
            self._places.append((Git(str(root), os.environ, str(store), filters=False), ""))

    def compare(self, before: str, after: str) -> Diffstat | None:
        """What differs in the project. None when one of the two was never made, or is not there any more."""
        if before and before == after:
            return Diffstat(0, 0, 0, ())
        for git, prefix in self._places if before and after else ():
            with contextlib.suppress(GitProblem):
                found = self._diff(git, prefix, before, after)
                files = sorted(found, key=lambda file: file.lines, reverse=True)[:_MOST_FILES]
                added, removed = sum(file.added or 0 for file in found), sum(file.removed or 0 for file in found)
                return Diffstat(len(found), added, removed, tuple(files))
        return None

    def _diff(self, git: Git, prefix: str, before: str, after: str) -> list[FileView]:
        plain = ("--numstat", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty")
        said = git.names("diff-tree", "-r", "-z", *plain, before, after, *(["--", prefix] if prefix else []))
        found = []
        for line in said:
            added, removed, path = line.split("\t", 2)
            inside = path[len(prefix) :]
            if not self._is_ours(inside):
                shown = os.fsencode(inside).decode("utf-8", "replace")
                found.append(FileView(shown, _number(added), _number(removed)))
        return found


def _number(word: str) -> int | None:
    return int(word) if word.isdigit() else None
