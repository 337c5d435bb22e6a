"""What an archive holds, judged as a whole before any of it is written. Nothing is written here.

An archive may come from anywhere. Only files, folders and symlinks below one folder are taken out of it; a name that
leads elsewhere, a hard link, a device or an absurd size makes us refuse all of it. A cut or damaged file is an
ArchiveProblem, never a crash or a full memory.

`tarfile.data_filter` is not used: it had five CVEs in 2025 (python/cpython#135034) and further bypasses since, and it
judges one member at a time while others are already on the disk.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import stat
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Protocol

import msgspec

from claude_iterate.errors import ArchiveProblem

MOST_ENTRIES = 200_000
MOST_BYTES = 1 << 40
DEEPEST = 200
"""Programs that recurse per folder cannot delete deeper trees."""
_LARGEST_READ = 1 << 20
_FIRST_ENTRIES = 16
_LARGEST_DOCUMENT = 1 << 20
_FAULTS = (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, ValueError, OverflowError, IndexError)
"""What tarfile and gzip raise for bad bytes. An OSError is not among them: it comes from the disk."""

MANIFEST = ".archived.json"
NOT_OF_THE_WORK = frozenset({MANIFEST, ".lock"})
"""At the top of an archive: what describes the archive, or belongs to the old place of the workspace."""


class Entry(msgspec.Struct, frozen=True):
    """One thing in an archive. `path` is relative to the workspace, in parts; that of the workspace itself is empty."""

    path: tuple[str, ...]
    kind: str
    """file, folder or link (a symlink)."""
    size: int = 0
    mode: int = 0o644
    modified: float = 0.0
    target: str = ""
    source: Any = None
    """Where the content is; only the reader that made the entry uses it."""

    @property
    def name(self) -> str:
        """The path as one text."""
        return "/".join(self.path)

    @property
    def leads_outside(self) -> bool:
        """A link that leads, or may lead, out of the workspace. One that stays inside goes up through real folders
        first, then down; the links that it meets on the way down stay inside as well."""
        if self.kind != "link":
            return False
        if not self.target or self.target.startswith("/") or "\0" in self.target:
            return True
        steps = [step for step in self.target.split("/") if step not in {"", "."}]
        up = next((number for number, step in enumerate(steps) if step != ".."), len(steps))
        return ".." in steps[up:] or up >= len(self.path)


class Source(Protocol):
    """Where entries and their bytes come from: a compressed archive or a folder."""

    def entries(self) -> Iterator[Entry]: ...
    def content(self, entry: Entry) -> IO[bytes]: ...


def checked_entries(source: Source, archive: str, room: int = MOST_BYTES, outside_links: bool = False) -> list[Entry]:
    """All entries, or an ArchiveProblem: nothing of a bad archive is used. `room` is how many bytes may come out."""
    entries: list[Entry] = []
    size = 0
    for entry in source.entries():
        entries.append(entry)
        size += entry.size
        if len(entries) > MOST_ENTRIES:
            raise _refused(archive, f"more than {MOST_ENTRIES:,} files")
        if entry.size < 0 or size > MOST_BYTES:
            raise _refused(archive, f"an absurd size at {entry.name}")
        if size > room:
            raise ArchiveProblem(
                f"{archive} does not fit: it needs more than the {room / 1e6:,.0f} MB that are free.",
                "Nothing was written. Make room, then try again.",
            )
    _check_places(entries, archive)
    escaping = [] if outside_links else [entry for entry in entries if entry.leads_outside]
    if escaping:
        link, more = escaping[0], f" and {len(escaping) - 1} more" if len(escaping) > 1 else ""
        raise ArchiveProblem(
            f"{archive} is refused: it holds a link that leads outside: {link.name} -> {link.target}{more}.",
            "Nothing was written. If the archive is your own and the link is meant, add --outside-links",
        )
    return entries


def _check_places(entries: list[Entry], archive: str) -> None:
    """Each path occurs once and only below folders."""
    kinds: dict[tuple[str, ...], str] = {(): "folder"}
    for entry in entries:
        before = kinds.get(entry.path)
        if before is not None and not before == entry.kind == "folder":
            raise _refused(archive, f"{entry.name or 'its top folder'} twice, or not as a folder")
        kinds[entry.path] = entry.kind
    folders: set[tuple[str, ...]] = {()}
    for entry in entries:
        above = entry.path[:-1]
        while above not in folders:
            if kinds.get(above, "folder") != "folder":
                raise _refused(archive, f"{entry.name}, which lies below something that is not a folder")
            folders.add(above)
            above = above[:-1]


def read_document(source: Source, entry: Entry) -> dict[str, Any]:
    """A file of an archive that should be a JSON object; empty when it is not, or is far too large."""
    if entry.size > _LARGEST_DOCUMENT:
        return {}
    with contextlib.suppress(ValueError, RecursionError), source.content(entry) as content:
        document = json.loads(content.read(_LARGEST_DOCUMENT))
        if isinstance(document, dict):
            return document
    return {}


class FolderReader:
    """An archive of the original: the workspace copied into a folder, with a manifest beside its files."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def entries(self) -> Iterator[Entry]:
        """The folder itself, and everything below it; links are not followed."""
        yield self._entry(self._path)
        for folder, names, files in os.walk(self._path, onerror=_fail):
            for name in (*names, *files):
                yield self._entry(Path(folder, name))

    def content(self, entry: Entry) -> IO[bytes]:
        """The bytes of a file."""
        return os.fdopen(os.open(entry.source, os.O_RDONLY | os.O_NOFOLLOW), "rb")

    def _entry(self, path: Path) -> Entry:
        about = path.lstat()
        mode, parts = about.st_mode, path.relative_to(self._path).parts
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)):
            raise _irregular(self._path.name, "/".join(parts))
        return Entry(
            parts,
            "folder" if stat.S_ISDIR(mode) else "link" if stat.S_ISLNK(mode) else "file",
            about.st_size if stat.S_ISREG(mode) else 0,
            mode & 0o777,
            about.st_mtime,
            str(path.readlink()) if stat.S_ISLNK(mode) else "",
            path,
        )


