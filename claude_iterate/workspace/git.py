"""Asks git for the name of what is in the project now. Never changes anything, never fails a run."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

_PATIENCE = 20.0


def tree_of(root: Path, without: Path) -> str:
    """The id of the tree that holds the project as it is, untracked files included, without one folder; empty where
    git cannot tell.

    A temporary index is used, so that the user's own is not touched.
    """
    if not _ask(root, "rev-parse", "--git-dir"):
        return ""
    with tempfile.TemporaryDirectory(prefix="claude-iterate-git-") as folder:
        index = {"GIT_INDEX_FILE": str(Path(folder, "index"))}
        _ask(root, "read-tree", "HEAD", **index)
        left_out = f":(exclude,top,literal){without.relative_to(root)}" if without.is_relative_to(root) else "."
        if _ask(root, "add", "--all", ".", left_out, **index) is None:
            return ""
        return _ask(root, "write-tree", **index) or ""


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
