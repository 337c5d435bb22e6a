"""Looks at a project without git: every file by its size, times and inode, with a hash of its content, within bounds.

A file is read again only if one of these moved, so a second look at an unchanged project reads nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from claude_iterate.project.ignored import IgnoreFiles, ToolOutput
from claude_iterate.system import untrusted_files

MOST_FILES = 200_000
LARGEST_READ = 64 << 20
MOST_READ = 512 << 20
"""Beyond these bytes of one file or of all, size and times stand for the content."""
_RACY = 50_000_000
"""Nanoseconds: a file that changed so shortly before we looked may change again without another time."""


class ScannedFile(msgspec.Struct, frozen=True):
    """One file: `mark` moves with every change; `content` says whether it is another file now."""

    mark: tuple[int, ...]
    content: str
    certain: bool


class Scan(msgspec.Struct, frozen=True):
    """All files by path. `whole` is False when there are more than we look at."""

    files: dict[str, ScannedFile]
    whole: bool


def scan(
    root: Path, counts: Callable[[str], bool], ignore: Sequence[str] | None = None, before: Scan | None = None
) -> Scan:
    """Every file below `root` that counts and that no tool left. With `ignore`, such patterns and those in files called
    `.gitignore` say what else does not count. `before` saves reading what did not change."""
    known = before.files if before is not None else {}
    found: dict[str, ScannedFile] = {}
    budget = MOST_READ
    for path, about in _walk(str(root), counts, IgnoreFiles(ignore) if ignore is not None else None):
        if len(found) >= MOST_FILES:
            return Scan(found, whole=False)
        mark = (about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino, about.st_mode)
        last = known.get(path)
        if last is not None and last.mark == mark and last.certain:
            found[path] = last
            continue
        readable = stat.S_ISREG(about.st_mode) and about.st_size <= min(LARGEST_READ, budget)
        budget -= about.st_size if readable else 0
        content = _content(os.path.join(root, path), about, readable)
        found[path] = ScannedFile(mark, content, time.time_ns() - about.st_ctime_ns > _RACY)
    return Scan(found, whole=True)


def differences(before: Scan, after: Scan) -> dict[str, str]:
    """A, M or D by path. A file with another time and the same content did not change."""
    found = {path: "D" for path in before.files if path not in after.files}
    for path, now in after.files.items():
        then = before.files.get(path)
        if then is None:
            found[path] = "A"
        elif then.content != now.content:
            found[path] = "M"
    return found


def _walk(
    root: str, counts: Callable[[str], bool], ignored: IgnoreFiles | None
) -> Iterator[tuple[str, os.stat_result]]:
    """All that is not a folder. A folder that cannot be listed has nothing in it."""
    waiting, tools = [""], ToolOutput(root)
    while waiting:
        folder = waiting.pop()
        with contextlib.suppress(OSError), untrusted_files.scan(os.path.join(root, folder)) as entries:
            inside = sorted(entries, key=lambda entry: entry.name)
            if ignored is not None and any(entry.name == ".gitignore" for entry in inside):
                ignored.read(os.path.join(root, folder, ".gitignore"), folder)
            for entry in inside:
                is_folder = entry.is_dir(follow_symlinks=False)
                path = f"{folder}{entry.name}/" if is_folder else folder + entry.name
                if not counts(path) or tools.covers(path) or (ignored is not None and ignored.covers(path)):
                    continue
                if is_folder:
                    waiting.append(path)
                    continue
                with contextlib.suppress(OSError):  # it is gone by now
                    about = entry.stat(follow_symlinks=False)
                    if stat.S_ISREG(about.st_mode) or stat.S_ISLNK(about.st_mode):
                        yield path, about


def _content(path: str, about: os.stat_result, readable: bool) -> str:
    """What changes when the file does."""
    mode = f"{about.st_mode:o}"
    with contextlib.suppress(OSError):  # it may be looked at, but not read
        if stat.S_ISLNK(about.st_mode):
            return f"{mode} {untrusted_files.read_link(path)}"
        if readable:
            return f"{mode} {checksum(path)}"
    return f"{mode} {about.st_size} {about.st_mtime_ns} {about.st_ctime_ns}"


def checksum(path: str | Path) -> str:
    """Of a file's content."""
    with untrusted_files.open_file(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
