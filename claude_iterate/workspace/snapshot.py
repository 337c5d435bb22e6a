"""A file as it is at one moment, to tell afterwards whether somebody wrote it since: an old one proves nothing."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from claude_iterate.errors import WorkspaceProblem


class Snapshot(NamedTuple):
    """The content, None when there is no file, and the marks by which a rewrite shows even if the text is the same."""

    data: bytes | None
    marks: tuple[int, int, int] | None = None

    def is_newer_than(self, before: Snapshot) -> bool:
        """True when the file is there and was written since."""
        return self.data is not None and self.marks != before.marks


def look(path: Path) -> Snapshot:
    """The file now. One that is there and cannot be read is a WorkspaceProblem."""
    try:
        status = path.stat()
        return Snapshot(path.read_bytes(), (status.st_ino, status.st_mtime_ns, status.st_size))
    except FileNotFoundError:
        return Snapshot(None)
    except OSError as error:
        raise WorkspaceProblem(
            f"{path} cannot be read: {error.strerror}.", "Move it away, or check its permissions."
        ) from None
