"""Reads archives: compressed ones, and folders as the original made them. Nothing is written here.

A cut, damaged or hostile file is an ArchiveProblem, never a crash or a full memory.
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

from claude_iterate.errors import ArchiveProblem
from claude_iterate.workspace.archives.archive_entries import MANIFEST, Entry, parts, refused

_LARGEST_READ = 1 << 20
_FIRST_ENTRIES = 16
_LARGEST_DOCUMENT = 1 << 20
_FAULTS = (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, ValueError, OverflowError, IndexError)
"""What tarfile and gzip raise for bad bytes. An OSError is not among them: it comes from the disk."""
_KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}


class Source(Protocol):
    """Where entries and their bytes come from: a compressed archive or a folder."""

    def entries(self) -> Iterator[Entry]: ...
    def content(self, entry: Entry) -> IO[bytes]: ...


def document(source: Source, entry: Entry) -> dict[str, Any]:
    """A file of an archive that should be a JSON object; empty when it is not, or is far too large."""
    if entry.size > _LARGEST_DOCUMENT:
        return {}
    with contextlib.suppress(ValueError, RecursionError), source.content(entry) as content:
        found = json.loads(content.read(_LARGEST_DOCUMENT))
        if isinstance(found, dict):
            return found
    return {}


class FolderReader:
    """An archive of the original: the workspace copied into a folder, with a manifest beside its files."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def entries(self) -> Iterator[Entry]:
        """The folder itself, and everything below it; links are not followed."""
        yield Entry((), "folder", mode=self._path.stat().st_mode & 0o777)
        waiting: list[tuple[str, ...]] = [()]
        while waiting:
            above = waiting.pop()
            with os.scandir(self._path.joinpath(*above)) as found:
                for item in found:
                    entry = self._entry((*above, item.name), item)
                    if entry.kind == "folder":
                        waiting.append(entry.path)
                    yield entry

    def content(self, entry: Entry) -> IO[bytes]:
        """The bytes of a file."""
        return os.fdopen(os.open(entry.source, os.O_RDONLY | os.O_NOFOLLOW), "rb")

    def _entry(self, path: tuple[str, ...], item: os.DirEntry[str]) -> Entry:
        about = item.stat(follow_symlinks=False)
        kind = _KINDS.get(stat.S_IFMT(about.st_mode))
        if kind is None:
            raise refused(self._path.name, f"something that is neither file, folder nor link: {'/'.join(path)}")
        return Entry(
            path,
            kind,
            about.st_size if kind == "file" else 0,
            about.st_mode & 0o777,
            about.st_mtime,
            str(Path(item.path).readlink()) if kind == "link" else "",
            Path(item.path),
        )


class Bounded:
    """A file that refuses huge reads: tarfile reads a header of any size that the header itself claims."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.last = b""
        """What was read last."""

    def read(self, size: int = -1) -> bytes:
        """Like a file's, up to a size that no honest header asks for."""
        if not 0 <= size <= _LARGEST_READ:
            raise tarfile.ReadError("an absurd header")
        self.last = self._file.read(size)
        return self.last

    def seek(self, position: int, whence: int = 0) -> int:
        """Like a file's."""
        return self._file.seek(position, whence)

    def tell(self) -> int:
        """Like a file's."""
        return self._file.tell()


class TarReader:
    """An open compressed archive."""

    def __init__(self, path: Path, file: Bounded, tar: tarfile.TarFile) -> None:
        self.path = path
        self._file = file
        self._tar = tar
        self.top = ""
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
        found = self._tar.extractfile(entry.source)
        if found is None:
            raise refused(self.path.name, f"no content for {entry.name}")
        return found

    def manifest(self) -> dict[str, Any]:
        """The manifest, if it stands near the beginning: a list must not unpack everything to print a line."""
        for count, member in enumerate(self._tar):
            entry = self._entry(member)
            if entry.path == (MANIFEST,) and entry.kind == "file":
                return document(self, entry)
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
        if member.islnk():
            return Entry(path, "same", target="/".join(self._path(member.linkname)), **about)
        if member.type in (tarfile.REGTYPE, tarfile.AREGTYPE):
            return Entry(path, "file", member.size, **about)
        raise refused(self.path.name, f"something that is neither file, folder nor link: {member.name}")

    def _path(self, name: str) -> tuple[str, ...]:
        found = parts(self.path.name, name)
        if not found:
            return ()
        self.top = self.top or found[0]
        if found[0] != self.top:
            raise refused(self.path.name, f"more than one folder: {self.top} and {found[0]}")
        return found[1:]


@contextlib.contextmanager
def opened(path: Path) -> Iterator[TarReader]:
    """A compressed archive, open for reading. Anything wrong with its bytes becomes an ArchiveProblem."""
    try:
        # Opening a pipe or a device of that name could wait without end.
        if not path.is_file():
            raise ArchiveProblem(f"{path} is not a file.", "See what there is: claude-iterate archive list")
        with path.open("rb") as raw, gzip.GzipFile(fileobj=raw) as file:
            bounded: Any = Bounded(file)  # type: ignore[arg-type]
            with tarfile.open(fileobj=bounded, mode="r:") as tar:
                yield TarReader(path, bounded, tar)
    except _FAULTS as fault:
        raise ArchiveProblem(
            f"{path} is damaged or not an archive: {str(fault) or type(fault).__name__}.",
            "It cannot be restored. Is there another one? claude-iterate archive list",
        ) from None
