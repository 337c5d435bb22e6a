"""The file that keeps what Claude prints in a call, byte for byte, up to a size that no normal call reaches."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

LARGEST = 256 * 1024 * 1024
"""Bytes of one call: a program that prints without end would fill the disk in minutes."""
CUT = b'\n{"type":"claude-iterate","text":"Here the recording was cut: Claude printed more than is kept of a call."}\n'


class Recording(io.FileIO):
    """Unbuffered, and for the user alone: secrets are in it. What comes after the limit is dropped, and the file says
    so."""

    def __init__(self, path: str, largest: int = LARGEST) -> None:
        super().__init__(path, "wb", opener=_private)
        self._room = largest

    def write(self, data: ReadableBuffer, /) -> int:
        """Write the data, up to the limit."""
        size = memoryview(data).nbytes
        if size <= self._room:
            self._room -= size
            return super().write(data)
        if self._room >= 0:
            kept, self._room = memoryview(data)[: self._room], -1
            super().write(kept)
            super().write(CUT)
        return size


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
