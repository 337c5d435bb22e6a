"""Saves a workspace as a compressed archive that is there whole or not at all; the workspace is only read."""

from __future__ import annotations

import contextlib
import io
import json
import os
import tarfile
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from claude_iterate.errors import WorkspaceProblem
from claude_iterate.workspace.layout import Layout

MANIFEST = ".archived.json"


def save(layout: Layout, archive_folder: Path) -> Path:
    """Pack the workspace into a new archive and return its path. On failure there is no archive."""
    moment = datetime.now(UTC)
    temporary = ""
    try:
        archive_folder.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{layout.name}.", suffix=".tmp", dir=archive_folder)
        path = _free(archive_folder, f"{layout.name}-{moment:%Y-%m-%dT%H-%M-%S}")
        with os.fdopen(handle, "wb") as file:
            _pack(layout, file, path.name, moment)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except (OSError, tarfile.TarError) as error:
        _discard(temporary)
        said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        where = f" ({error.filename})" if isinstance(error, OSError) and error.filename else ""
        raise WorkspaceProblem(
            f"The workspace {layout.name!r} could not be archived: {said}{where}.",
            f"It is untouched. Check permissions and free space of {archive_folder}",
        ) from None
    except BaseException:
        _discard(temporary)
        raise
    return path


def _pack(layout: Layout, file: IO[bytes], archive_name: str, moment: datetime) -> None:
    manifest = {
        "originalName": layout.name,
        "archiveName": archive_name,
        "archivedAt": f"{moment:%Y-%m-%dT%H:%M:%SZ}",
        "archivedFrom": str(layout.folder),
    }

    def wanted(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        # The lock belongs to the place, not to the work; an old manifest must not hide the new one.
        return None if member.name in {f"{layout.name}/.lock", f"{layout.name}/{MANIFEST}"} else member

    with tarfile.open(fileobj=file, mode="w:gz", dereference=False) as archive:
        # A workspace that is itself a symlink is packed by its content; links inside stay links.
        archive.add(os.path.realpath(layout.folder), arcname=layout.name, filter=wanted)
        data = json.dumps(manifest, indent=2, ensure_ascii=False).encode()
        about = tarfile.TarInfo(f"{layout.name}/{MANIFEST}")
        about.size, about.mtime, about.mode = len(data), int(moment.timestamp()), 0o644
        archive.addfile(about, io.BytesIO(data))


def _free(folder: Path, stem: str) -> Path:
    """A name that is not taken; a second archive within the same second gets -2."""
    path, count = folder / f"{stem}.tar.gz", 1
    while os.path.lexists(path):
        count += 1
        path = folder / f"{stem}-{count}.tar.gz"
    return path


def _discard(temporary: str) -> None:
    if temporary:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
