"""Repositories inside the project. git acts on the settings of one that it meets, so those of Claude are renamed."""

from __future__ import annotations

import contextlib
from pathlib import Path

from claude_iterate.system import untrusted_files

ASIDE = "-from-claude"


def find(root: Path) -> tuple[str, ...]:
    """What makes git take a folder for a repository, relative to the project: each `.git`, and the HEAD of each folder
    that has the inside of one."""
    found: list[Path] = []
    waiting = [root]
    while waiting:
        folder = waiting.pop()
        is_folder: dict[str, bool] = {}
        with contextlib.suppress(OSError), untrusted_files.scan(folder) as entries:
            is_folder = {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
        if ".git" in is_folder:
            found.append(folder / ".git")
        if "HEAD" in is_folder and ({"objects", "refs"} <= is_folder.keys() or "commondir" in is_folder):
            found.append(folder / "HEAD")
            continue
        waiting += [folder / name for name, leads_on in is_folder.items() if leads_on and name != ".git"]
    return tuple(sorted(str(path.relative_to(root)) for path in found))


def put_aside(root: Path, known: tuple[str, ...]) -> dict[str, str]:
    """Rename all but those that are known. The new name of each that was renamed, by its old one."""
    renamed = {}
    for name in sorted({*find(root)}.difference(known)):
        number = 0
        while untrusted_files.exists(root / (aside := f"{name}{ASIDE}{number or ''}")):
            number += 1
        with contextlib.suppress(OSError):
            untrusted_files.rename(root / name, root / aside)
            renamed[name] = aside
    return renamed
