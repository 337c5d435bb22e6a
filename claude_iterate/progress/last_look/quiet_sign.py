"""A cheap sign that nothing changed in a repository since it was looked at: then git need not be asked again.

Each file of a small work tree by its size, times and inode, and the files in which git keeps HEAD, branches and index.
The system's own time of change cannot be set by a program. Whatever is in doubt is no sign: then git is asked.
"""

from __future__ import annotations

import os
import stat
import time

MOST_ENTRIES = 1_500
"""Files and folders; asking git about more is quicker than to look at each."""
_RACY = 50_000_000
_COARSE = 2_500_000_000
"""Nanoseconds: a file that changed so shortly before may change again without another time, on a disk that keeps whole
seconds even longer."""
_SECOND = 1_000_000_000
_BRANCH = "ref: refs/heads/"

Sign = dict[str, tuple[int, ...]]


class _Doubt(Exception):
    """There is no sign."""


class TooLarge(Exception):
    """There is none, and there will be none: the project has too many files."""


def sign_of(top: str, folder: str, own: tuple[str, ...], kept: tuple[str, ...]) -> Sign | None:
    """What moves with every change of the work tree `top`, of which git's folder is `folder`; None where that cannot be
    said, TooLarge where that never can. `own` are folders of ours that do not count, `kept` files in them that do.
    To be taken before git is asked: then a change in between is seen the next time."""
    began = time.time_ns()
    found: Sign = {}
    try:
        _look_at_git(found, folder)
        _look_at_files(found, top, own)
        for path in kept:
            found[path] = _mark(os.path.join(top, path))
    except (_Doubt, OSError, ValueError):
        return None
    newest = max(mark[2] for mark in found.values())
    return found if began - newest > (_RACY if newest % _SECOND else _COARSE) else None


def _look_at_git(found: Sign, folder: str) -> None:
    """HEAD, the branch it names, what is staged, and what is excluded. Linked worktrees and other ways to keep branches
    are in doubt."""
    if os.path.exists(f"{folder}/commondir") or os.path.exists(f"{folder}/reftable"):
        raise _Doubt
    with open(f"{folder}/HEAD", encoding="utf-8") as file:
        head = file.read(4096).strip()
    names = ["HEAD", "index", "packed-refs", "config", "info/exclude", "info/sparse-checkout"]
    if head.startswith(_BRANCH):
        names.append(branch := head.removeprefix("ref: "))
        if _is_symbolic(f"{folder}/{branch}"):
            raise _Doubt
    for name in names:
        found[f".git/{name}"] = _mark(f"{folder}/{name}")


def _is_symbolic(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"ref:"
    except FileNotFoundError:
        return False  # it is among the packed ones, or has no commit yet


def _look_at_files(found: Sign, top: str, own: tuple[str, ...]) -> None:
    """Every file but ours, ignored or not: which ones count is for git to say."""
    waiting, seen = [""], 0
    while waiting:
        folder = waiting.pop()
        with os.scandir(os.path.join(top, folder) if folder else top) as entries:
            for entry in entries:
                path = folder + entry.name
                seen += 1
                if seen > MOST_ENTRIES:
                    raise TooLarge
                if entry.name == ".git":
                    if folder:
                        raise _Doubt  # a repository of its own, or a submodule
                elif not entry.is_dir(follow_symlinks=False):
                    if not path.startswith(own):
                        found[path] = _numbers(entry.stat(follow_symlinks=False))
                elif not f"{path}/".startswith(own):
                    waiting.append(f"{path}/")


def _mark(path: str) -> tuple[int, ...]:
    try:
        return _numbers(os.lstat(path))
    except FileNotFoundError:
        return (0, 0, 0)


def _numbers(about: os.stat_result) -> tuple[int, ...]:
    if not stat.S_ISREG(about.st_mode) and not stat.S_ISLNK(about.st_mode):
        raise _Doubt
    return (about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino, about.st_mode)
