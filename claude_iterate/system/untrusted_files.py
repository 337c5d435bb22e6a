"""The only way to files and folders that an agent can write: those of a project, and what others put there.

No link is ever followed. The path is walked from the root of the file system, folder by folder, each opened in the one
before, and a link anywhere on it is a LinkInTheWay. What the user names outside of a project goes through `settle`
first, which follows the user's own links. Only regular files are opened, so nothing waits for a pipe or a device, and
no more is read than asked for.

A written file is there whole or not at all: temporary file in the same folder, sync, rename. A new folder is made
beside its place and renamed; one that goes is renamed to a hidden name first. The name of a temporary file or folder
has the pid of its writer, so what a killed one left can be told from what a living one is busy with.
"""

from __future__ import annotations

import contextlib
import errno
import fnmatch
import io
import json
import os
import re
import shlex
import shutil
import stat
import time
from collections.abc import Iterator
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
_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ON_THE_WAY = _FOLDER | getattr(os, "O_PATH", os.O_RDONLY)
"""A folder on the way need not be readable."""
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_TEMPORARY = re.compile(r"\.(?P<target>.+)\.(?P<pid>[0-9]{1,7})-[0-9a-f]{8}\.tmp")
_UNTOUCHED = 3600.0
AnyPath = str | os.PathLike[str]


class NotAFile(OSError):
    """`filename` is no regular file, as it should be: nothing was read or written. `said` is that with its name."""

    def __init__(self, path: AnyPath, code: int = errno.EINVAL, what: str = "not a regular file") -> None:
        super().__init__(code, f"it is {what}", str(path))
        self.said = f"{path} is {what}"

    @property
    def hint(self) -> str:
        """What to do about it."""
        return f"Move it away: mv {shlex.quote(self.filename)} {shlex.quote(f'{self.filename}.old')}"


class LinkInTheWay(NotAFile):
    """`filename` is a link, in the place of a file or of a folder on the way to it."""

    def __init__(self, path: str) -> None:
        super().__init__(path, errno.ELOOP, "a link; claude-iterate follows none inside a project")

    @property
    def hint(self) -> str:
        """The command that puts what the link leads to in its place."""
        link, real = shlex.quote(self.filename), os.path.realpath(self.filename)
        if os.path.isdir(real):
            return f"Put a copy in its place: rm {link} && cp -R {shlex.quote(real)} {link}"
        if os.path.isfile(real):
            return f"Put a copy in its place: cp --remove-destination {shlex.quote(real)} {link}"
        return f"Remove it: rm {link}"


@contextlib.contextmanager
def _at(path: AnyPath) -> Iterator[tuple[int, str]]:
    """The folder that has the last name of the path, opened, and that name. An OSError about a name in it, here or in
    the body, is about the path."""
    *folders, last = os.path.abspath(path).split(os.sep)[1:]
    here, name, place = os.open(os.sep, _ON_THE_WAY), "", ""
    try:
        for name in folders:
            place = f"{place}/{name}"
            below = os.open(name, _ON_THE_WAY, dir_fd=here)
            os.close(here)
            here = below
        name, place = last or os.curdir, f"{place}/{last}"
        yield here, name
    except OSError as error:
        if error.filename != name:
            raise
        raise _explained(error, here, place) from None
    finally:
        os.close(here)


