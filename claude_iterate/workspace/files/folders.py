"""Folders that appear whole or not at all, and vanish in one step.

What is made is made beside its place and renamed; what goes is renamed out of sight first. A symlink is never followed:
replacing or removing one takes the link and leaves alone what it leads to.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from claude_iterate.errors import WorkspaceProblem, advice


@contextlib.contextmanager
def appearing(folder: Path, replace: bool = False, mode: int | None = None) -> Iterator[Path]:
    """Yields a folder to fill; when that went well, it stands at `folder`. An OSError leaves nothing behind."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        yield made
        # mkdtemp makes private folders; ours is as open as the one it stands in, unless it is said how open.
        made.chmod(folder.parent.stat().st_mode & 0o777 if mode is None else mode)
        if replace and os.path.lexists(folder):
            _exchange(made, folder)
        else:
            # Onto a folder that somebody made meanwhile this fails, because what we make is never empty.
            made.rename(folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def remove(path: Path) -> None:
    """Delete a file or folder: out of sight in one step, then away. No list ever shows half of it."""
    # Renamed within its folder: a read-only folder may not be moved into another one.
    here, doomed = path, _aside(path)
    try:
        if path.is_symlink() or not path.is_dir():
            path.unlink()
            return
        here = path.rename(doomed)
        shutil.rmtree(doomed)
    except OSError as error:
        raise WorkspaceProblem(
            f"{here} could not be deleted: {error.strerror}.",
            f"Check the permissions of {here.parent} and what is in it, then delete {here} by hand.",
        ) from None


def _exchange(made: Path, folder: Path) -> None:
    old = folder.rename(_aside(folder))
    try:
        made.rename(folder)
    except OSError:
        old.rename(folder)
        raise
    if old.is_symlink() or not old.is_dir():
        old.unlink()
    else:
        shutil.rmtree(old, ignore_errors=True)


def _aside(path: Path) -> Path:
    return path.with_name(f".{path.name}.deleted.{os.getpid()}")


def unwritable_workspace(name: str, place: Path, error: OSError) -> WorkspaceProblem:
    """The workspace `name` cannot be written; `place` is the folder whose permissions and free space matter."""
    where = f": {error.filename}" if error.filename else ""
    return WorkspaceProblem(
        f"The workspace {name!r} cannot be written: {error.strerror}{where}.",
        advice(error, f" of {place}"),
    )
