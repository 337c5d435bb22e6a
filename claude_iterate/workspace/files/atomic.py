"""Writes that are there whole or not at all: temporary file in the same folder, sync, rename.

A writer holds a lock on its temporary file from the beginning to the rename. So a temporary file whose lock is free was
left by a killed writer, and the next writer of the same file removes it.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from claude_iterate.system.files import try_lock

_TEMPORARY = re.compile(r"\.(?P<target>.+)\.[a-z0-9_]{8}\.tmp")


@contextlib.contextmanager
def open_replacement(path: Path, private: bool = False, follow: bool = True) -> Iterator[IO[bytes]]:
    """Yields a file to write, whose `name` is temporary. Afterwards it replaces `path`; after an error nothing is left.

    A symlink is followed, or without `follow` replaced. The mode of an existing file is kept, unless the file is to be
    private.
    """
    target = Path(os.path.realpath(path)) if follow else path
    remove_abandoned(target.parent, target.name)
    file = _locked_file(target)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if not private:
                os.chmod(file.name, _mode_for(target))
            os.replace(file.name, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(file.name)
        if isinstance(error, OSError) and error.errno and error.filename in {None, file.name}:
            error.filename = str(target)  # a full disk names no file, and the temporary name means nothing to users
        raise
    sync_folder(target.parent)


def write_bytes(path: Path, data: bytes) -> None:
    """Replace the file."""
    with open_replacement(path) as file:
        file.write(data)


def write_text(path: Path, text: str) -> None:
    """Replace the file with text in UTF-8."""
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


def write_json(path: Path, document: Any) -> None:
    """Replace the file with indented JSON."""
    write_text(path, json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def find_abandoned(folder: Path, *targets: str) -> list[Path]:
    """Temporary files that killed writers left in the folder; only those of `targets`, if any are named."""
    return [path for path in _temporary_files(folder, targets) if _with_free_lock(path)]


def remove_abandoned(folder: Path, *targets: str) -> None:
    """Remove what `abandoned` finds. What cannot be removed stays."""
    for path in _temporary_files(folder, targets):
        _with_free_lock(path, remove=True)


def _temporary_files(folder: Path, targets: tuple[str, ...]) -> list[Path]:
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    found = ((name, _TEMPORARY.fullmatch(name)) for name in sorted(names) if name.endswith(".tmp"))
    return [folder / name for name, match in found if match and (not targets or match["target"] in targets)]


def _with_free_lock(path: Path, remove: bool = False) -> bool:
    """True for a regular file that no writer has locked. It is removed under the lock, before a writer can take it."""
    with contextlib.suppress(OSError):
        if not os.path.isfile(path):
            return False
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            if not try_lock(handle):
                return False
            if remove:
                os.unlink(path)
            return True
        finally:
            os.close(handle)
    return False


def _locked_file(target: Path) -> IO[bytes]:
    """A new temporary file with a lock on it.

    Between making and locking it another process may take it for abandoned: then we make another one. Where files
    cannot be locked (some network disks), no process takes it for abandoned, and we go on without a lock.
    """
    while True:
        try:
            file = _new_file(target)
        except FileExistsError:
            continue
        locked = try_lock(file.fileno())
        if locked is None or (locked and os.fstat(file.fileno()).st_nlink):
            return file
        file.close()
        with contextlib.suppress(OSError):
            os.unlink(file.name)


def _new_file(target: Path) -> IO[bytes]:
    """A private file beside the target, as `tempfile` would make it, without the price of its import."""
    path = f"{target.parent}/.{target.name}.{os.urandom(4).hex()}.tmp"
    return open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o600))


def _mode_for(target: Path) -> int:
    with contextlib.suppress(OSError):
        return target.stat().st_mode & 0o777
    # Ours is private while it is written; a new file of ours is as open as any other file the user makes.
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
