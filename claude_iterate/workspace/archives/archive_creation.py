"""Saves a workspace as a compressed archive, whole or not at all; the workspace is only read.

An archive counts as saved when it was read back from the disk and holds everything that was packed.
"""

from __future__ import annotations

import io
import json
import os
import tarfile
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

import msgspec

from claude_iterate.errors import ArchiveProblem
from claude_iterate.workspace.archives import archive_readers
from claude_iterate.workspace.archives.archive_entries import MANIFEST, NOT_OF_THE_WORK, Entry, judged, leading_outside
from claude_iterate.workspace.files import atomic
from claude_iterate.workspace.files.folders import reason
from claude_iterate.workspace.layout import Layout

ENDING = ".tar.gz"
_LONGEST_NAME = 72
"""Characters of the workspace's name in the archive's name, so that every command accepts it with time and number."""


class Saved(msgspec.Struct, frozen=True):
    """A new archive, and what the user should know about it."""

    path: Path
    outside_links: list[str]
    """Links that lead out of the workspace; they are restored only with --outside-links."""
    left_out: list[str]
    """Pipes, sockets and devices: they have no content that could be kept."""


def save(layout: Layout, archive_folder: Path) -> Saved:
    """Pack the workspace into a new archive. On failure there is no archive."""
    moment = datetime.now(UTC)
    if Path(os.path.realpath(archive_folder)).is_relative_to(os.path.realpath(layout.folder)):
        raise ArchiveProblem(
            f"The archive folder {archive_folder} lies within the workspace {layout.name!r}.",
            "Nothing was done. Put archives elsewhere: claude-iterate config paths.archive_dir FOLDER",
        )
    try:
        archive_folder.mkdir(parents=True, exist_ok=True)
        atomic.remove_abandoned(archive_folder)
        path = _free(archive_folder, f"{layout.name[:_LONGEST_NAME]}-{moment:%Y-%m-%dT%H-%M-%S}")
        packed = _Packing(layout, path.name, moment)
        with atomic.replacing(path, private=True) as file:
            packed.write(file)
            file.flush()
            os.fsync(file.fileno())
            entries = packed.read_back(Path(file.name))
    except (OSError, tarfile.TarError, RecursionError) as error:
        raise _failed(layout, archive_folder, error) from None
    return Saved(path, [entry.name for entry in leading_outside(entries)], packed.left_out)


class _Tar(tarfile.TarFile):
    """Remembers what the tar format cannot hold: tarfile skips it silently."""

    def __init__(self, *given: Any, **more: Any) -> None:
        self.skipped: list[str] = []
        super().__init__(*given, **more)

    def gettarinfo(self, name: Any = None, arcname: Any = None, fileobj: Any = None) -> tarfile.TarInfo:
        """As usual; for a socket the result is None, although the type does not say so."""
        found: Any = super().gettarinfo(name, arcname, fileobj)
        if found is None:
            self.skipped.append(str(arcname))
        return found  # type: ignore[no-any-return]


class _Packing:
    """One archive that is being written; remembers what went in."""

    def __init__(self, layout: Layout, archive_name: str, moment: datetime) -> None:
        self._layout = layout
        self._moment = moment
        self._manifest = {
            "originalName": layout.name,
            "archiveName": archive_name,
            "archivedAt": f"{moment:%Y-%m-%dT%H:%M:%SZ}",
            "archivedFrom": str(layout.folder),
        }
        self._packed: set[str] = set()
        self.left_out: list[str] = []

    def write(self, file: IO[bytes]) -> None:
        """The manifest stands first, so that a list needs to read no further."""
        # A workspace that is itself a symlink is packed by its content; links inside stay links.
        folder, name = Path(os.path.realpath(self._layout.folder)), self._layout.name
        with _Tar.open(fileobj=file, mode="w:gz", compresslevel=6, dereference=False) as archive:
            archive.add(folder, arcname=name, recursive=False)
            data = json.dumps(self._manifest, indent=2).encode()
            about = tarfile.TarInfo(f"{name}/{MANIFEST}")
            about.size, about.mtime, about.mode = len(data), int(self._moment.timestamp()), 0o644
            archive.addfile(about, io.BytesIO(data))
            # An old manifest must not hide the new one; the lock belongs to the place, not to the work.
            for child in sorted(folder.iterdir()):
                if child.name not in NOT_OF_THE_WORK:
                    archive.add(child, arcname=f"{name}/{child.name}", filter=self._wanted)
            self.left_out += [skipped.partition("/")[2] for skipped in archive.skipped]

    def read_back(self, path: Path) -> list[Entry]:
        """What the archive holds, checked to be all that was packed."""
        try:
            with archive_readers.opened(path) as reader:
                entries = judged(reader.entries(), "the archive", outside_links=True)
        except ArchiveProblem as problem:
            raise tarfile.ReadError(problem.message.rstrip(".")) from None
        there = {f"{self._layout.name}/{entry.name}" for entry in entries}
        missing = sorted(self._packed - there)
        if missing:
            raise tarfile.ReadError(f"the archive does not hold {missing[0]}")
        return entries

    def _wanted(self, member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        if member.isfifo() or member.isdev():
            self.left_out.append(member.name.partition("/")[2])
            return None
        self._packed.add(member.name)
        return member


def _failed(layout: Layout, archive_folder: Path, error: Exception) -> ArchiveProblem:
    why, hint = str(error) or type(error).__name__, f"Check the permissions and the free space of {archive_folder}"
    if isinstance(error, OSError):
        why, hint = reason(error, archive_folder)
        if error.filename and error.filename not in why:
            why += f" ({error.filename})"
    return ArchiveProblem(f"The workspace {layout.name!r} could not be archived: {why}.", f"It is untouched. {hint}")


def _free(folder: Path, stem: str) -> Path:
    """A name that is not taken; a second archive within the same second gets -2."""
    path, count = folder / f"{stem}{ENDING}", 1
    while os.path.lexists(path):
        count += 1
        path = folder / f"{stem}-{count}{ENDING}"
    return path
