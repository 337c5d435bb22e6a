"""Reads `.status.json` and tells whether the agent wrote it in this iteration.

Freshness is judged by what the file is (inode, time, size, content), never by what it claims.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import NamedTuple

from claude_iterate.core import status
from claude_iterate.core.status import LARGEST, Reading


class Print(NamedTuple):
    """A file's fingerprint; equal prints mean that nobody wrote it in between."""

    inode: int
    modified: int
    size: int
    content: bytes


class Seen(NamedTuple):
    """One look at the file."""

    reading: Reading | None
    fingerprint: Print | None


def look(path: Path) -> Seen:
    """Read the file now. No file: no reading. Anything that is no readable regular file: a reading with a problem."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        return Seen(None, None)
    except OSError as error:
        return Seen(Reading(None, (f"it cannot be read: {error.strerror}",)), None)
    try:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode):
            return Seen(Reading(None, ("it is not a regular file",)), None)
        data = _read(handle)
    except OSError as error:
        return Seen(Reading(None, (f"it cannot be read: {error.strerror}",)), None)
    finally:
        os.close(handle)
    seen = Print(about.st_ino, about.st_mtime_ns, about.st_size, data)
    return Seen(status.parse(data), seen)


def _read(handle: int) -> bytes:
    data = b""
    while len(data) <= LARGEST:
        part = os.read(handle, LARGEST + 1 - len(data))
        if not part:
            break
        data += part
    return data
