"""Room on the disk, taken beforehand and given back when there is no other: the last words of a run fit in it."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from pathlib import Path
from typing import IO

SIZE = 32 * 1024
"""Dozens of entries: how an iteration and the run ended takes three."""
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


class Reserve:
    """A file without a name in the folder, so that nothing is left of it, however we end."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: IO[bytes] | None = None

    @property
    def held(self) -> bool:
        """True while the room is ours."""
        return self._file is not None

    def take(self) -> str:
        """Take the room; why not, if the disk is full. Where files cannot be that large, it is no use and no matter."""
        if self._file is not None:
            return ""
        try:
            file = tempfile.TemporaryFile(dir=self._folder, buffering=0)
        except OSError as error:
            return _if_full(error)
        try:
            # Noise, because some file systems keep no room for what can be compressed.
            if file.write(os.urandom(SIZE)) < SIZE:
                file.write(b"\0")  # a short write does not say why; the next one does
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            with contextlib.suppress(OSError):
                file.close()
            return _if_full(error)
        self._file = file
        return ""

    def give_back(self) -> None:
        """Let others have it, first of all the journal."""
        file, self._file = self._file, None
        if file is not None:
            with contextlib.suppress(OSError):
                file.close()


def _if_full(error: OSError) -> str:
    return (error.strerror or str(error)) if error.errno in _FULL else ""
