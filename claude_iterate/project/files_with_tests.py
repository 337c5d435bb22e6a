"""Finds the files of a project that look like tests, within bounds: a project may have a million files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

import msgspec

from claude_iterate.core.tampering.marks_of_tests import may_hold_tests
from claude_iterate.project.ignored import is_named_as_such
from claude_iterate.system import untrusted_files

_MOST_ENTRIES = 20_000
_MOST_FILES = 2000
_MOST_FOLDERS = 200
_OF_OTHERS = frozenset(
    """
    jspm_packages vendor third_party external env venv virtualenv site-packages target dist build out coverage tmp temp
    """.split()  # noqa: SIM905 - one name per line would take a page
)
"""More folders with code of others and with products: no tests of the project are looked for there. Folders that begin
with a dot are left out as well."""


class FoundTests(msgspec.Struct, frozen=True):
    """Paths in the project, sorted, and how many more there are; at least 1 when not all folders were looked into."""

    paths: list[str]
    left_out: int = 0


def find(root: str, counts: Callable[[str], bool]) -> FoundTests:
    """Folder by folder, those near the root first. What does not `count` is left out with all that is in it."""
    found: list[str] = []
    entries, folders = 0, [""]
    for prefix in folders:  # grows while it is read
        try:
            with untrusted_files.scan(f"{root}/{prefix}") as listing:
                inside = sorted((entry.name, _is_folder(entry)) for entry in listing)
        except OSError:
            continue
        entries += len(inside)
        for own, is_folder in inside:
            name = prefix + own
            if is_folder:
                if not _is_left_out(own) and counts(name):
                    folders.append(f"{name}/")
            elif may_hold_tests(name) and counts(name):
                found.append(name)
        if entries > _MOST_ENTRIES:
            return FoundTests(sorted(found[:_MOST_FILES]), max(1, len(found) - _MOST_FILES))
    return FoundTests(sorted(found[:_MOST_FILES]), max(0, len(found) - _MOST_FILES))


def around(tests: Iterable[str]) -> list[str]:
    """Files that Python would read before these tests, whether they are there or not: in their folders and in those
    above."""
    folders: dict[str, None] = {}
    for name in tests:
        folder = name.rpartition("/")[0] if name.endswith(".py") else ""
        while folder and folder not in folders and len(folders) < _MOST_FOLDERS:
            folders[folder] = None
            folder = folder.rpartition("/")[0]
    return [f"{folder}/{name}" for folder in folders for name in ("conftest.py", "__init__.py")]


def is_made_by_tools(path: str) -> bool:
    """In a folder in which tools keep what they fetched or made."""
    return any(_is_left_out(part) for part in path.split("/")[:-1])


def _is_left_out(folder: str) -> bool:
    return folder.startswith(".") or folder in _OF_OTHERS or is_named_as_such(folder)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False
