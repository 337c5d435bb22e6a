"""A file of the user as it was last seen. Deleted by others, it is put back; changed by others, it is what it is now.

Only what a regular file holds is kept. Each folder on the way to it is opened from the one above, and no link is
followed: what Claude writes never leads to another file, not even for a moment.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from claude_iterate.system import locks
from claude_iterate.workspace.files import foreign

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
            found = foreign.look(self._name, min(most, MOST), links=False, folder=folder)
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
                    locks.try_lock(handle)
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