def _explained(error: OSError, folder: int, path: str) -> OSError:
    if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK):
        with contextlib.suppress(OSError):
            about = os.stat(error.filename, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISLNK(about.st_mode):
                return LinkInTheWay(path)
    if error.errno in (errno.ENXIO, errno.EOPNOTSUPP):
        return NotAFile(path)
    if error.errno == errno.EISDIR:
        return NotAFile(path, errno.EISDIR, "a folder, not a file")
    return OSError(error.errno, error.strerror, path)


def settle(path: AnyPath, *roots: Path) -> Path:
    """What the user named: below one of these folders as it is, because an agent may have made what is a link there;
    elsewhere without its links."""
    named = Path(os.path.abspath(path))
    for folder in (*reversed(named.parents), named):
        if (real := Path(os.path.realpath(folder))) in roots:
            return real / named.relative_to(folder)
    return Path(os.path.realpath(path))


def status(path: AnyPath) -> os.stat_result | None:
    """What there is, a link itself; None when there is nothing, or no way to it."""
    try:
        with _at(path) as (folder, name):
            return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except (OSError, ValueError):  # of a name with a null character
        return None


def exists(path: AnyPath) -> bool:
    """True when there is anything of this name, be it a link that leads nowhere."""
    return status(path) is not None


def read_link(path: AnyPath) -> str:
    """What a link says; it need not lead anywhere."""
    with _at(path) as (folder, name):
        return os.readlink(name, dir_fd=folder)


def is_file(path: AnyPath) -> bool:
    """True for a regular file."""
    about = status(path)
    return about is not None and stat.S_ISREG(about.st_mode)


def is_folder(path: AnyPath) -> bool | None:
    """True for a real folder, False for a link or anything else in its place, None when nothing is there."""
    about = status(path)
    return None if about is None else stat.S_ISDIR(about.st_mode)


def open_folder(path: AnyPath) -> int:
    """An open folder, to lock or to list it."""
    with _at(path) as (folder, name):
        return os.open(name, _FOLDER, dir_fd=folder)


@contextlib.contextmanager
def folder_handle(path: AnyPath) -> Iterator[int]:
    """The same, until the end of the block."""
    handle = open_folder(path)
    try:
        yield handle
    finally:
        os.close(handle)


@contextlib.contextmanager
def scan(folder: AnyPath) -> Iterator[Iterator[os.DirEntry[str]]]:
    """What is in the folder, as `os.scandir` gives it; the path of an entry is only its name."""
    with folder_handle(folder) as handle, os.scandir(handle) as entries:
        yield entries


def names_in(folder: AnyPath) -> list[str]:
    """What is in the folder, sorted; nothing for one that is not there or cannot be read."""
    try:
        with scan(folder) as entries:
            return sorted(entry.name for entry in entries)
    except OSError:
        return []


def find(folder: Path, pattern: str) -> list[Path]:
    """What has such a name, sorted; a slash leads into real folders, and a star stands for no hidden name."""
    first, _, rest = pattern.partition("/")
    is_plain = not any(sign in first for sign in "*?[")
    named = [] if is_plain else fnmatch.filter(names_in(folder), first)
    names = [first] if is_plain else [name for name in named if first[0] == "." or name[0] != "."]
    if rest:
        return [path for name in names for path in find(folder / name, rest)]
    return [folder / name for name in names if not is_plain or exists(folder / name)]


def find_absolute(pattern: AnyPath) -> list[Path]:
    """The same for a path with stars anywhere in it."""
    return find(Path(os.sep), os.path.abspath(pattern)[1:])


class Found(msgspec.Struct, frozen=True):
    """The first bytes of a regular file, whether they are all of it, and how many names it has. Equal ones mean that
    the file was not written in between, not even with the same content."""

    data: bytes
    whole: bool
    inode: int
    modified: int
    names: int


def open_handle(path: AnyPath, flags: int = os.O_RDONLY, mode: int = 0o666) -> int:
    """A regular file, opened; anything else is an OSError."""
    with _at(path) as (folder, name):
        handle = os.open(name, flags | _FILE, mode, dir_fd=folder)
    kind = os.fstat(handle).st_mode
    if not stat.S_ISREG(kind):
        os.close(handle)
        raise NotAFile(path, errno.EISDIR, "a folder, not a file") if stat.S_ISDIR(kind) else NotAFile(path)
    return handle


def open_file(path: AnyPath) -> io.BufferedReader:
    """A regular file to read, however long; anything else is an OSError."""
    return open(open_handle(path), "rb")


def look(path: AnyPath, most: int = MOST) -> Found:
    """The first `most` bytes of a regular file. What cannot be read, or is not a regular file, is an OSError."""
    with open_file(path) as file:
        about = os.fstat(file.fileno())
        data = file.read(most + 1)
    return Found(data[:most], len(data) <= most, about.st_ino, about.st_mtime_ns, about.st_nlink)


def read(path: AnyPath, most: int = MOST) -> bytes | None:
    """The content of a regular file; None for anything else, for what is missing or unreadable, and for a file of
    more than `most` bytes, because a truncated report could mislead. Use `look` for a prefix."""
    try:
        found = look(path, most)
    except (OSError, ValueError):
        return None
    return found.data if found.whole else None


def read_json(path: AnyPath) -> dict[str, Any] | None:
    """The JSON object in a regular file; None for any other content. What cannot be read is an OSError."""
    with contextlib.suppress(ValueError, RecursionError):
        document = json.loads(look(path, LARGE).data)
        if isinstance(document, dict):
            return document
    return None


def snapshot(path: Path) -> Found | None:
    """The file now, to see afterwards whether it was written since: an old file proves nothing. One that is there and
    cannot be read, or that is far too large, is a WorkspaceProblem."""
    try:
        found = look(path)
    except FileNotFoundError:
        return None
    except NotAFile as other:
        raise WorkspaceProblem(f"{other.said}.", other.hint) from None
    except OSError as error:
        raise WorkspaceProblem(
            f"{path} cannot be read: {error.strerror}.", "Move it away, or check its permissions."
        ) from None
    if not found.whole:
        raise WorkspaceProblem(f"{path} is larger than {MOST >> 20} MiB.", "Move it away, or shorten it.")
    return found


def temporary_name(path: Path) -> Path:
    """A hidden name beside this path, for what will be renamed to it or deleted."""
    return path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}.tmp")


