"""Files without a name, and whether they can be written; if not, why: a limit of the shell, or no folder for them."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import IO

from claude_iterate.errors import RAISE_FILE_LIMIT, ExpectedError

try:
    import resource
except ImportError:  # pragma: no cover - Windows
    resource = None  # type: ignore[assignment]

_TOO_SMALL = 4096
"""Bytes; neither the lock file nor the journal fits."""


def unnamed(folder: Path | None = None) -> IO[bytes]:
    """A file that the system removes when its last holder ends; in the folder for temporary files if none is given."""
    if hasattr(os, "O_TMPFILE"):
        with contextlib.suppress(OSError):
            return _nameless(str(folder or os.environ.get("TMPDIR") or "/tmp"))  # noqa: S108 - it has no name
    # It knows more folders to try, and what is wrong with them.
    return tempfile.TemporaryFile(dir=folder, buffering=0)


def _nameless(place: str) -> IO[bytes]:
    handle = os.open(place, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        os.pwrite(handle, b"x", 0)  # a disk may have room for a file and none for its content
        os.ftruncate(handle, 0)
    except OSError:
        os.close(handle)
        raise
    return open(handle, "w+b", buffering=0)


def refuse_if_impossible() -> None:
    """Raise an ExpectedError when no useful file can be written."""
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0] if resource is not None else -1
    if 0 <= limit < _TOO_SMALL and limit != resource.RLIM_INFINITY:
        raise ExpectedError(f"No file may grow beyond {limit} bytes (the limit `ulimit -f`).", RAISE_FILE_LIMIT)
    try:
        unnamed().close()
    except OSError as error:
        raise ExpectedError(f"{error.strerror}.", "Free some space, or set TMPDIR to a folder you can write.") from None
