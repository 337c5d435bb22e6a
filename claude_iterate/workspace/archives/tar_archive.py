"""Reads a compressed archive. A cut, damaged or hostile file is an ArchiveProblem, never a crash or a full memory."""

from __future__ import annotations

import contextlib
import gzip
import json
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from claude_iterate.errors import ArchiveProblem
from claude_iterate.workspace.archives.archive_entries import MANIFEST, Entry, parts, refused

_LARGEST_READ = 1 << 20
_GLANCE_ENTRIES = 16
_LARGEST_DOCUMENT = 1 << 20
_FAULTS = (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, ValueError, OverflowError, IndexError)
"""What tarfile and gzip raise for bad bytes. OSErrors proper are told apart: they are the disk's."""


class Bounded:
    """A file that refuses huge reads: tarfile reads a header of any size that the header itself claims."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        """Like a file's; only as much as somebody honest would ask for."""
        if not 0 <= size <= _LARGEST_READ:
            raise tarfile.ReadError("an absurd header")
        return self._file.read(size)

    def seek(self, position: int, whence: int = 0) -> int:
        """Like a file's."""
        return self._file.seek(position, whence)

    def tell(self) -> int:
        """Like a file's."""
        return self._file.tell()


class TarReader:
    """One open archive."""

    def __init__(self, path: Path, file: IO[bytes], tar: tarfile.TarFile) -> None:
        self.path = path
        self._file = file
        self._tar = tar
        self.top = ""
        """The one folder that everything is in; known when entries were read."""

    def entries(self) -> Iterator[Entry]:
        """Everything in it, in its order, to the very end of the file."""
        for member in self._members():
            yield self._entry(member)
        # tarfile takes a damaged header for the end; and the checksum is known only to who reads that far.
        while rest := self._file.read(_LARGEST_READ):
            if rest.strip(b"\0"):
                raise tarfile.ReadError("more data after the end")

    def content(self, entry: Entry) -> IO[bytes]:
        """The bytes of a file."""
        found = self._tar.extractfile(entry.source)
        if found is None:
            raise refused(self.path.name, f"no content for {entry.name}")
        return found

    def document(self, entry: Entry) -> dict[str, Any]:
        """A file in it that should be a JSON object; empty when it is none."""
        if entry.size > _LARGEST_DOCUMENT:
            return {}
        with contextlib.suppress(ValueError, RecursionError):
            found = json.loads(self.content(entry).read(_LARGEST_DOCUMENT))
            if isinstance(found, dict):
                return found
        return {}

    def glance(self) -> dict[str, Any]:
        """The manifest, if it stands near the beginning: a list must not unpack everything to print a line."""
        for count, member in enumerate(self._members()):
            entry = self._entry(member)
            if entry.path == (MANIFEST,) and entry.kind == "file":
                return self.document(entry)
            if count > _GLANCE_ENTRIES or member.offset + max(0, member.size) > _LARGEST_READ:
                break
        return {}

    def _members(self) -> Iterator[tarfile.TarInfo]:
        while (member := self._tar.next()) is not None:
            yield member

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
        try:
            found = parts(name)
        except ValueError as wrong:
            raise refused(self.path.name, str(wrong)) from None
        if not found:
            return ()
        self.top = self.top or found[0]
        if found[0] != self.top:
            raise refused(self.path.name, f"more than one folder: {self.top} and {found[0]}")
        return found[1:]


@contextlib.contextmanager
def opened(path: Path) -> Iterator[TarReader]:
    """The archive, open for reading. Whatever is wrong with its bytes becomes an ArchiveProblem."""
    try:
        # A pipe or a device of that name would keep us waiting for ever.
        if not path.is_file():
            raise ArchiveProblem(f"{path} is no file.", "See what there is: claude-iterate archive list")
        with path.open("rb") as raw, gzip.GzipFile(fileobj=raw) as file:
            bounded: Any = Bounded(file)  # type: ignore[arg-type]
            with tarfile.open(fileobj=bounded, mode="r:") as tar:
                yield TarReader(path, file, tar)  # type: ignore[arg-type]
    except _FAULTS as fault:
        raise ArchiveProblem(
            f"{path} is damaged or no archive: {str(fault) or type(fault).__name__}.",
            "It cannot be restored. Is there another one? claude-iterate archive list",
        ) from None
