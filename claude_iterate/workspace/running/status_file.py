"""Reads `.status.json` and tells whether the agent wrote it in this iteration.

Freshness is judged by what the file is (inode, time, size, content), never by what it claims.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from claude_iterate.core.reports import status
from claude_iterate.core.reports.status import LARGEST, Reading
from claude_iterate.workspace.files import foreign


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
        # One byte more than a report may have: enough for the reader to see that it is too large.
        found = foreign.look(path, LARGEST + 1)
    except FileNotFoundError:
        return Seen(None, None)
    except OSError as error:
        return Seen(Reading(None, (f"it cannot be read: {error.strerror}",)), None)
    about = found.about
    seen = Print(about.st_ino, about.st_mtime_ns, about.st_size, found.data)
    return Seen(status.parse(found.data), seen)