def _fail(error: OSError) -> None:
    raise error


class _BoundedGzip(gzip.GzipFile):
    """Refuses huge reads: tarfile reads a header of any size that the header itself claims."""

    last = b""
    """What was read last."""

    def read(self, size: int | None = -1) -> bytes:
        """As usual, up to a size that no honest header asks for."""
        if size is None or not 0 <= size <= _LARGEST_READ:
            raise tarfile.ReadError("an absurd header")
        self.last = super().read(size)
        return self.last


class TarReader:
    """An open compressed archive."""

    def __init__(self, path: Path, file: _BoundedGzip, tar: tarfile.TarFile) -> None:
        self._name = path.name
        self._file = file
        self._tar = tar
        self._top = ""
        """The one folder that everything is in; known when entries were read."""

    def entries(self) -> Iterator[Entry]:
        """Everything in it, in its order, to the very end of the file."""
        for member in self._tar:
            yield self._entry(member)
        # tarfile takes a damaged header for the end, and gzip checks the checksum only at the very end.
        rest = self._file.last
        while rest:
            if rest.strip(b"\0"):
                raise tarfile.ReadError("more data after the end")
            rest = self._file.read(_LARGEST_READ)

    def content(self, entry: Entry) -> IO[bytes]:
        """The bytes of a file."""
        content = self._tar.extractfile(entry.source)
        assert content is not None  # so it is for all that is no file
        return content

    def manifest(self) -> dict[str, Any]:
        """The manifest, if it stands near the beginning: a list must not unpack everything to print a line."""
        for count, member in enumerate(self._tar):
            entry = self._entry(member)
            if entry.path == (MANIFEST,) and entry.kind == "file":
                return read_document(self, entry)
            if count > _FIRST_ENTRIES or member.offset + max(0, member.size) > _LARGEST_READ:
                break
        return {}

    def _entry(self, member: tarfile.TarInfo) -> Entry:
        path = self._path(member.name)
        about: dict[str, Any] = {"mode": member.mode & 0o777, "modified": float(member.mtime), "source": member}
        if member.isdir():
            return Entry(path, "folder", **about)
        if member.issym():
            return Entry(path, "link", target=member.linkname, **about)
        if member.type in (tarfile.REGTYPE, tarfile.AREGTYPE):
            return Entry(path, "file", member.size, **about)
        raise _irregular(self._name, member.name)

    def _path(self, name: str) -> tuple[str, ...]:
        """A name in the archive, in parts below its top folder."""
        if name.startswith("/"):
            raise _refused(self._name, f"an absolute path: {name}")
        parts = tuple(part for part in name.split("/") if part not in {"", "."})
        if ".." in parts:
            raise _refused(self._name, f"a path that leads outside: {name}")
        if "\0" in name or len(parts) > DEEPEST:
            raise _refused(self._name, f"an impossible path: {name[:60]}")
        if not parts:
            return ()
        self._top = self._top or parts[0]
        if parts[0] != self._top:
            raise _refused(self._name, f"more than one folder: {self._top} and {parts[0]}")
        return parts[1:]


@contextlib.contextmanager
def open_tar(path: Path) -> Iterator[TarReader]:
    """A compressed archive, open for reading. Anything wrong with its bytes becomes an ArchiveProblem."""
    try:
        # Opening a pipe or a device of that name could wait without end.
        if not path.is_file():
            raise ArchiveProblem(f"{path} is not a file.", "See what there is: claude-iterate archive list")
        with path.open("rb") as raw, _BoundedGzip(fileobj=raw) as file, tarfile.open(fileobj=file, mode="r:") as tar:
            yield TarReader(path, file, tar)
    except _FAULTS as fault:
        raise ArchiveProblem(
            f"{path} is damaged or not an archive: {str(fault) or type(fault).__name__}.",
            "It cannot be restored. Is there another one? claude-iterate archive list",
        ) from None


def _irregular(archive: str, name: str) -> ArchiveProblem:
    return _refused(archive, f"something that is neither file, folder nor link: {name}")


def _refused(archive: str, what: str) -> ArchiveProblem:
    return ArchiveProblem(
        f"{archive} is refused: it holds {what}.",
        "Nothing was written. claude-iterate does not make such archives; find out where it comes from.",
    )
