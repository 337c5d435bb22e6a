"""What is in a project that no git knows: every file by its size, times and inode, with a hash of its content.

A file is read again only if one of these moved, so a second look at an unchanged project reads nothing.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from claude_iterate.project.ignored import Ignored
from claude_iterate.project.tool_output import ToolOutput

MOST_FILES = 200_000
LARGEST_READ = 10 << 20
_MOST_READ = 500 << 20
_RACY = 50_000_000
"""Nanoseconds: a file that changed so shortly before we looked may change again without another time."""


class Seen(msgspec.Struct, frozen=True):
    """One file: `mark` moves with every change, `content` is empty where it was not read."""

    mark: tuple[int, ...]
    content: bytes
    certain: bool


class Scan(msgspec.Struct, frozen=True):
    """All files by path. `whole` is False when there are more than we look at."""

    files: dict[str, Seen]
    whole: bool


def scan(root: Path, own: tuple[str, ...], ignore: tuple[str, ...], before: Scan | None = None) -> Scan:
    """Look at every file below `root` but our own, what tools leave and what is ignored. `before` saves reading what
    did not change."""
    known = before.files if before is not None else {}
    found: dict[str, Seen] = {}
    budget = _MOST_READ
    for path, about in _walk(str(root), own, Ignored(ignore)):
        if len(found) >= MOST_FILES:
            return Scan(found, whole=False)
        mark = (about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino, about.st_mode)
        last = known.get(path)
        if last is not None and last.mark == mark and last.certain:
            found[path] = last
            continue
        readable = about.st_size <= min(LARGEST_READ, budget)
        budget -= about.st_size if readable else 0
        content = _hash(os.path.join(root, path), about) if readable else b""
        found[path] = Seen(mark, content, time.time_ns() - about.st_ctime_ns > _RACY)
    return Scan(found, whole=True)


def differences(before: Scan, after: Scan) -> dict[str, str]:
    """A, M or D by path. A file with another time and the same content did not change."""
    found = {path: "D" for path in before.files if path not in after.files}
    for path, now in after.files.items():
        then = before.files.get(path)
        if then is None:
            found[path] = "A"
        elif (then.content, then.mark[-1]) != (now.content, now.mark[-1]) or (
            not now.content and then.mark != now.mark
        ):
            found[path] = "M"
    return found


def _walk(root: str, own: tuple[str, ...], ignored: Ignored) -> Iterator[tuple[str, os.stat_result]]:
    waiting, tools = [""], ToolOutput(root)
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(os.path.join(root, folder)) as entries:
                inside = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            continue
        if any(entry.name == ".gitignore" for entry in inside):
            ignored.add(_lines(os.path.join(root, folder, ".gitignore")), folder)
        for entry in inside:
            path = folder + entry.name
            is_folder = entry.is_dir(follow_symlinks=False)
            inside_own = f"{path}/".startswith(own)
            if inside_own or ignored.covers(path, folder=is_folder) or tools.covers(f"{path}/" if is_folder else path):
                continue
            if is_folder:
                waiting.append(f"{path}/")
            else:
                try:
                    about = entry.stat(follow_symlinks=False)
                except OSError:
                    continue
                if stat.S_ISREG(about.st_mode) or stat.S_ISLNK(about.st_mode):
                    yield path, about


def _hash(path: str, about: os.stat_result) -> bytes:
    try:
        if stat.S_ISLNK(about.st_mode):
            return hashlib.blake2b(os.fsencode(os.readlink(path)), digest_size=16).digest()
        with open(path, "rb") as file:
            return hashlib.blake2b(file.read(LARGEST_READ), digest_size=16).digest()
    except OSError:
        return b""


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(1 << 20).splitlines()
    except OSError:
        return []


def marks(paths: tuple[str, ...]) -> dict[str, tuple[int, ...]]:
    """What moves with every change of these files, and of those in these folders, without reading them."""
    found: dict[str, tuple[int, ...]] = {}
    waiting = list(paths)
    while waiting and len(found) < MOST_FILES:
        path = waiting.pop()
        try:
            about = os.lstat(path)
            waiting += [entry.path for entry in os.scandir(path)] if stat.S_ISDIR(about.st_mode) else []
        except OSError:
            continue
        if not stat.S_ISDIR(about.st_mode):
            found[path] = (about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino)
    return found
