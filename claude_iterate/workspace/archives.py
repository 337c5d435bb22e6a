"""The archives of a project: list, find, save and restore them. Those of the original, which are folders, are only
read.

An archive is saved whole or not at all, and the workspace is only read. It counts as saved when it was read back from
the disk and holds everything that was packed. A workspace is restored beside its place; only the finished one takes it.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import shutil
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from tarfile import TarInfo
from typing import Any

import msgspec

from claude_iterate.core import names
from claude_iterate.errors import ArchiveProblem
from claude_iterate.system import untrusted_files
from claude_iterate.system.file_errors import explain_errors, reason
from claude_iterate.system.untrusted_files import new_folder
from claude_iterate.workspace.archive_contents import (
    MANIFEST,
    METADATA,
    NOT_OF_THE_WORK,
    TOP,
    folder_manifest,
    leads_outside,
    open_archive,
    pack,
)
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
        return None if self.is_folder else getattr(untrusted_files.status(self.path), "st_size", 0)

    @property
    def moment(self) -> datetime:
        """When it was made: by its manifest, else its file."""
        with contextlib.suppress(ValueError, TypeError):
            moment = datetime.fromisoformat(self.manifest.get("archivedAt", ""))
            return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        about = untrusted_files.status(self.path)
        return datetime.fromtimestamp(about.st_mtime if about is not None else 0, UTC)


def named_after(archive: str) -> str:
    """The workspace whose name that of an archive begins with."""
    return _STAMP.sub("", archive)


def list_archives(folder: Path) -> list[Archive]:
    """All archives, newest first. What has a name that no command accepts is left out."""
    with explain_errors(ArchiveProblem, "The archives cannot be listed", folder):
        found = [_read(path) for path in _paths(folder)]
        return sorted(found, key=lambda archive: (archive.moment, archive.name), reverse=True)


def list_names(folder: Path) -> list[str]:
    """The names of all archives, without reading any."""
    with contextlib.suppress(OSError):
        return sorted(path.name.removesuffix(ENDING) for path in _paths(folder))
    return []


def find(folder: Path, name: str, or_newest: bool = False) -> Archive:
    """The archive of this name, with or without its ending; or, if asked for, the newest of a workspace."""
    names.check_name(name.removesuffix(ENDING), "archive")
    path = folder / name
    if name.endswith(ENDING) or untrusted_files.is_file(path) or not untrusted_files.exists(path):
        path = folder / (name.removesuffix(ENDING) + ENDING)
    if untrusted_files.exists(path):
        return _read(path)
    known = list_archives(folder)
    newest = next((archive for archive in known if archive.workspace == name), None)
    if newest is not None and or_newest:
        return newest
    meant = names.did_you_mean(name, [archive.name for archive in known])
    raise ArchiveProblem(f"Archive not found: {name}", f"{meant}See: claude-iterate archive list")


def _paths(folder: Path) -> list[Path]:
    try:
        with untrusted_files.scan(folder) as entries:
            found = [it.name for it in entries if it.name.endswith(ENDING) or it.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return []
    return [folder / name for name in found if names.is_acceptable(name.removesuffix(ENDING))]


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


class Saved(msgspec.Struct, frozen=True):
    """A new archive, and its links that lead out of the workspace: they are restored only with --outside-links."""

    path: Path
    outside_links: list[str]


def save(layout: Layout, archive_folder: Path) -> Saved:
    """Pack the workspace into a new archive. On failure there is no archive."""
    folder, moment = layout.folder, datetime.now(UTC)
    if archive_folder.is_relative_to(folder):
        raise ArchiveProblem(
            f"The archive folder {archive_folder} lies within the workspace {layout.name!r}.",
            "Nothing was done. Put archives elsewhere: claude-iterate config paths.archive_dir FOLDER",
        )
    try:
        untrusted_files.make_folder(archive_folder, parents=True)
        untrusted_files.find_abandoned(archive_folder, remove=True)
        path = _free_path(archive_folder, f"{layout.name[:_LONGEST_NAME]}-{moment:%Y-%m-%dT%H-%M-%S}")
        manifest = {
            "originalName": layout.name,
            "archiveName": path.name,
            "archivedAt": f"{moment:%Y-%m-%dT%H:%M:%SZ}",
            "archivedFrom": str(layout.folder),
        }
        with untrusted_files.open_replacement(path, private=True) as file:
            packed = pack(folder, PurePosixPath(layout.name), json.dumps(manifest, indent=2).encode(), file)
            file.seek(0)
            with open_archive(path, file) as reader:
                members = reader.members()
            if missing := sorted(packed - members.keys()):
                raise ArchiveProblem(f"the archive does not hold {missing[0]}")
    except (OSError, ArchiveProblem) as error:
        if isinstance(error, ArchiveProblem):
            why, hint = error.message.rstrip("."), ""
        else:
            why, hint = reason(error, archive_folder)
            why += f" ({error.filename})" if error.filename and str(error.filename) not in why else ""
        raise ArchiveProblem(
            f"The workspace {layout.name!r} could not be archived: {why}.", f"It is untouched. {hint}".rstrip()
        ) from None
    return Saved(path, _outside_links(members))


def _free_path(folder: Path, stem: str) -> Path:
    """A name that is not taken; a second archive within the same second gets -2."""
    path, count = folder / f"{stem}{ENDING}", 1
    while untrusted_files.exists(path):
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


def restore(archive: Archive, folder: Path, outside_links: bool = False) -> None:
    """Make the workspace `folder` from the archive, or raise an ArchiveProblem and leave nothing behind."""
    if untrusted_files.exists(folder):
        raise ArchiveProblem(
            f"Workspace already exists: {folder.name}",
            f"Give it another name: claude-iterate archive restore {archive.name} NAME",
        )
    errors = explain_errors(ArchiveProblem, f"{archive.name} could not be restored", folder.parent)
    with errors, open_archive(archive.path) as reader:
        members = reader.members()
        if not members.keys() & {MANIFEST, METADATA}:
            raise ArchiveProblem(
                f"{archive.path} is not the archive of a workspace: it has neither {MANIFEST} nor {METADATA}.",
                "Nothing was written. See: claude-iterate archive list",
            )
        if (outside := _outside_links(members)) and not outside_links:
            link = f"{outside[0]} -> {members[PurePosixPath(outside[0])].linkname}"
            more = f" and {len(outside) - 1} more" if len(outside) > 1 else ""
            raise ArchiveProblem(
                f"{archive.path.name} is refused: it holds a link that leads outside: {link}{more}.",
                "Nothing was written. If the archive is your own and the link is meant, add --outside-links",
            )
        wanted = {path: member for path, member in members.items() if path not in NOT_OF_THE_WORK}
        mode = members[TOP].mode & 0o777 | 0o700 if TOP in members else None
        with new_folder(folder, mode) as made:
            if sum(member.size for member in wanted.values()) > shutil.disk_usage(made).free:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            reader.extract(wanted, made)
            _correct_name(made / METADATA, folder.name)


def _correct_name(path: Path, name: str) -> None:
    """Write the workspace's name into its metadata if it changed; otherwise the file stays byte for byte."""
    document = untrusted_files.read_json(path) if untrusted_files.is_file(path) else None
    # A damaged workspace was archived as it was, and comes back as it was.
    if document is not None and document.get("name") != name:
        untrusted_files.write_json(path, document | {"name": name})
