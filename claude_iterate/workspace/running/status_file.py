"""Reads `.status.json`, with a fingerprint by which the caller sees whether Claude wrote it in this iteration.

Only the fingerprint counts for that, never what the report says of itself.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from claude_iterate.core.reports import status
from claude_iterate.core.reports.status import LARGEST, Reading
from claude_iterate.workspace.files import foreign


class Seen(NamedTuple):
    """One look at the file."""

    reading: Reading | None
    fingerprint: foreign.Fingerprint | None


def look(path: Path) -> Seen:
    """Read the file now. No file: no reading. Anything but a readable regular file: a reading with a problem."""
    try:
        # One byte more than a report may have: enough for the reader to see that it is too large.
        found = foreign.look(path, LARGEST + 1)
    except FileNotFoundError:
        return Seen(None, None)
    except OSError as error:
        return Seen(Reading(None, (f"it cannot be read: {error.strerror}",)), None)
    return Seen(status.parse(found.data), found.fingerprint)
