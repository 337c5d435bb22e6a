"""Folders that are there whole or not at all, and are deleted in one step.

A new folder is made beside its place and renamed; a folder that goes is renamed to a hidden name first. A symlink is
never followed: removing one takes the link and leaves alone what it leads to.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

from claude_iterate.errors import ExpectedError, WorkspaceProblem, advice
from claude_iterate.workspace.files.untrusted_files import NOT_A_FOLDER, is_folder, temporary_name


@contextlib.contextmanager
def new_folder(folder: Path, mode: int | None = None) -> Iterator[Path]:
    """Yields a folder to fill; afterwards it becomes `folder`. After an error nothing is left of it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = temporary_name(folder)
    made.mkdir(0o700)
    try:
        yield made
        # Private until it is whole; then it gets the mode of its parent, unless the caller gives one.
        made.chmod(folder.parent.stat().st_mode & 0o777 if mode is None else mode)
        # This fails if another process made the folder meanwhile, because what we make is never empty.
        made.rename(folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def reason(error: OSError, folder: Path) -> tuple[str, str]:
    """Why `folder` cannot be used, and what to do about it. Names the file that is where a folder of ours belongs,
    if that is why."""
    if error.errno in {errno.ENOTDIR, errno.EEXIST} and (found := _in_the_way(Path(error.filename or folder))):
        return f"{found} is {NOT_A_FOLDER}", f"Move it away: mv {shlex.quote(str(found))} {shlex.quote(f'{found}.old')}"
    if error.errno == errno.ENOENT and not folder.exists():
        return f"{folder} is gone", "Another command may have removed it. See what there is: claude-iterate list"
    return error.strerror or str(error), advice(error, f" of {folder}")


@contextlib.contextmanager
def explain_errors(problem: type[ExpectedError], what: str, folder: Path) -> Iterator[None]:
    """An OSError becomes a `problem` that says what went wrong with `folder` or a file in it, why, and what to do."""
    try:
        yield
    except OSError as error:
        why, hint = reason(error, folder)
        raise problem(f"{what}: {why}.", hint) from None


def explain_write_errors(workspace: str, folder: Path) -> contextlib.AbstractContextManager[None]:
    """An OSError becomes the WorkspaceProblem that this workspace cannot be written."""
    return explain_errors(WorkspaceProblem, f"The workspace {workspace!r} cannot be written", folder)


def _in_the_way(path: Path) -> Path | None:
    """The nearest thing on the way to this path that is there, if it is not a folder."""
    there = next(place for place in (path, *path.parents) if os.path.lexists(place))
    return there if is_folder(there) is False else None


def remove(path: Path) -> None:
    """Delete a file or folder. It is renamed first, so that no list ever shows half of it."""
    # Renamed within its parent: a read-only folder cannot be moved into another one.
    here, hidden = path, temporary_name(path)
    try:
        if path.is_symlink() or not path.is_dir():
            path.unlink()
            return
        here = path.rename(hidden)
        shutil.rmtree(hidden)
    except OSError as error:
        raise WorkspaceProblem(
            f"{here} could not be deleted: {error.strerror}.",
            f"Check the permissions of {here.parent} and what is in it, then delete {here} by hand.",
        ) from None
