"""The archives of a project: list, find and save them. Those of the original, which are folders, are only read.

An archive is saved whole or not at all, and the workspace is only read. It counts as saved when it was read back from
the disk and holds everything that was packed.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import stat
import tarfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

import msgspec

from claude_iterate.core import names
from claude_iterate.errors import ArchiveProblem
from claude_iterate.workspace.archive_contents import MANIFEST, NOT_OF_THE_WORK, Entry, checked_entries, open_tar
from claude_iterate.workspace.files import atomic
from claude_iterate.workspace.files.folders import reason
from claude_iterate.workspace.layout import Layout

ENDING = ".tar.gz"
_LONGEST_NAME = 72
"""Characters of the workspace's name in the archive's name, so that every command accepts it with time and number."""
_STAMP = re.compile(r"(?P<name>.+)-(?P<date>\d{4}-\d\d-\d\d)T(?P<time>\d\d-\d\d-\d\d)(-\d+)?")


class Archive(msgspec.Struct, frozen=True):
    """One archive. `problem` says why it cannot be used, if so."""

    path: Path
    manifest: dict[str, Any]
    problem: str = ""

    @property
    def name(self) -> str:
        """Its name, without the ending."""
        return self.path.name.removesuffix(ENDING)

    @property
    def is_folder(self) -> bool:
        """True for one that the original made."""
        return not self.path.name.endswith(ENDING)

    @property
    def workspace(self) -> str:
        """The name of the workspace that was archived, as far as known."""
        name = self.manifest.get("originalName")
        if isinstance(name, str) and name:
            return name
        stamped = _STAMP.fullmatch(self.name)
        return stamped["name"] if stamped else self.name

    @property
    def size(self) -> int | None:
        """Bytes on the disk of a compressed one; a folder would have to be walked."""
        with contextlib.suppress(OSError):
            return None if self.is_folder else self.path.stat().st_size
        return None

    @property
    def moment(self) -> datetime:
        """When it was made: by its manifest, else its name, else its file."""
        stamped = _STAMP.fullmatch(self.name)
        by_name = f"{stamped['date']}T{stamped['time'].replace('-', ':')}Z" if stamped else ""
        for text in (self.manifest.get("archivedAt"), by_name):
            with contextlib.suppress(ValueError, TypeError):
                moment = datetime.fromisoformat(text)  # type: ignore[arg-type]
                return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return datetime.fromtimestamp(_modified(self.path), UTC)


def list_archives(folder: Path) -> list[Archive]:
    """All archives, newest first. What has a name that no command accepts is left out."""
    try:
        with os.scandir(folder) as entries:
            paths = [Path(entry.path) for entry in entries if _is_archive(entry)]
    except FileNotFoundError:
        return []
    except OSError as error:
        why, hint = reason(error, folder)
        raise ArchiveProblem(f"The archives cannot be listed: {why}.", hint) from None
    return sorted(
        map(_read, paths), key=lambda archive: (archive.moment, _modified(archive.path), archive.name), reverse=True
    )


def list_names(folder: Path) -> list[str]:
    """The names of all archives, without reading any."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        return sorted(entry.name.removesuffix(ENDING) for entry in entries if _is_archive(entry))
    return []


def checked_name(name: str) -> str:
    """The name of an archive, with or without its ending, or a UsageProblem."""
    names.check_name(name.removesuffix(ENDING), "archive")
    return name


def find(folder: Path, name: str, or_newest: bool = False) -> Archive:
    """The archive of this name, with or without its ending; or, if asked for, the newest of a workspace."""
    checked_name(name)
    path = folder / name
    if name.endswith(ENDING) or not path.is_dir():
        path = folder / (name.removesuffix(ENDING) + ENDING)
    if os.path.lexists(path):
        return _read(path)
    known = list_archives(folder)
    newest = next((archive for archive in known if archive.workspace == name), None)
    if newest is not None and or_newest:
        return newest
    near = [archive.name for archive in known if archive.name.startswith(f"{name}-")][:3]
    meant = (
        f"Did you mean {' or '.join(near)}? " if near else names.did_you_mean(name, [archive.name for archive in known])
    )
    raise ArchiveProblem(f"Archive not found: {name}", f"{meant}See: claude-iterate archive list")


def _read(path: Path) -> Archive:
    """The archive with its manifest, or with the problem that keeps it from being used."""
    try:
        if path.name.endswith(ENDING):
            with open_tar(path) as reader:
                return Archive(path, reader.manifest())
        found = json.loads((path / MANIFEST).read_bytes())
    except ArchiveProblem as problem:
        return Archive(path, {}, problem.message)
    except FileNotFoundError:
        # The original wrote it last; without it the copy was cut off.
        return Archive(path, {}, f"{path} is only half an archive: it has no {MANIFEST}.")
    except OSError as error:
        return Archive(path, {}, f"{path} cannot be read: {error.strerror}.")
    except (ValueError, RecursionError):
        found = None
    return Archive(path, found if isinstance(found, dict) else {})


