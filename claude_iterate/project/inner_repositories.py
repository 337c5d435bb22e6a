"""Repositories inside the project. git acts on the settings of one that it meets, so those of Claude are renamed."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

ASIDE = "-from-claude"


def find(root: Path) -> tuple[str, ...]:
    """What makes git take a folder for a repository, relative to the project: each `.git`, and the HEAD of each folder
    that has the inside of one. Links are not followed."""
    found: list[str] = []
    for folder, inner, files in os.walk(root):
        names = [name for name in (".git",) if name in inner or name in files]
        if "HEAD" in files and {"objects", "refs"} <= {*inner}:
            names, inner[:] = ["HEAD"], []
        inner[:] = [name for name in inner if name != ".git"]
        found += [os.path.relpath(os.path.join(folder, name), root) for name in names]
    return tuple(sorted(found))


def put_aside(root: Path, known: tuple[str, ...]) -> list[str]:
    """Rename all but those that are known. The old names of those that were renamed."""
    renamed = []
    for name in sorted({*find(root)}.difference(known)):
        with contextlib.suppress(OSError):
            os.rename(root / name, root / (name + ASIDE))
            renamed.append(name)
    return renamed
