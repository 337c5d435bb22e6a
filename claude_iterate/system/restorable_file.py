"""A file that is written for hours keeps its name: deleted or replaced by others, it is put back with all that it had.

`git stash`, `git checkout`, `git clean` and `rm` take away the name; the open file keeps what was written.
"""

from __future__ import annotations

import io
import os
import shutil
from pathlib import Path

from claude_iterate.system import untrusted_files

_AT_ONCE = 1024 * 1024
Identity = tuple[int, int]
Version = tuple[int, int, int]


def identity_of(path: Path) -> Identity | None:
    """Which file or folder has this name now, by device and number. None: there is none."""
    about = untrusted_files.status(path)
    return _identity(about) if about is not None else None


def version(path: Path) -> Version | None:
    """Which file this is. Its number alone does not say: that of a file that was deleted is given to the next one."""
    about = untrusted_files.status(path)
    return (about.st_ino, about.st_mtime_ns, about.st_size) if about is not None else None


class RestorableFile:
    """An open file that is appended to. `handle` is for writing; it is another one after `put_back`."""

    def __init__(self, path: Path, mode: int, new: bool = False) -> None:
        """`new`: a file that is there already is a FileExistsError."""
        self._path = path
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | (os.O_EXCL if new else 0)
        self.handle = untrusted_files.open_handle(path, flags, mode)
        about = os.fstat(self.handle)
        self._identity = _identity(about)
        self.size = about.st_size
        """How much is known to be in it: who writes adds to it."""

    @property
    def in_place(self) -> bool:
        """True while the name leads to this file, and nothing of it was cut off. Costs one look."""
        named = untrusted_files.status(self._path)
        if named is None:
            return False
        if _identity(named) == self._identity:
            return named.st_size >= self.size
        # Some file systems of networks change the numbers of their files. There the open file still has a name, and
        # what is said of both is the same.
        held = os.fstat(self.handle)
        return bool(held.st_nlink) and (held.st_size, held.st_mtime_ns) == (named.st_size, named.st_mtime_ns)

    def put_back(self, instead: bytes = b"") -> bool:
        """Make a file of this name with all that was written; if that was cut off, with `instead`, and True is
        returned. Where that cannot be made: an OSError, and nothing has changed."""
        lost = os.fstat(self.handle).st_size < self.size
        with untrusted_files.open_replacement(self._path) as file, open(self.handle, "rb", closefd=False) as held:
            held.seek(0)
            shutil.copyfileobj(io.BytesIO(instead) if lost else held, file, _AT_ONCE)
        handle = untrusted_files.open_handle(self._path, os.O_RDWR | os.O_APPEND)
        os.close(self.handle)
        self.handle = handle
        about = os.fstat(handle)
        self._identity, self.size = _identity(about), about.st_size
        return lost


def _identity(about: os.stat_result) -> Identity:
    return about.st_dev, about.st_ino
