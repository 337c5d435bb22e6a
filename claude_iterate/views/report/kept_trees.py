"""How many lines of which files differ between two snapshots that are kept. Nothing is written."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from claude_iterate.project.git_commands import Git, GitProblem, names


class ChangedFile(msgspec.Struct, frozen=True):
    """A file that differs: lines that came and went; None for one that is no text."""

    path: str
    added: int | None
    removed: int | None


class KeptTrees:
    """The snapshots of a project: in its repository, or in a store of our own."""

    def __init__(self, root: Path, store: Path, environ: Mapping[str, str], is_ours: Callable[[str], bool]) -> None:
        self._is_ours = is_ours
        self._places: list[tuple[Git, str]] = []
        repository = Git(str(root), environ, filters=False)
        with contextlib.suppress(GitProblem):
            self._places.append((repository, repository.line("rev-parse", "--show-prefix")))
        if (store / "HEAD").is_file() and not store.is_symlink():
            self._places.append((Git(str(root), environ, str(store), filters=False), ""))

    def between(self, before: str, after: str) -> list[ChangedFile] | None:
        """What differs in the project, without our own files. None when one of the two is not there any more."""
        if before == after:
            return []
        for git, prefix in self._places:
            try:
                return self._asked(git, prefix, before, after)
            except GitProblem:
                continue
        return None

    def _asked(self, git: Git, prefix: str, before: str, after: str) -> list[ChangedFile]:
        plain = ("--numstat", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty")
        said = git.ask("diff-tree", "-r", "-z", *plain, before, after, *(["--", prefix] if prefix else []))
        found = []
        for line in names(said):
            added, removed, path = line.split("\t", 2)
            inside = path[len(prefix) :]
            if not self._is_ours(inside):
                shown = os.fsencode(inside).decode("utf-8", "replace")
                found.append(ChangedFile(shown, _lines(added), _lines(removed)))
        return found


def _lines(word: str) -> int | None:
    return int(word) if word.isdigit() else None
