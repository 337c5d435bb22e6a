"""Restores an archived workspace, under its old name or another. The archive stays as it is.

The whole archive is judged first. Then the workspace is made beside its place: folders, files, and the links last, so
that nothing can be written through a link. Only the finished workspace takes its place.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from claude_iterate.core import names
from claude_iterate.errors import ArchiveProblem, UsageProblem
from claude_iterate.workspace import creation
from claude_iterate.workspace.archive_contents import (
    MANIFEST,
    MOST_BYTES,
    NOT_OF_THE_WORK,
    Entry,
    FolderReader,
    Source,
    checked_entries,
    open_tar,
    read_document,
)
from claude_iterate.workspace.archives import Archive
from claude_iterate.workspace.files import atomic
from claude_iterate.workspace.files.folders import new_folder, reason
from claude_iterate.workspace.layout import Layout


class Contents(msgspec.Struct, frozen=True):
    """What an archive holds, for `show`."""

    files: int
    links: int
    size: int
    outside_links: list[str]
    metadata: dict[str, Any]


def contents(archive: Archive) -> Contents:
    """What is in the archive, read to its end: a damaged or hostile one is an ArchiveProblem."""
    with _open(archive) as source:
        entries = checked_entries(source, archive.name, outside_links=True)
        about = [entry for entry in entries if entry.path == (".metadata.json",) and entry.kind == "file"]
        work = [entry for entry in entries if entry.name not in NOT_OF_THE_WORK]
        return Contents(
            sum(entry.kind == "file" for entry in work),
            sum(entry.kind == "link" for entry in work),
            sum(entry.size for entry in work),
            [entry.name for entry in entries if entry.leads_outside],
            read_document(source, about[0]) if about else {},
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
        with _open(archive) as source:
            entries = checked_entries(source, archive.name, _free_space(folder), outside_links)
            _check_kind(archive, entries)
            own = next((entry for entry in entries if not entry.path and entry.kind == "folder"), None)
            with new_folder(folder, mode=_folder_mode(own) if own is not None else None) as made:
                wanted = [entry for entry in entries if entry.path and entry.name not in NOT_OF_THE_WORK]
                _write_files(source, wanted, made)
                if all(entry.name != ".metadata.json" for entry in wanted):
                    new = creation.rebuild_metadata(Layout(folder.parent, made))
                    atomic.write_json(made / ".metadata.json", new)
                    warning = (
                        f"The archive has no .metadata.json. A new one says: {new['mode']} mode, default settings."
                    )
                _correct_name(made / ".metadata.json", folder.name)
                for entry in wanted:
                    if entry.kind == "link":
                        _place(made, entry).symlink_to(entry.target)
    except OSError as error:
        why, hint = reason(error, folder.parent)
        raise ArchiveProblem(
            f"{archive.name} could not be restored: {why}.", f"Nothing is left of the attempt. {hint}"
        ) from None
    return warning


def _free_space(folder: Path) -> int:
    """Free space where the workspace will be; if it is unknown, nothing is refused for it."""
    for place in folder.parents:
        with contextlib.suppress(OSError):
            return shutil.disk_usage(place).free
    return MOST_BYTES


def _check_kind(archive: Archive, entries: list[Entry]) -> None:
    if not any(entry.name in {MANIFEST, ".metadata.json"} for entry in entries):
        raise ArchiveProblem(
            f"{archive.path} is not the archive of a workspace: it has neither {MANIFEST} nor .metadata.json.",
            "Nothing was written. See: claude-iterate archive list",
        )


def _write_files(source: Source, entries: Iterable[Entry], made: Path) -> None:
    for entry in entries:
        path = _place(made, entry)
        if entry.kind == "folder":
            path.mkdir(0o700, exist_ok=True)
            path.chmod(_folder_mode(entry))
        elif entry.kind == "file":
            # An existing file or link would be one that we did not make: O_EXCL refuses it.
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            with os.fdopen(handle, "wb") as file, source.content(entry) as content:
                shutil.copyfileobj(content, file)
                os.fchmod(handle, entry.mode & 0o777 | 0o400)
            # Logs are sorted by their time.
            with contextlib.suppress(OSError, OverflowError, ValueError):
                os.utime(path, (entry.modified, entry.modified))


def _folder_mode(entry: Entry) -> int:
    """The permissions as they were, but the owner can always read and delete. No setuid or sticky bits."""
    return entry.mode & 0o777 | 0o700


def _place(made: Path, entry: Entry) -> Path:
    path = made.joinpath(*entry.path)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _correct_name(path: Path, name: str) -> None:
    """Write the workspace's name into its metadata if it changed; otherwise the file stays byte for byte."""
    try:
        document = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError, RecursionError):
        return  # a damaged workspace was archived as it was, and comes back as it was
    if isinstance(document, dict) and document.get("name") != name:
        atomic.write_json(path, document | {"name": name})


@contextlib.contextmanager
def _open(archive: Archive) -> Iterator[Source]:
    if archive.is_folder:
        if archive.problem:
            raise ArchiveProblem(archive.problem, f"Take what you need from it by hand: {archive.path}")
        yield FolderReader(archive.path)
        return
    with open_tar(archive.path) as reader:
        yield reader
