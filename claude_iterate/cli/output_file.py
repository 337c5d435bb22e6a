"""A file that a command writes for the user: whole or not at all, at a place where a file may be."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from claude_iterate.errors import ExpectedError, UsageProblem
from claude_iterate.workspace.files.atomic import open_replacement


@contextlib.contextmanager
def output_file(path: Path, option: str) -> Iterator[IO[bytes]]:
    """A file to write, which takes the place of `path` at the end. What is no regular file is refused: a link, a
    folder, a device. `option` is what the user types to name another place."""
    another = f"Name another file: {option} FILE"
    if path.is_symlink():
        raise UsageProblem(f"{path} is a symbolic link.", another)
    if path.exists() and not path.is_file():
        raise UsageProblem(f"{path} is {'a folder' if path.is_dir() else 'not a regular file'}.", another)
    if not path.parent.is_dir():
        raise ExpectedError(f"There is no folder {path.parent}.", f"Make it: mkdir -p {shlex.quote(str(path.parent))}")
    try:
        with open_replacement(path, follow=False) as file:
            yield file
    except OSError as error:
        raise ExpectedError(f"{path} cannot be written: {error.strerror}.", another) from None
