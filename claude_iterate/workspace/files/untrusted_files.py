"""Files and folders that others may have put there, and files of ours that are replaced.

Reading a file never waits for a pipe or a device, and never takes in more than asked for. A folder of a workspace that
is a link, and so leads elsewhere, is never read, filled or emptied.

A written file is there whole or not at all: temporary file in the same folder, sync, rename. The name of a temporary
file or folder has the pid of its writer, so what a killed one left can be told from what a living one is busy with.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import os
import re
import stat
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import msgspec

from claude_iterate.errors import WorkspaceProblem
from claude_iterate.system import processes

MOST = 1 << 20
"""More than any report, list or status needs."""
LARGE = 64 << 20
"""More than any text of the user or document of ours has."""
NOT_A_FOLDER = "a link or a file, not a folder"
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY
_TEMPORARY = re.compile(r"\.(?P<target>.+)\.(?P<pid>[0-9]{1,7})-[0-9a-f]{8}\.tmp")
_UNTOUCHED = 3600.0


class Found(msgspec.Struct, frozen=True):
    """The first bytes of a regular file, whether they are all of it, and how many names it has. Equal ones mean that
    the file was not written in between, not even with the same content."""

    data: bytes
    whole: bool
    inode: int
    modified: int
    names: int


def read(path: Path, most: int = MOST) -> bytes | None:
    """The content of a regular file; None for anything else, for what is missing or unreadable, and for a file of
    more than `most` bytes, because a truncated report could mislead. Use `look` for a prefix."""
    try:
        found = look(path, most)
    except OSError:
        return None
    return found.data if found.whole else None


def read_json(path: Path) -> dict[str, Any] | None:
    """The JSON object in a regular file; None for any other content. What cannot be read is an OSError."""
    with contextlib.suppress(ValueError, RecursionError):
        document = json.loads(look(path, LARGE).data)
        if isinstance(document, dict):
            return document
    return None


def names_in(folder: Path) -> list[str]:
    """What is in the folder, sorted; nothing for one that is not there or cannot be read."""
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def look(path: Path, most: int = MOST, links: bool = True) -> Found:
    """The first `most` bytes of a regular file. What cannot be read, or is not a regular file, is an OSError; so is a
    symbolic link, unless `links` may be followed."""
    try:
        handle = os.open(path, _FLAGS if links else _FLAGS | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno in (errno.ENXIO, errno.EOPNOTSUPP):
            raise _irregular(path) from None
        raise
    with open(handle, "rb") as file:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode):
            raise _irregular(path)
        data = file.read(most + 1)
    return Found(data[:most], len(data) <= most, about.st_ino, about.st_mtime_ns, about.st_nlink)


def snapshot(path: Path) -> Found | None:
    """The file now, to see afterwards whether it was written since: an old file proves nothing. One that is there and
    cannot be read, or that is far too large, is a WorkspaceProblem."""
    try:
        found = look(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise WorkspaceProblem(
            f"{path} cannot be read: {error.strerror}.", "Move it away, or check its permissions."
        ) from None
    if not found.whole:
        raise WorkspaceProblem(f"{path} is larger than {MOST >> 20} MiB.", "Move it away, or shorten it.")
    return found


def is_folder(path: Path) -> bool | None:
    """True for a real folder, False for a link or anything else in its place, None when nothing is there."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return None


def make_folder(path: Path) -> None:
    """Make the folder unless it is there. Something else in its place is an OSError."""
    if is_folder(path) is False:
        raise OSError(errno.ENOTDIR, f"{path.name}/ is {NOT_A_FOLDER}", str(path))
    path.mkdir(exist_ok=True)


def _irregular(path: Path) -> OSError:
    return OSError(errno.EINVAL, "it is not a regular file", str(path))


def temporary_name(path: Path) -> Path:
    """A hidden name beside this path, for what will be renamed to it or deleted."""
    return path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}.tmp")


@contextlib.contextmanager
def open_replacement(path: Path, private: bool = False, follow: bool = True) -> Iterator[IO[bytes]]:
    """Yields a file to write, whose `name` is temporary. Afterwards it replaces `path`; after an error nothing is left.

    A symlink is followed, or without `follow` replaced. The mode of an existing file is kept, unless the file is to be
    private.
    """
    target = Path(os.path.realpath(path)) if follow else path
    before = None
    with contextlib.suppress(OSError):
        before = None if private else target.stat().st_mode & 0o777
    # A new file of ours is as open as any other file the user makes.
    is_new = before is None and not private
    name = str(temporary_name(target))
    file = open(name, "xb", opener=lambda path, flags: os.open(path, flags, 0o666 if is_new else 0o600))
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if before is not None:
                os.fchmod(file.fileno(), before)
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


def find_abandoned(folder: Path, *targets: str, remove: bool = False, folders: bool = False) -> list[Path]:
    """Temporary files, or folders, that killed writers left in the folder; only those of `targets`, if any are named.
    What cannot be removed stays."""
    found = ((folder / name, _TEMPORARY.fullmatch(name)) for name in names_in(folder))
    ours = [(path, int(match["pid"])) for path, match in found if match and (not targets or match["target"] in targets)]
    abandoned = [
        path
        for path, pid in ours
        if (is_folder(path) if folders else path.is_file()) and (not processes.is_alive(pid) or _is_untouched(path))
    ]
    for path in abandoned if remove else ():
        with contextlib.suppress(OSError):
            path.unlink()
    return abandoned


def _is_untouched(path: Path) -> bool:
    """Neither this file or folder nor what is right in it has changed for an hour: no process is still busy with it,
    even if its pid is in use again."""
    with contextlib.suppress(OSError):
        inside = path.iterdir() if path.is_dir() else ()
        newest: float = max(entry.lstat().st_ctime for entry in (path, *inside))
        return time.time() - newest > _UNTOUCHED
    return False


def sync_folder(folder: Path) -> None:
    """Make the rename itself durable; not every file system lets us."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def refuse_links_out(paths: Iterable[Path], folders: Iterable[Path]) -> None:
    """A WorkspaceProblem for the first path, or anything in it if it is a folder, that really lies outside of all
    `folders`: what a sandbox shows, as it was before Claude could change anything."""
    for path in paths:
        for place, inner, files in itertools.chain([(os.curdir, [], [str(path)])], os.walk(path)):
            for found in (Path(place, name) for name in [*inner, *files]):
                if os.path.lexists(found) and not any(_real(found).is_relative_to(folder) for folder in folders):
                    raise WorkspaceProblem(
                        f"{found} leads out of the project, and this run is in a sandbox: it is not read for Claude.",
                        f"Put a copy in its place: cp --remove-destination {_real(found)} {found}",
                    )


def _real(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # a link to itself
        return Path(os.sep)
