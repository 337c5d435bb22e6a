"""Asks git whether it had a text before: what `git checkout` or `git stash pop` brings back was not written now."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_PATIENCE = 5.0


def had(root: Path, data: bytes, since: float) -> bool:
    """True when the repository has had a file with these bytes since before that moment (epoch seconds): in a commit of
    any branch, in a stash or in the index. False where git cannot be asked.

    The age of git's own copy tells an old text from one that was written and committed just now.
    """
    import hashlib

    blob = b"blob %d\0%b" % (len(data), data)
    names = [hashlib.new(kind, blob, usedforsecurity=False).hexdigest() for kind in ("sha1", "sha256")]
    answers = _ask(root, "cat-file", "--batch-check=%(objectname)", given="\n".join(names))
    name = next((name for name in names if name in answers.splitlines()), "")
    if not name:
        return False
    place = _ask(root, "rev-parse", "--git-path", f"objects/{name[:2]}/{name[2:]}").rstrip("\n")
    try:
        return (root / place).stat().st_mtime < since
    except OSError:
        return True  # it is in a pack: git puts things there long after they were written


def _ask(root: Path, *arguments: str, given: str = "") -> str:
    """What git prints; nothing when it fails, is missing or takes too long."""
    quietly = {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}
    try:
        done = subprocess.run(
            ["git", *arguments],
            cwd=root,
            env=os.environ | quietly,
            input=given.encode(),
            capture_output=True,
            timeout=_PATIENCE,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode("utf-8", "replace")
