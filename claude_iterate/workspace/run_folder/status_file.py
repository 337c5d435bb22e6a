"""Reads `.status.json`, with a fingerprint by which the caller sees whether it was written since.

A link of either kind is no report: what it leads to may have been written elsewhere.
"""

from __future__ import annotations

import errno
from pathlib import Path

import msgspec

from claude_iterate.core.reports import status
from claude_iterate.core.reports.status import LARGEST, Reading
from claude_iterate.workspace.files import untrusted_files


class StatusSnapshot(msgspec.Struct, frozen=True):
    """One look at the file."""

    reading: Reading | None
    file: untrusted_files.Found | None
    """Says whether the file was written since."""


def look(path: Path) -> StatusSnapshot:
    """Read the file now. No file: no reading. Anything but a readable regular file: a reading with a problem."""
    try:
        # One byte more than a report may have: enough for the reader to see that it is too large.
        found = untrusted_files.look(path, LARGEST + 1, links=False)
    except FileNotFoundError:
        return StatusSnapshot(None, None)
    except OSError as error:
        if error.errno == errno.ELOOP:
            return StatusSnapshot(Reading(None, (status.LINK,)), None)
        return StatusSnapshot(Reading(None, (f"it cannot be read: {error.strerror}",)), None)
    reading = status.parse(found.data)
    if found.names > 1 and not reading.identity:  # the id would say in which iteration it was written
        return StatusSnapshot(Reading(None, (status.SHARED,)), None)
    return StatusSnapshot(reading, found)


def stamp(path: Path) -> tuple[int, ...] | None:
    """What moves when the file is written; None when there is none."""
    try:
        about = path.lstat()
    except OSError:
        return None
    return about.st_mtime_ns, about.st_ctime_ns, about.st_size, about.st_ino
