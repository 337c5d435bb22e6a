"""A file of the user as it was last seen. Deleted by others, it is put back; changed by others, it is what it is now.

Only what a regular file holds is kept, up to MOST bytes. It is put back by a rename in the folder that it was in, never
through a link that was planted meanwhile.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path

from claude_iterate.workspace.files import atomic, foreign

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
    """One file. To remember it again costs one look, unless it changed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.folder = Path(os.path.realpath(path.parent))
        """Where it is when every link is followed."""
        self._version: Version | None = None
        self._data: bytes | None = None
        self._mode = 0
        self.remember()

    def remember(self) -> None:
        """Take the file as it is now; one that is gone stays as it was."""
        now = version(self._path)
        if now in (None, self._version):
            return
        self._version, self._data = now, None
        with contextlib.suppress(OSError):
            found = foreign.look(self._path, MOST, links=False)
            self._mode = stat.S_IMODE(self._path.lstat().st_mode)
            self._data = found.data if found.whole else None

    @property
    def is_deleted(self) -> bool:
        """True for a file that was there, and whose name leads to nothing now."""
        return self._data is not None and not os.path.lexists(self._path)

    def put_back(self) -> None:
        """Write the file with the mode that it had, and its folder where that is gone, too. An OSError says why not."""
        if Path(os.path.realpath(self._path.parent)) != self.folder:
            raise OSError(errno.ELOOP, "a link leads its folder elsewhere", str(self._path))
        self.folder.mkdir(parents=True, exist_ok=True)
        with atomic.replacing(self.folder / self._path.name, private=True, follow=False) as file:
            file.write(self._data or b"")
            os.fchmod(file.fileno(), self._mode)
        self._version = version(self._path)
