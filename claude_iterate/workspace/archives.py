"""The archives of a project: list, find, save and restore them. Those of the original, which are folders, are only
read.

An archive is saved whole or not at all, and the workspace is only read. It counts as saved when it was read back from
the disk and holds everything that was packed. A workspace is restored beside its place: folders, files, and the links
last, so that nothing can be written through a link. Only the finished workspace takes its place.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import shutil
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from tarfile import TarInfo
from typing import Any

import msgspec

from claude_iterate.core import names
from claude_iterate.errors import ArchiveProblem, UsageProblem
from claude_iterate.workspace import creation
from claude_iterate.workspace.archive_contents import (
    MANIFEST,
    METADATA,
    NOT_OF_THE_WORK,
    TOP,
    ArchiveReader,
    folder_manifest,
    leads_outside,
    open_archive,
    pack,
)
from claude_iterate.workspace.files import untrusted_files
from claude_iterate.workspace.files.folders import explain_errors, new_folder, reason
from claude_iterate.workspace.layout import Layout

ENDING = ".tar.gz"
_LONGEST_NAME = 72
"""Characters of the workspace's name in the archive's name, so that every command accepts it with time and number."""
_STAMP = re.compile(r"-\d{4}-\d\d-\d\dT[\d-]+$")


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
        return name if isinstance(name, str) and name else named_after(self.name)

    @property
    def size(self) -> int | None:
        """Bytes on the disk of a compressed one; a folder would have to be walked."""
        with contextlib.suppress(OSError):
            return None if self.is_folder else self.path.stat().st_size
        return None

    @property
    def moment(self) -> datetime:
        """When it was made: by its manifest, else its file."""
        with contextlib.suppress(ValueError, TypeError):
            moment = datetime.fromisoformat(self.manifest.get("archivedAt", ""))
            return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return datetime.fromtimestamp(_modified(self.path), UTC)


def named_after(archive: str) -> str:
    """The workspace whose name that of an archive begins with."""
    return _STAMP.sub("", archive)


def list_archives(folder: Path) -> list[Archive]:
    """All archives, newest first. What has a name that no command accepts is left out."""
    with explain_errors(ArchiveProblem, "The archives cannot be listed", folder):
        found = [_read(path) for path in _paths(folder)]
    return sorted(found, key=lambda archive: (archive.moment, _modified(archive.path), archive.name), reverse=True)


def list_names(folder: Path) -> list[str]:
    """The names of all archives, without reading any."""
    with contextlib.suppress(OSError):
        return sorted(path.name.removesuffix(ENDING) for path in _paths(folder))
    return []


def find(folder: Path, name: str, or_newest: bool = False) -> Archive:
    """The archive of this name, with or without its ending; or, if asked for, the newest of a workspace."""
    names.check_name(name.removesuffix(ENDING), "archive")
    path = folder / name
    if name.endswith(ENDING) or not path.is_dir():
        path = folder / (name.removesuffix(ENDING) + ENDING)
    if os.path.lexists(path):
        return _read(path)
    known = list_archives(folder)
    newest = next((archive for archive in known if archive.workspace == name), None)
    if newest is not None and or_newest:
        return newest
    meant = names.did_you_mean(name, [archive.name for archive in known])
    raise ArchiveProblem(f"Archive not found: {name}", f"{meant}See: claude-iterate archive list")


def _paths(folder: Path) -> list[Path]:
    try:
        named = [path for path in folder.iterdir() if names.is_acceptable(path.name.removesuffix(ENDING))]
    except FileNotFoundError:
        return []
    return [path for path in named if path.name.endswith(ENDING) or path.is_dir()]


def _read(path: Path) -> Archive:
    """The archive with its manifest, or with the problem that keeps it from being used."""
    try:
        if path.name.endswith(ENDING):
            with open_archive(path) as reader:
                return Archive(path, reader.manifest())
        found = json.loads(folder_manifest(path))
    except ArchiveProblem as problem:
        return Archive(path, {}, problem.message)
    except (ValueError, RecursionError):
        found = None
    return Archive(path, found if isinstance(found, dict) else {})


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
        untrusted_files.find_abandoned(archive_folder, remove=True)
        path = _free_path(archive_folder, f"{layout.name[:_LONGEST_NAME]}-{moment:%Y-%m-%dT%H-%M-%S}")
        manifest = {
            "originalName": layout.name,
            "archiveName": path.name,
            "archivedAt": f"{moment:%Y-%m-%dT%H:%M:%SZ}",
            "archivedFrom": str(layout.folder),
        }
        with untrusted_files.open_replacement(path, private=True) as file:
            packed, left_out = pack(folder, layout.name, json.dumps(manifest, indent=2).encode(), file)
            file.flush()
            with open_archive(Path(file.name)) as reader:
                members = reader.members()
            if missing := sorted(packed - members.keys()):
                raise ArchiveProblem(f"the archive does not hold {missing[0]}")
    except (OSError, ArchiveProblem) as error:
        if isinstance(error, ArchiveProblem):
            why, hint = error.message.rstrip("."), ""
        else:
            why, hint = reason(error, archive_folder)
            why += f" ({error.filename})" if error.filename and error.filename not in why else ""
        raise ArchiveProblem(
            f"The workspace {layout.name!r} could not be archived: {why}.", f"It is untouched. {hint}".rstrip()
        ) from None
    return Saved(path, _outside_links(members), left_out)


def _free_path(folder: Path, stem: str) -> Path:
    """A name that is not taken; a second archive within the same second gets -2."""
    path, count = folder / f"{stem}{ENDING}", 1
    while os.path.lexists(path):
        count += 1
        path = folder / f"{stem}-{count}{ENDING}"
    return path


def _outside_links(members: dict[PurePosixPath, TarInfo]) -> list[str]:
    return [str(path) for path, member in members.items() if leads_outside(path, member)]


class Contents(msgspec.Struct, frozen=True):
    """What an archive holds, for `show`."""

    files: int
    links: int
    size: int
    outside_links: list[str]
    metadata: dict[str, Any]


def contents(archive: Archive) -> Contents:
    """What is in the archive, read to its end: a damaged or hostile one is an ArchiveProblem."""
    with open_archive(archive.path) as reader:
        members = reader.members()
        work = [member for path, member in members.items() if path not in NOT_OF_THE_WORK]
        return Contents(
            sum(member.isreg() for member in work),
            sum(member.issym() for member in work),
            sum(member.size for member in work),
            _outside_links(members),
            reader.document(members[METADATA]) if METADATA in members else {},
        )


def target_name(archive: Archive, wanted: str | None) -> str:
    """The name that the restored workspace gets: the wanted one, else the one it had."""
    if wanted is not None:
        return names.check_name(wanted)
    try:
        return names.check_name(archive.workspace)
    except UsageProblem:
        raise ArchiveProblem(
            f"{archive.name} says that its workspace was called {archive.workspace[:60]!r}, which cannot be a name.",
            f"Give it one: claude-iterate archive restore {archive.name} NAME",
        ) from None


def restore(archive: Archive, folder: Path, outside_links: bool = False) -> str:
    """Make the workspace `folder` from the archive, or raise an ArchiveProblem and leave nothing behind.

    Returns a warning, or nothing. An archive without .metadata.json gets a new one: its files are worth having, and
    without it no command would take them for a workspace.
    """
    warning = ""
    if os.path.lexists(folder):
        raise ArchiveProblem(
            f"Workspace already exists: {folder.name}",
            f"Give it another name: claude-iterate archive restore {archive.name} NAME",
        )
    try:
        with open_archive(archive.path) as reader:
            members = reader.members(_free_space(folder), outside_links)
            if not members.keys() & {MANIFEST, METADATA}:
                raise ArchiveProblem(
                    f"{archive.path} is not the archive of a workspace: it has neither {MANIFEST} nor {METADATA}.",
                    "Nothing was written. See: claude-iterate archive list",
                )
            own = _folder_mode(members[TOP]) if TOP in members else None
            with new_folder(folder, mode=own) as made:
                wanted = {path: member for path, member in members.items() if path not in NOT_OF_THE_WORK}
                for path, member in wanted.items():
                    _write(reader, member, made / path)
                if METADATA not in wanted:
                    mode = creation.rebuild_metadata(Layout(folder.parent, made)).mode
                    warning = f"The archive has no {METADATA}. A new one says: {mode} mode, default settings."
                _correct_name(made / METADATA, folder.name)
                for path, member in wanted.items():
                    if member.issym():
                        (made / path).symlink_to(member.linkname)
    except OSError as error:
        why, hint = reason(error, folder.parent)
        raise ArchiveProblem(
            f"{archive.name} could not be restored: {why}.", f"Nothing is left of the attempt. {hint}"
        ) from None
    return warning


def _free_space(folder: Path) -> float:
    """Free space where the workspace will be; if it is unknown, nothing is refused for it."""
    for place in folder.parents:
        with contextlib.suppress(OSError):
            return shutil.disk_usage(place).free
    return math.inf


def _write(reader: ArchiveReader, member: TarInfo, path: Path) -> None:
    """Make the folder or the file; of a link only the folder that it will be in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if member.isdir():
        path.mkdir(0o700, exist_ok=True)
        path.chmod(_folder_mode(member))
    elif member.isreg():
        # An existing file or link would be one that we did not make: O_EXCL refuses it.
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "wb") as file, reader.content(member) as content:
            shutil.copyfileobj(content, file)
            os.fchmod(handle, member.mode & 0o777 | 0o400)
        # Logs are sorted by their time.
        with contextlib.suppress(OSError, OverflowError, ValueError):
            os.utime(path, (member.mtime, member.mtime))


def _folder_mode(member: TarInfo) -> int:
    """The permissions as they were, but the owner can always read and delete. No setuid or sticky bits."""
    return member.mode & 0o777 | 0o700


def _correct_name(path: Path, name: str) -> None:
    """Write the workspace's name into its metadata if it changed; otherwise the file stays byte for byte."""
    document = untrusted_files.read_json(path) if path.exists() else None
    # A damaged workspace was archived as it was, and comes back as it was.
    if document is not None and document.get("name") != name:
        untrusted_files.write_json(path, document | {"name": name})
