"""What an archive holds: packed from a folder, and judged as a whole before any of it is used.

An archive may come from anywhere. Only files, folders and symlinks below one folder are taken out of it; a name that
leads elsewhere, a hard link, a device or an absurd size makes us refuse all of it. A cut or damaged file is an
ArchiveProblem, never a crash or a full memory. tarfile's own filter judges one member while others are on the disk
already; here all have been judged before the first is written.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import stat
import tarfile
import tempfile
import time
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

from claude_iterate.errors import ArchiveProblem
from claude_iterate.system import untrusted_files
from claude_iterate.system.file_errors import explain_errors

MOST_ENTRIES = 200_000
DEEPEST = 200
"""Programs that recurse per folder cannot delete deeper trees."""
_LARGEST_READ = 1 << 20
_FAULTS = (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, ValueError, OverflowError, IndexError)
"""What tarfile and gzip raise for bad bytes. An OSError is not among them: it comes from the disk."""

TOP = PurePosixPath()
MANIFEST = PurePosixPath(".archived.json")
METADATA = PurePosixPath(".metadata.json")
NOT_OF_THE_WORK = frozenset({TOP, MANIFEST, PurePosixPath(".lock")})
"""What describes the archive, or belongs to the old place of the workspace."""


def pack(folder: Path, name: PurePosixPath, manifest: bytes, file: IO[bytes]) -> set[PurePosixPath]:
    """Pack the folder under this name, and say what was packed. What has no content (pipes, sockets, devices) is left
    out. The manifest comes first, so that a list needs to read no further."""
    packed: set[PurePosixPath] = set()

    def add(inside: PurePosixPath) -> None:
        path = folder / inside
        about = untrusted_files.status(path)
        if about is None or inside in NOT_OF_THE_WORK - {TOP}:
            return
        member = tarfile.TarInfo(f"{name / inside}")
        member.mode, member.mtime = stat.S_IMODE(about.st_mode), about.st_mtime
        if stat.S_ISREG(about.st_mode):
            with untrusted_files.open_file(path) as content:
                member.size = os.fstat(content.fileno()).st_size
                tar.addfile(member, content)
        elif stat.S_ISLNK(about.st_mode):
            member.type, member.linkname = tarfile.SYMTYPE, untrusted_files.read_link(path)
            tar.addfile(member)
        elif stat.S_ISDIR(about.st_mode):
            member.type = tarfile.DIRTYPE
            tar.addfile(member)
            with untrusted_files.scan(path) as entries:
                names = sorted(entry.name for entry in entries)
            for below in names:
                add(inside / below)
        else:
            return
        packed.add(inside)

    with tarfile.open(fileobj=file, mode="w:gz", compresslevel=6) as tar:
        about = tarfile.TarInfo(f"{name}/{MANIFEST}")
        about.size, about.mtime = len(manifest), time.time()
        tar.addfile(about, io.BytesIO(manifest))
        add(TOP)
    return packed


def _has_content(member: tarfile.TarInfo) -> bool:
    return member.isreg() or member.isdir() or member.issym()


def leads_outside(path: PurePosixPath, member: tarfile.TarInfo) -> bool:
    """A link that leads, or may lead, out of the workspace. One that stays inside goes up through real folders first,
    then down; the links that it meets on the way down stay inside as well."""
    target = member.linkname
    if not member.issym():
        return False
    if not target or target.startswith("/") or "\0" in target:
        return True
    steps = PurePosixPath(target).parts
    up = next((number for number, step in enumerate(steps) if step != ".."), len(steps))
    return ".." in steps[up:] or up >= len(path.parts)


class ArchiveReader:
    """An open archive."""

    def __init__(self, name: str, file: _BoundedGzip, tar: tarfile.TarFile) -> None:
        self._name = name
        self._file = file
        self._tar = tar
        self._top = ""
        """The one folder that everything is in."""

    def members(self) -> dict[PurePosixPath, tarfile.TarInfo]:
        """All that it holds, by its path below the top folder, or an ArchiveProblem: nothing of a bad archive is
        used."""
        members: dict[PurePosixPath, tarfile.TarInfo] = {}
        for member in self._tar:
            path = self._path(member)
            before = members.get(path)
            if (before or path == TOP) and not (member.isdir() and (before or member).isdir()):
                raise _refused(self._name, f"{path} twice, or not as a folder")
            members[path] = member
            if len(members) > MOST_ENTRIES:
                raise _refused(self._name, f"more than {MOST_ENTRIES:,} files")
        self._check_end()
        for path in members:
            if any(above in members and not members[above].isdir() for above in path.parents):
                raise _refused(self._name, f"{path}, which lies below something that is not a folder")
        return members

    def extract(self, members: dict[PurePosixPath, tarfile.TarInfo], folder: Path) -> None:
        """Write these members below `folder`, the links last: nothing can be written through one. They belong to the
        user, who can always read and delete them; setuid and sticky bits are dropped."""
        for path, member in members.items():
            member.name = str(path)
            member.mode = member.mode & 0o777 | (0o700 if member.isdir() else 0o400)
            member.uid, member.gid, member.uname, member.gname = os.geteuid(), os.getegid(), "", ""
        self._tar.extraction_filter = lambda member, _folder: member
        inside = sorted(members.values(), key=tarfile.TarInfo.issym)
        self._tar.extractall(folder, inside)  # noqa: S202 - all of them were judged

    def document(self, member: tarfile.TarInfo) -> dict[str, Any]:
        """A file that should be a JSON object; empty when it is not, or is far too large."""
        if member.isreg() and member.size <= _LARGEST_READ:
            with contextlib.suppress(ValueError, RecursionError):
                document = json.load(cast("IO[bytes]", self._tar.extractfile(member)))
                return document if isinstance(document, dict) else {}
        return {}

    def manifest(self) -> dict[str, Any]:
        """The manifest, if it is near the beginning: a list must not unpack everything to print a line."""
        for member in self._tar:
            if self._path(member) == MANIFEST:
                return self.document(member)
            if member.offset + member.size > _LARGEST_READ:
                break
        return {}

    def _path(self, member: tarfile.TarInfo) -> PurePosixPath:
        """Where the member belongs, below the top folder."""
        path = PurePosixPath(member.name)
        if not _has_content(member):
            raise _refused(self._name, f"something that is neither file, folder nor link: {path}")
        if path.is_absolute() or ".." in path.parts:
            raise _refused(self._name, f"a path that leads outside: {path}")
        if member.size < 0:
            raise _refused(self._name, f"an absurd size at {path}")
        if "\0" in member.name or len(path.parts) > DEEPEST:
            raise _refused(self._name, f"an impossible path: {member.name[:60]}")
        top, *below = path.parts or ("",)
        self._top = self._top or top
        if top not in {"", self._top}:
            raise _refused(self._name, f"more than one folder: {self._top} and {top}")
        return PurePosixPath(*below)

    def _check_end(self) -> None:
        """tarfile takes a damaged header for the end, and gzip checks the checksum only at the very end."""
        self._file.seek(self._tar.offset)
        while rest := self._file.read(_LARGEST_READ):
            if rest.strip(b"\0"):
                raise tarfile.ReadError("more data after the end")


class _BoundedGzip(gzip.GzipFile):
    """Refuses huge reads: tarfile reads a header of any size that the header itself claims."""

    def read(self, size: int | None = -1) -> bytes:
        """As usual, up to a size that no honest header asks for."""
        if size is None or not 0 <= size <= _LARGEST_READ:
            raise tarfile.ReadError("an absurd header")
        return super().read(size)


@contextlib.contextmanager
def open_archive(path: Path, opened: IO[bytes] | None = None) -> Iterator[ArchiveReader]:
    """An archive, perhaps `opened` already, to read. Anything wrong with its bytes becomes an ArchiveProblem."""
    packed = contextlib.nullcontext(opened) if opened is not None else _open_packed(path)
    try:
        with packed as raw, _BoundedGzip(fileobj=raw) as file, tarfile.open(fileobj=file, mode="r:") as tar:
            yield ArchiveReader(path.name, file, tar)
    except _FAULTS as fault:
        raise ArchiveProblem(
            f"{path} is damaged or not an archive: {str(fault) or type(fault).__name__}.",
            "It cannot be restored. Is there another one? claude-iterate archive list",
        ) from None


def _open_packed(path: Path) -> IO[bytes]:
    """The compressed archive. One of the original is the workspace copied into a folder: it is packed first."""
    if not untrusted_files.is_folder(path):
        with explain_errors(ArchiveProblem, f"{path} cannot be read", path.parent):
            return untrusted_files.open_file(path)
    manifest = folder_manifest(path)
    with contextlib.ExitStack() as opened, explain_errors(ArchiveProblem, f"{path} cannot be packed", path):
        file = opened.enter_context(tempfile.TemporaryFile())
        pack(path, PurePosixPath(path.name), manifest, file)
        file.seek(0)
        opened.pop_all()
        return file


def folder_manifest(path: Path) -> bytes:
    """The manifest of an archive of the original, which wrote it last; without it the copy was cut off."""
    with explain_errors(ArchiveProblem, f"{path} cannot be read", path.parent), contextlib.suppress(FileNotFoundError):
        return untrusted_files.look(path / MANIFEST, _LARGEST_READ).data
    raise ArchiveProblem(
        f"{path} is only half an archive: it has no {MANIFEST}.", f"Take what you need from it by hand: {path}"
    )


def _refused(archive: str, what: str) -> ArchiveProblem:
    return ArchiveProblem(
        f"{archive} is refused: it holds {what}.",
        "Nothing was written. claude-iterate does not make such archives; find out where it comes from.",
    )
