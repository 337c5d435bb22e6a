"""An index of our own: it begins as a copy of the user's, and so knows what has not changed since.

A lock on it, or a torn one, is left by a killed run: only we use it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil

from claude_iterate.project.git import Git, GitProblem, join_names

Mark = tuple[int, int, int]
"""Size, time of the last change and inode: another mark is another content."""


class IndexCopy:
    """The index at `path`; `users` is the user's, empty for a store of our own, which has no other."""

    def __init__(self, git: Git, path: str, users: str) -> None:
        self.path = path
        self._git = git
        self._users = users
        self._seed: Mark | None = (-1, -1, -1)
        self._users_is_sound = True

    @property
    def for_listing(self) -> str:
        """The index that says which files are new: the user's (empty), because it knows what is tracked although it is
        ignored; ours where it cannot be read."""
        return "" if self._users and self._users_is_sound else self.path

    def renew(self) -> bool:
        """Begin again if the user's index is another one by now; then True."""
        _remove(f"{self.path}.lock")
        seed = mark_of(self._users) if self._users else (0, 0, 0)
        if seed == self._seed and os.path.exists(self.path):
            return False
        self._seed = seed
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        if self._users:
            self._users_is_sound = self._copy(seed)
        elif not _is_whole(self.path):
            _remove(self.path)
        return True

    def update(self, *options: str, paths: list[str]) -> None:
        """Change the entries of these files."""
        if paths:
            self._git.ask("update-index", "-z", *options, "--stdin", index=self.path, given=join_names(paths))

    def _copy(self, seed: Mark | None) -> bool:
        """Begin with the user's index; False when it cannot be read."""
        if seed is None:
            _remove(self.path)
            return True
        # With its time: git takes a file that is as old as the index for one that may have changed since.
        shutil.copyfile(self._users, f"{self.path}.new")
        os.utime(f"{self.path}.new", ns=(seed[1], seed[1]))
        os.replace(f"{self.path}.new", self.path)
        if not _is_whole(self.path):
            self._take_from_head()
            return False
        listed = self._git.names("ls-files", "-v", "-z", index=self.path)
        # The user told git to take them as unchanged, or to skip them; what is there we look at all the same.
        self.update("--no-assume-unchanged", paths=[line[2:] for line in listed if line[0].islower()])
        skipped = [line[2:] for line in listed if line[0] in "sS" and self._git.has(line[2:])]
        self.update("--no-skip-worktree", paths=skipped)
        return True

    def _take_from_head(self) -> None:
        """What HEAD holds takes the place of the user's index. Then every file is read once."""
        _remove(self.path)
        with contextlib.suppress(GitProblem):  # no commit yet
            self._git.ask("read-tree", "HEAD", index=self.path)


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def _is_whole(path: str) -> bool:
    """An index ends with a checksum, or with zeros. Git itself takes one that was cut off for a shorter one."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        return True
    for kind in (hashlib.sha1, hashlib.sha256):  # as git names its objects
        size = kind().digest_size
        if len(data) > size and data[-size:] in (kind(data[:-size], usedforsecurity=False).digest(), bytes(size)):
            return True
    return False


def mark_of(path: str | bytes) -> Mark | None:
    """What shows a change without reading the file; None when there is none."""
    try:
        about = os.stat(path)
    except OSError:
        return None
    return mark(about)


def mark(about: os.stat_result) -> Mark:
    return about.st_size, about.st_mtime_ns, about.st_ino
