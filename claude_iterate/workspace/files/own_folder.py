"""Folders of a workspace into which others put files. One that leads elsewhere is never read, filled or emptied."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

NOT_OURS = "a link or a file, not a folder"


def is_ours(folder: Path) -> bool | None:
    """True for a real folder, False for a link or anything else in its place, None when nothing is there."""
    try:
        return stat.S_ISDIR(os.lstat(folder).st_mode)
    except OSError:
        return None


def make(folder: Path) -> None:
    """Make the folder unless it is there. Something else in its place is an OSError."""
    if is_ours(folder) is False:
        raise OSError(errno.ENOTDIR, f"{folder.name}/ is {NOT_OURS}", str(folder))
    folder.mkdir(exist_ok=True)
