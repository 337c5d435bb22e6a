"""Writes that are there whole or not at all: temp file in the same folder, sync, rename."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any


def write_bytes(path: Path, data: bytes) -> None:
    """Replace the file. A symlink is followed, the mode of an existing file is kept."""
    target = Path(os.path.realpath(path))
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _mode_for(target))
        os.replace(temporary, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.filename in {None, temporary}:
            error.filename = str(target)  # a full disk names no file, and nobody knows the temporary one
        raise
    sync_folder(target.parent)


def write_text(path: Path, text: str) -> None:
    """Replace the file with text in UTF-8."""
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


def write_json(path: Path, document: Any) -> None:
    """Replace the file with JSON as people like to read it."""
    write_text(path, json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def _mode_for(target: Path) -> int:
    with contextlib.suppress(OSError):
        return target.stat().st_mode & 0o777
    # mkstemp makes private files; a new file of ours is as open as any other file the user makes.
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def sync_folder(folder: Path) -> None:
    """Make the rename itself durable; not every file system lets us."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