@contextlib.contextmanager
def open_replacement(path: Path, private: bool = False) -> Iterator[IO[bytes]]:
    """Yields a file to write and read. Afterwards it replaces `path`, and a link of that name; after an error nothing
    is left. The mode of an existing file is kept, unless the file is to be private."""
    about = None if private else status(path)
    before = about.st_mode & 0o777 if about is not None and stat.S_ISREG(about.st_mode) else None
    # A new file of ours is as open as any other file the user makes.
    mode = 0o666 if before is None and not private else 0o600
    temporary = temporary_name(path).name
    with _at(path) as (folder, name):
        try:
            handle = os.open(temporary, _FILE | os.O_RDWR | os.O_CREAT | os.O_EXCL, mode, dir_fd=folder)
            with open(handle, "w+b") as file:
                yield file
                file.flush()
                os.fsync(handle)
                if before is not None:
                    os.fchmod(handle, before)
            os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException as error:
            with contextlib.suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            if isinstance(error, OSError) and error.errno and error.filename in {None, temporary}:
                error.filename = str(path)  # a full disk names no file, and the temporary name means nothing to users
            raise
    sync_folder(path.parent)


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


def write_new(path: Path, text: str) -> None:
    """Write a file that is not there yet; anything of that name is a FileExistsError."""
    with open(open_handle(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "w", encoding="utf-8") as file:
        file.write(text)


def make_folder(path: Path, parents: bool = False) -> None:
    """Make the folder unless it is there. Something else in its place is an OSError."""
    try:
        with _at(path) as (folder, name):
            os.mkdir(name, dir_fd=folder)
    except FileNotFoundError:
        if not parents:
            raise
        make_folder(path.parent, parents=True)
        make_folder(path)
    except FileExistsError:
        if not is_folder(path):
            raise OSError(errno.ENOTDIR, f"{path.name}/ is {NOT_A_FOLDER}", str(path)) from None


@contextlib.contextmanager
def new_folder(folder: Path, mode: int | None = None) -> Iterator[Path]:
    """Yields a folder to fill; afterwards it becomes `folder`. After an error nothing is left of it."""
    make_folder(folder.parent, parents=True)
    made = temporary_name(folder)
    with _at(made) as (parent, name):
        os.mkdir(name, 0o700, dir_fd=parent)
    try:
        yield made
        # Private until it is whole; then it gets the mode of its parent, unless the caller gives one.
        about = status(folder.parent)
        with folder_handle(made) as handle:
            os.fchmod(handle, about.st_mode & 0o777 if mode is None and about is not None else mode or 0o700)
        # This fails if another process made the folder meanwhile, because what we make is never empty.
        rename(made, folder)
    finally:
        remove_folder(made, ignore_errors=True)


def rename(path: Path, target: Path) -> None:
    """Give what is there another name, instead of what has that one now; a link is moved itself."""
    with _at(path) as (folder, name), _at(target) as (other, new):
        os.replace(name, new, src_dir_fd=folder, dst_dir_fd=other)


def unlink(path: AnyPath, missing_ok: bool = False) -> None:
    """Remove a file, or a link itself."""
    with contextlib.suppress(*[FileNotFoundError] * missing_ok), _at(path) as (folder, name):
        os.unlink(name, dir_fd=folder)


def remove_folder(path: AnyPath, ignore_errors: bool = False) -> None:
    """Remove a real folder with all that is in it; of links the links alone."""
    with contextlib.suppress(*[OSError] * ignore_errors), _at(path) as (folder, name):
        shutil.rmtree(name, ignore_errors, dir_fd=folder)


def remove(path: Path) -> None:
    """Delete a file or folder. It is renamed first, so that no list ever shows half of it."""
    # Renamed within its parent: a read-only folder cannot be moved into another one.
    here, hidden = path, temporary_name(path)
    try:
        if not is_folder(path):
            unlink(path)
            return
        rename(path, hidden)
        here = hidden
        remove_folder(hidden)
    except OSError as error:
        raise WorkspaceProblem(
            f"{here} could not be deleted: {error.strerror}.",
            f"Check the permissions of {here.parent} and what is in it, then delete {here} by hand.",
        ) from None


def find_abandoned(folder: Path, *targets: str, remove: bool = False, folders: bool = False) -> list[Path]:
    """Temporary files, or folders, that killed writers left in the folder; only those of `targets`, if any are named.
    What cannot be removed stays."""
    found = ((folder / name, _TEMPORARY.fullmatch(name)) for name in names_in(folder))
    ours = [(path, int(match["pid"])) for path, match in found if match and (not targets or match["target"] in targets)]
    abandoned = [
        path
        for path, pid in ours
        if (is_folder(path) if folders else is_file(path)) and (not processes.is_alive(pid) or _is_untouched(path))
    ]
    for path in abandoned if remove else ():
        with contextlib.suppress(OSError):
            unlink(path)
    return abandoned


def _is_untouched(path: Path) -> bool:
    """Neither this file or folder nor what is right in it has changed for an hour: no process is still busy with it,
    even if its pid is in use again."""
    about = [status(place) for place in (path, *(path / name for name in names_in(path)))]
    return time.time() - max((it.st_ctime for it in about if it is not None), default=time.time()) > _UNTOUCHED


def sync_folder(folder: Path) -> None:
    """Make the rename itself durable; not every file system lets us."""
    with contextlib.suppress(OSError), folder_handle(folder) as handle:
        os.fsync(handle)
