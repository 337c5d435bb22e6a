"""Which new and changed files go into a snapshot: nothing huge, nothing secret, nothing that is no file of the project.

What is left out is named, and still seen by its size and time.
"""

from __future__ import annotations

import fnmatch
import os
import stat
from collections import Counter

import msgspec

LARGEST_NEW = 10 << 20
LARGEST_CHANGED = 100 << 20
MOST_NEW = 20_000
MOST_BYTES = 500 << 20
SECRETS = (".env", ".env.*", "*.pem", "*.key", "*.p12", "id_rsa*", "id_ed25519*", ".npmrc", ".netrc")
"""Names of files that are not put into the repository unless they are there already."""
_SAMPLES = (".example", ".sample", ".template", ".dist")

Mark = tuple[int, int, int]
"""Size, time of the last change and inode: another mark is another content."""


class Choice(msgspec.Struct, frozen=True):
    """What to hash, what is gone, and what is left out: with the reason, and with a mark that shows whether it
    changed."""

    paths: list[str]
    gone: list[str]
    left_out: dict[str, str]
    marks: dict[str, Mark]


def choose(top: str, new: list[str], changed: list[str]) -> Choice:
    """Judge paths of the work tree `top`: new ones, and those that differ from what is known."""
    paths: list[str] = []
    gone: list[str] = []
    left_out: dict[str, str] = {}
    marks: dict[str, Mark] = {}
    sizes: dict[str, int] = {}
    for path in new:
        if path.endswith("/"):
            left_out[path] = "a repository of its own"
            continue
        about = _look(top, path)
        if about is None or not (stat.S_ISREG(about.st_mode) or stat.S_ISLNK(about.st_mode)):
            continue
        if about.st_size > LARGEST_NEW:
            left_out[path], marks[path] = "over 10 MB", _mark(about)
        elif is_secret(path):
            left_out[path], marks[path] = "looks secret", _mark(about)
        else:
            sizes[path] = about.st_size
    for path in changed:
        about = _look(top, path)
        if about is None or (stat.S_ISDIR(about.st_mode) and not os.path.lexists(_place(top, f"{path}/.git"))):
            gone.append(path)
        elif about.st_size > LARGEST_CHANGED:
            left_out[path], marks[path] = "over 100 MB", _mark(about)
        else:
            paths.append(path)
    _bound(sizes, left_out)
    return Choice(paths + list(sizes), gone, left_out, marks)


def is_secret(path: str) -> bool:
    """True for the name of a file that people keep to themselves."""
    name = path.rpartition("/")[2]
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in SECRETS) and not name.endswith(_SAMPLES)


def mark_of(path: str | bytes) -> Mark | None:
    """What shows a change without reading the file; None when there is none."""
    try:
        about = os.stat(path)
    except OSError:
        return None
    return _mark(about)


def _mark(about: os.stat_result) -> Mark:
    return about.st_size, about.st_mtime_ns, about.st_ino


def _look(top: str, path: str) -> os.stat_result | None:
    try:
        return os.lstat(_place(top, path))
    except OSError:
        return None


def _place(top: str, path: str) -> bytes:
    return os.path.join(os.fsencode(top), os.fsencode(path))


def _bound(sizes: dict[str, int], left_out: dict[str, str]) -> None:
    """Leave out the fullest folders until the number and the sum of the new files are within their bounds."""
    while len(sizes) > MOST_NEW or sum(sizes.values()) > MOST_BYTES:
        folder = _fullest(sizes, len(sizes) > MOST_NEW)
        inside = (
            [path for path in sizes if path.startswith(folder)]
            if folder
            else sorted(sizes, key=sizes.__getitem__)[-100:]
        )
        for path in inside:
            del sizes[path]
        left_out[folder or "the largest new files"] = f"{len(inside)} new files"


def _fullest(sizes: dict[str, int], by_number: bool) -> str:
    """The deepest folder that still has most of what is too much; empty when files stand at the top."""
    found = ""
    while True:
        inside: Counter[str] = Counter()
        for path, size in sizes.items():
            if path.startswith(found) and "/" in path[len(found) :]:
                inside[found + path[len(found) :].split("/", 1)[0] + "/"] += 1 if by_number else size
        if not inside:
            return found
        best, much = inside.most_common(1)[0]
        if found and much < 0.9 * sum(inside.values()):
            return found
        found = best
