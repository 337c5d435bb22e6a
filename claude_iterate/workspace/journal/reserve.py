"""Disk space that is reserved in advance and freed when the disk is full, so that the end of a run can be recorded."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path
from typing import IO

from claude_iterate.system import temporary_files

SIZE = 32 * 1024
"""Enough for dozens of entries; the end of an iteration and of the run takes three."""
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


class Reserve:
    """A file without a name in the folder: the system removes it when the process ends, even by `kill -9`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: IO[bytes] | None = None

    @property
    def held(self) -> bool:
        """True while the space is reserved."""
        return self._file is not None

    def take(self) -> str:
        """Reserve the space; returns the reason if the disk is full. Other errors are ignored."""
        if self._file is not None:
            return ""
        try:
            self._file = file = temporary_files.unnamed(self._folder)
            # Random bytes, because some file systems compress everything else.
            if file.write(os.urandom(SIZE)) < SIZE:
                file.write(b"\0")  # a short write does not give the reason; the next one does
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            self.give_back()
            return (error.strerror or str(error)) if error.errno in _FULL else ""
        return ""

    def give_back(self) -> None:
        """Free the space for the journal."""
        file, self._file = self._file, None
        if file is not None:
            with contextlib.suppress(OSError):
                file.close()
