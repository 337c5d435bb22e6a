"""Whether the project changed since a moment, without a look at it before: by times that no program can set.

This is asked after an iteration without a report. A look before each iteration would be a price that all the good ones
pay.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from claude_iterate.progress import file_scan, git_tree

_PATIENCE = 20.0
_MOST = 50_000
_SECOND = 1_000_000_000


class _Unknown(Exception):
    """There is too much to look at."""


def changed_since(root: Path, moment: int, counts: Callable[[str], bool], also: Sequence[Path] = ()) -> bool:
    """True when since `moment` (epoch nanoseconds) a file that counts was made, written or deleted, one of the paths
    `also` or below them changed, or a commit was made. True as well when it cannot be known."""
    look = _Look(moment)
    try:
        if any(look.is_new(path) or look.is_new_below(path, lambda _: True) for path in also):
            return True
        names = git_tree.names(root)
        if names is None:
            return look.is_new(root) or look.is_new_below(root, counts)
        known = (name for name in names if counts(name.rstrip("/")))
        return git_tree.last_commit(root) * _SECOND > moment or any(look.is_new_or_gone(root / name) for name in known)
    except _Unknown:
        return True


class _Look:
    """Compares times, for a while."""

    def __init__(self, moment: int) -> None:
        self._moment = moment
        self._ends = time.monotonic() + _PATIENCE
        self._seen = 0

    def is_new(self, path: Path) -> bool:
        """The file or folder itself changed."""
        try:
            return os.lstat(path).st_ctime_ns >= self._moment
        except OSError:
            return False

    def is_new_or_gone(self, path: Path) -> bool:
        """A file changed, was deleted, or is a repository of its own in which something changed."""
        self._count()
        try:
            about = os.lstat(path)
        except OSError:
            return self._lost(path)
        inside = stat.S_ISDIR(about.st_mode) and self.is_new_below(path, lambda _: True)
        return about.st_ctime_ns >= self._moment or inside

    def _lost(self, path: Path) -> bool:
        """Something was taken from the nearest folder that is there."""
        there = next((folder for folder in path.parents if folder.is_dir()), path.parent)
        return self.is_new(there)

    def is_new_below(self, folder: Path, counts: Callable[[str], bool]) -> bool:
        """Something in the folder that counts changed. A folder changes when something is made or deleted in it."""
        for entry, _ in file_scan.walk(folder, counts, folders=True):
            self._count()
            try:
                if entry.stat(follow_symlinks=False).st_ctime_ns >= self._moment:
                    return True
            except OSError:
                continue
        return False

    def _count(self) -> None:
        self._seen += 1
        if self._seen > _MOST or time.monotonic() > self._ends:
            raise _Unknown
