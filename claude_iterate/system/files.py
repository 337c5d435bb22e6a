"""Files as the operating system has them: locks that a crash frees, files without a name, short paths."""

from __future__ import annotations

import contextlib
import fcntl
import os
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from claude_iterate.errors import RAISE_FILE_LIMIT, ExpectedError
from claude_iterate.system.untrusted_files import folder_handle

_TOO_SMALL = 4096
"""Bytes; neither the lock file nor the journal fits."""


def try_lock(handle: int, shared: bool = False) -> bool | None:
    """Lock an open file without waiting: True when we have the lock, False while another process has it, None where
    files cannot be locked. Any number of processes can hold a shared lock, but none beside an exclusive one.

    The lock ends with the file or with the process.
    """
    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def unlock(handle: int) -> None:
    """Release a lock."""
    fcntl.flock(handle, fcntl.LOCK_UN)


@contextlib.contextmanager
def locked_folder(folder: Path, patience: float = 5.0) -> Iterator[None]:
    """Wait for the lock of this folder. Ours hold it for milliseconds; a program of the user (`flock .`) may hold it
    until we end. So after `patience` seconds we continue without it, as where folders cannot be locked."""
    with folder_handle(folder) as handle:
        deadline = time.monotonic() + patience
        while try_lock(handle) is False and time.monotonic() < deadline:
            time.sleep(0.01)
        yield


def nameless_file(folder: Path | None = None) -> IO[bytes]:
    """A file that the system removes when its last holder ends; in the folder for temporary files if none is given."""
    return tempfile.TemporaryFile(dir=folder, buffering=0)


def require_temporary_files() -> None:
    """Raise an ExpectedError when no useful file can be written."""
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if 0 <= limit < _TOO_SMALL and limit != resource.RLIM_INFINITY:
        raise ExpectedError(f"No file may grow beyond {limit} bytes (the limit `ulimit -f`).", RAISE_FILE_LIMIT)
    try:
        nameless_file().close()
    except OSError as error:
        raise ExpectedError(f"{error.strerror}.", "Free some space, or set TMPDIR to a folder you can write.") from None


def near(path: str | os.PathLike[str]) -> str:
    """Relative to the current folder for what is in it; all others as they are."""
    try:
        here = os.getcwd()
    except OSError:  # it was deleted
        return os.fspath(path)
    beside = os.path.relpath(path, here)
    return os.fspath(path) if beside == os.pardir or beside.startswith(os.pardir + os.sep) else beside