def _is_archive(entry: os.DirEntry[str]) -> bool:
    return names.is_acceptable(entry.name.removesuffix(ENDING)) and (entry.name.endswith(ENDING) or entry.is_dir())


def _modified(path: Path) -> float:
    with contextlib.suppress(OSError):
        return path.lstat().st_mtime
    return 0.0


class Saved(msgspec.Struct, frozen=True):
    """A new archive, and what the user should know about it."""

    path: Path
    outside_links: list[str]
    """Links that lead out of the workspace; they are restored only with --outside-links."""
    left_out: list[str]
    """Pipes, sockets and devices: they have no content that could be kept."""


def save(layout: Layout, archive_folder: Path) -> Saved:
    """Pack the workspace into a new archive. On failure there is no archive."""
    # A workspace that is itself a symlink is packed by its content; links inside stay links.
    folder, moment = Path(os.path.realpath(layout.folder)), datetime.now(UTC)
    if Path(os.path.realpath(archive_folder)).is_relative_to(folder):
        raise ArchiveProblem(
            f"The archive folder {archive_folder} lies within the workspace {layout.name!r}.",
            "Nothing was done. Put archives elsewhere: claude-iterate config paths.archive_dir FOLDER",
        )
    try:
        archive_folder.mkdir(parents=True, exist_ok=True)
        atomic.remove_abandoned(archive_folder)
        path = _free_path(archive_folder, f"{layout.name[:_LONGEST_NAME]}-{moment:%Y-%m-%dT%H-%M-%S}")
        manifest = {
            "originalName": layout.name,
            "archiveName": path.name,
            "archivedAt": f"{moment:%Y-%m-%dT%H:%M:%SZ}",
            "archivedFrom": str(layout.folder),
        }
        with atomic.open_replacement(path, private=True) as file:
            packed, left_out = _pack(folder, layout.name, json.dumps(manifest, indent=2).encode(), moment, file)
            file.flush()
            os.fsync(file.fileno())
            entries = _read_back(Path(file.name), layout.name, packed)
    except (OSError, tarfile.TarError, RecursionError) as error:
        raise _save_problem(layout, archive_folder, error) from None
    return Saved(path, [entry.name for entry in entries if entry.leads_outside], left_out)


def _pack(folder: Path, name: str, manifest: bytes, moment: datetime, file: IO[bytes]) -> tuple[set[str], list[str]]:
    """Returns what was packed and what was left out. The manifest stands first, so that a list needs to read no
    further."""
    packed: set[str] = set()
    left_out: list[str] = []
    with tarfile.open(fileobj=file, mode="w:gz", compresslevel=6) as tar:
        tar.addfile(tar.gettarinfo(folder, name))
        about = tarfile.TarInfo(f"{name}/{MANIFEST}")
        about.size, about.mtime = len(manifest), int(moment.timestamp())
        tar.addfile(about, io.BytesIO(manifest))
        for path in _all_below(folder):
            inside = str(path.relative_to(folder))
            # An old manifest must not hide the new one; the lock belongs to the place, not to the work.
            if inside in NOT_OF_THE_WORK:
                continue
            mode = path.lstat().st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)):
                left_out.append(inside)
                continue
            # A file with two names is packed as two files: no archive of ours has hard links.
            tar.inodes.clear()  # type: ignore[attr-defined]
            member = tar.gettarinfo(path, f"{name}/{inside}")
            with path.open("rb") if member.isreg() else contextlib.nullcontext() as content:
                tar.addfile(member, content)
            packed.add(member.name)
    return packed, left_out


def _all_below(folder: Path) -> Iterator[Path]:
    for entry in sorted(folder.iterdir()):
        yield entry
        if entry.is_dir() and not entry.is_symlink():
            yield from _all_below(entry)


def _read_back(path: Path, name: str, packed: set[str]) -> list[Entry]:
    """What the archive holds, checked to be all that was packed."""
    try:
        with open_tar(path) as reader:
            entries = checked_entries(reader, "the archive", outside_links=True)
    except ArchiveProblem as problem:
        raise tarfile.ReadError(problem.message.rstrip(".")) from None
    missing = sorted(packed - {f"{name}/{entry.name}" for entry in entries})
    if missing:
        raise tarfile.ReadError(f"the archive does not hold {missing[0]}")
    return entries


def _save_problem(layout: Layout, archive_folder: Path, error: Exception) -> ArchiveProblem:
    why, hint = str(error) or type(error).__name__, f"Check the permissions and the free space of {archive_folder}"
    if isinstance(error, OSError):
        why, hint = reason(error, archive_folder)
        if error.filename and error.filename not in why:
            why += f" ({error.filename})"
    return ArchiveProblem(f"The workspace {layout.name!r} could not be archived: {why}.", f"It is untouched. {hint}")


def _free_path(folder: Path, stem: str) -> Path:
    """A name that is not taken; a second archive within the same second gets -2."""
    path, count = folder / f"{stem}{ENDING}", 1
    while os.path.lexists(path):
        count += 1
        path = folder / f"{stem}-{count}{ENDING}"
    return path
