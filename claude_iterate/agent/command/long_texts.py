"""Texts that are too long for a command line lie in a file while Claude needs them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from claude_iterate.agent.command.command_line import LARGEST_ARGUMENT
from claude_iterate.errors import AgentProblem


@contextlib.contextmanager
def file_if_long(text: str, path: str) -> Iterator[Path | None]:
    """A file with the text when it is too long for an argument. It is gone afterwards."""
    # A character takes four bytes at most: usually there is nothing to encode.
    if len(text) <= LARGEST_ARGUMENT // 4 or len(text.encode("utf-8", "replace")) <= LARGEST_ARGUMENT:
        yield None
        return
    file = Path(path)
    try:
        _write(file, text)
        yield file
    finally:
        with contextlib.suppress(OSError):
            file.unlink()


def _write(file: Path, text: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode("utf-8", "replace"))
    except OSError as error:
        what = f"A prompt too long for a command line cannot be written: {error.strerror} ({file})."
        raise AgentProblem(what, "Check permissions and free space.") from error
