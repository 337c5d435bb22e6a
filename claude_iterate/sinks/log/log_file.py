"""A file that is only ever appended to, through a buffer of 10 KB. Nothing is lost and nothing is written twice.

The first error ends the writing for good, with one message: a full disk must not stop the run. A file that was deleted
or replaced is put back.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from claude_iterate.workspace.files.restorable_file import RestorableFile

SIZE = 10 * 1024


class LogFile:
    """Creates its file; raises FileExistsError when there is one, so that no log is ever overwritten. `size` is what
    was written so far."""

    def __init__(self, path: Path, on_failure: Callable[[str], None]) -> None:
        self._path = path
        self._on_failure = on_failure
        self._buffer = bytearray()
        self.size = 0
        self._file: RestorableFile | None = None
        try:
            self._file = RestorableFile(path, 0o666, new=True)
        except FileExistsError:
            raise
        except OSError as error:
            self._fail(error)

    def append(self, text: bytes) -> bool:
        """Add text in UTF-8; True when that filled the buffer and it was written."""
        if self._file is None:
            return False
        self._buffer += text
        if len(self._buffer) < SIZE:
            return False
        self.flush()
        return True

    def flush(self) -> None:
        """Write what is buffered: in one call, unless the system takes less at a time."""
        if self._file is None or not self._buffer:
            return
        self.size += len(self._buffer)
        # The buffer is let go first: whatever happens below, no byte of it is written again.
        left, self._buffer = memoryview(self._buffer), bytearray()
        try:
            while left:
                left = left[os.write(self._file.handle, left) :]
        except OSError as error:
            self._fail(error)

    def keep_place(self, is_ours: Callable[[], bool]) -> bool:
        """Put the file back if its name leads elsewhere and its folder is still ours. True when that was done."""
        if self._file is None or self._file.in_place or not is_ours():
            return False
        try:
            self._file.put_back()
        except OSError as error:
            self._fail(error)
            return False
        return True

    def close(self) -> None:
        """Write the rest and let the file go."""
        self.flush()
        file, self._file = self._file, None
        if file is not None:
            try:
                os.close(file.handle)
            except OSError as error:
                # Network file systems report a failed write only here.
                self._fail(error)

    def _fail(self, error: OSError) -> None:
        file, self._file = self._file, None
        if file is not None:
            with suppress(OSError):
                os.close(file.handle)
        self._on_failure(
            f"The log cannot be written ({error.strerror or error}); the run goes on without it: {self._path}"
        )
