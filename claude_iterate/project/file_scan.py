"""What is in a project that git knows nothing of: every file with a checksum of its content, within bounds."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from claude_iterate.project.tool_output import ToolOutput

_PATIENCE = 20.0
_MOST_FILES = 50_000
_LARGEST = 64 * 1024 * 1024
_MOST_BYTES = 512 * 1024 * 1024
"""Beyond these bytes of one file or of all, size and times stand for the content."""


def scan(root: Path, counts: Callable[[str], bool]) -> dict[str, str] | None:
    """Each file that counts, but for what tools leave, by its path in the project; None when there are too many to look
    at."""
    found: dict[str, str] = {}
    ends = time.monotonic() + _PATIENCE
    budget = _MOST_BYTES
    for entry, name in _walk(root, counts):
        try:
            about = entry.stat(follow_symlinks=False)
            readable = stat.S_ISREG(about.st_mode) and about.st_size <= min(_LARGEST, budget)
            budget -= about.st_size if readable else 0
            found[name] = _content(entry, about, readable)
        except OSError:
            found[name] = "cannot be read"
        if len(found) > _MOST_FILES or time.monotonic() > ends:
            return None
    return found


def _content(entry: os.DirEntry[str], about: os.stat_result, readable: bool) -> str:
    """What changes when the file does."""
    mode = f"{about.st_mode:o}"
    if stat.S_ISLNK(about.st_mode):
        return f"{mode} {os.readlink(entry.path)}"
    if readable and os.access(entry.path, os.R_OK):
        return f"{mode} {checksum(Path(entry.path))}"
    return f"{mode} {about.st_size} {about.st_mtime_ns} {about.st_ctime_ns}"


def checksum(path: Path) -> str:
    """Of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _walk(root: Path, counts: Callable[[str], bool]) -> Iterator[tuple[os.DirEntry[str], str]]:
    """All that is not a folder, in any order. A folder that cannot be listed has nothing in it."""
    waiting, tools = [("", str(root))], ToolOutput(str(root))
    while waiting:
        prefix, folder = waiting.pop()
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        for entry in entries:
            name = prefix + entry.name
            is_folder = entry.is_dir(follow_symlinks=False)
            if not counts(name) or tools.covers(f"{name}/" if is_folder else name):
                continue
            if is_folder:
                waiting.append((f"{name}/", entry.path))
            else:
                yield entry, name
