"""What an OSError about a file or folder of a project means to its user, and what to do about it."""

from __future__ import annotations

import contextlib
import errno
import shlex
from collections.abc import Iterator
from pathlib import Path

from claude_iterate.errors import ExpectedError, WorkspaceProblem, advice
from claude_iterate.system.untrusted_files import NOT_A_FOLDER, NotAFile, exists, is_folder


def reason(error: OSError, folder: Path) -> tuple[str, str]:
    """Why `folder` cannot be used, and what to do about it. Names the file that is where a folder of ours belongs,
    if that is why."""
    if error.errno in {errno.ENOTDIR, errno.EEXIST} and (found := _in_the_way(Path(error.filename or folder))):
        return f"{found} is {NOT_A_FOLDER}", f"Move it away: mv {shlex.quote(str(found))} {shlex.quote(f'{found}.old')}"
    if isinstance(error, NotAFile):
        return error.said, error.hint
    if error.errno == errno.ENOENT and not exists(folder):
        return f"{folder} is gone", "Another command may have removed it. See what there is: claude-iterate list"
    return error.strerror or str(error), advice(error, f" of {folder}")


def unreadable(problem: type[ExpectedError], what: object, error: OSError, hint: str) -> ExpectedError:
    """The `problem` that a file cannot be read; `hint` says what to do, if it is one."""
    if isinstance(error, NotAFile):
        return problem(f"{error.said}.", error.hint)
    return problem(f"{what} cannot be read: {error.strerror}.", hint)


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
    there = next(place for place in (path, *path.parents) if exists(place))
    return there if is_folder(there) is False else None
