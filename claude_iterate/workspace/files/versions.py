"""A file at one moment, to see afterwards whether it was written since: an old file proves nothing."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from claude_iterate.errors import WorkspaceProblem
from claude_iterate.workspace.files import foreign


class Snapshot(NamedTuple):
    """The content, None when there is no file, and the fingerprint, which shows a rewrite with the same text too."""

    data: bytes | None
    fingerprint: foreign.Fingerprint | None = None

    def is_newer_than(self, before: Snapshot) -> bool:
        """True when the file is there and was written since."""
        return self.data is not None and self.fingerprint != before.fingerprint


def look(path: Path) -> Snapshot:
    """The file now. One that is there and cannot be read, or that is far too large, is a WorkspaceProblem."""
    try:
        found = foreign.look(path)
    except FileNotFoundError:
        return Snapshot(None)
    except OSError as error:
        raise WorkspaceProblem(
            f"{path} cannot be read: {error.strerror}.", "Move it away, or check its permissions."
        ) from None
    if not found.whole:
        raise WorkspaceProblem(f"{path} is larger than {foreign.MOST >> 20} MiB.", "Move it away, or shorten it.")
    return Snapshot(found.data, found.fingerprint)
