"""Asks git for the tree id of the project as it is now. Adds nothing to the repository, and never fails a run."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

_PATIENCE = 20.0


def tree_of(root: Path, without: Path, scratch: Path) -> str:
    """The id of a tree with all files of the project, untracked ones included, without one folder; empty when git
    cannot make one.

    The index and new objects go into the folder `scratch`, which is removed afterwards; the repository is only read.
    """
    objects = _ask(root, "rev-parse", "--git-path", "objects")
    if not objects:
        return ""
    elsewhere = {
        "GIT_INDEX_FILE": f"{scratch}/index",
        "GIT_OBJECT_DIRECTORY": f"{scratch}/objects",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": _known_objects(root / objects),
    }
    left_out = f":(exclude,top,literal){without.relative_to(root)}" if without.is_relative_to(root) else "."
    try:
        (scratch / "objects").mkdir(parents=True, exist_ok=True)
        _ask(root, "read-tree", "HEAD", **elsewhere)
        # These objects are not kept, so compressing them would be a waste of time.
        added = _ask(root, "-c", "core.looseCompression=0", "add", "--all", ".", left_out, **elsewhere)
        return (_ask(root, "write-tree", **elsewhere) or "") if added is not None else ""
    except OSError:
        return ""
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _known_objects(repository: Path) -> str:
    """The existing folders of objects, in git's notation: a path with a colon has to be quoted."""
    name = str(repository).replace("\\", "\\\\").replace('"', '\\"')
    others = os.environ.get("GIT_ALTERNATE_OBJECT_DIRECTORIES")
    return os.pathsep.join([f'"{name}"', *([others] if others else [])])


def _ask(root: Path, *arguments: str, **environment: str) -> str | None:
    """What git prints; None when it fails, is missing or takes too long."""
    try:
        done = subprocess.run(
            ["git", *arguments],
            cwd=root,
            env=os.environ | environment | {"GIT_OPTIONAL_LOCKS": "0"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "replace").strip()
