"""A file that is only ever appended to, through a buffer of 10 KB. Nothing is lost and nothing is written twice.

The first error ends the writing for good, with one message: a full disk must not stop the run.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

SIZE = 10 * 1024


class LogFile:
    """Creates its file; raises FileExistsError when there is one, so that no log is ever overwritten. `size` is what
    was written so far."""

    def __init__(self, path: Path, on_failure: Callable[[str], None]) -> None:
        self._path = path
        self._on_failure = on_failure
        self._buffer = bytearray()
        self.size = 0
        self._descriptor: int | None = None
        try:
            self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o666)
        except FileExistsError:
            raise
        except OSError as error:
            self._fail(error)

    def append(self, text: str) -> bool:
        """Add text; True when that filled the buffer and it was written."""
        if self._descriptor is None:
            return False
        self._buffer += text.encode("utf-8", "replace")
        if len(self._buffer) < SIZE:
            return False
        self.flush()
        return True

    def flush(self) -> None:
        """Write what is buffered: in one call, unless the system takes less at a time."""
        if self._descriptor is None or not self._buffer:
            return
        self.size += len(self._buffer)
        # The buffer is let go first: whatever happens below, no byte of it is written again.
        left, self._buffer = memoryview(self._buffer), bytearray()
        try:
            while left:
                left = left[os.write(self._descriptor, left) :]
        except OSError as error:
            self._fail(error)

    def close(self) -> None:
        """Write the rest and let the file go."""
        self.flush()
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            try:
                os.close(descriptor)
            except OSError as error:
                # Network file systems report a failed write only here.
                self._fail(error)

    def _fail(self, error: OSError) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            with suppress(OSError):
                os.close(descriptor)
        self._on_failure(
            f"The log cannot be written ({error.strerror or error}); the run goes on without it: {self._path}"
        )
