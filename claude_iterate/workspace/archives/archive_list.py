"""The archives of a project: compressed ones, and folders as the original made them. Looks, never writes."""

from __future__ import annotations

import contextlib
import json
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from claude_iterate.core import names
from claude_iterate.errors import ArchiveProblem
from claude_iterate.workspace.archives import archive_readers
from claude_iterate.workspace.archives.archive_creation import ENDING
from claude_iterate.workspace.archives.archive_entries import MANIFEST
from claude_iterate.workspace.files.folders import reason

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
        said = self.manifest.get("originalName")
        if isinstance(said, str) and said:
            return said
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
                found = datetime.fromisoformat(text)  # type: ignore[arg-type]
                return found if found.tzinfo else found.replace(tzinfo=UTC)
        return datetime.fromtimestamp(_modified(self.path), UTC)


def archives(folder: Path) -> list[Archive]:
    """All archives, newest first. What has a name that no command accepts is left out."""
    try:
        with os.scandir(folder) as entries:
            found = [Archive(Path(entry.path), {}) for entry in entries if _is_archive(entry)]
    except FileNotFoundError:
        return []
    except OSError as error:
        why, hint = reason(error, folder)
        raise ArchiveProblem(f"The archives cannot be listed: {why}.", hint) from None
    read = [_looked_at(archive.path) for archive in found]
    return sorted(read, key=lambda archive: (archive.moment, _modified(archive.path), archive.name), reverse=True)


def names_in(folder: Path) -> list[str]:
    """The names of all archives, without reading any."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        return sorted(entry.name.removesuffix(ENDING) for entry in entries if _is_archive(entry))
    return []


def checked(name: str) -> str:
    """The name of an archive, with or without its ending, or a UsageProblem."""
    names.checked(name.removesuffix(ENDING), "archive")
    return name


def find(folder: Path, name: str, or_newest: bool = False) -> Archive:
    """The archive of this name, with or without its ending; or, if asked for, the newest of a workspace."""
    checked(name)
    path = folder / name
    if name.endswith(ENDING) or not path.is_dir():
        path = folder / (name.removesuffix(ENDING) + ENDING)
    if os.path.lexists(path):
        return _looked_at(path)
    known = archives(folder)
    newest = next((archive for archive in known if archive.workspace == name), None)
    if newest is not None and or_newest:
        return newest
    near = [archive.name for archive in known if archive.name.startswith(f"{name}-")][:3]
    meant = f"Did you mean {' or '.join(near)}? " if near else names.meant(name, [archive.name for archive in known])
    raise ArchiveProblem(f"Archive not found: {name}", f"{meant}See: claude-iterate archive list")


def _looked_at(path: Path) -> Archive:
    try:
        if path.name.endswith(ENDING):
            with archive_readers.opened(path) as reader:
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
    return names.acceptable(entry.name.removesuffix(ENDING)) and (entry.name.endswith(ENDING) or entry.is_dir())


def _modified(path: Path) -> float:
    with contextlib.suppress(OSError):
        return path.lstat().st_mtime
    return 0.0
