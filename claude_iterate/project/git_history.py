"""Asks git whether it had a text before: what `git checkout` or `git stash pop` brings back was not written now."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from claude_iterate.project.git_commands import Git, GitProblem

_PATIENCE = 5.0


def had(root: Path, data: bytes, since: float, environ: Mapping[str, str] = os.environ) -> bool:
    """True when the repository has had a file with these bytes since before that moment (epoch seconds): in a commit of
    any branch, in a stash or in the index. False where git cannot be asked.

    The age of git's own copy tells an old text from one that was written and committed just now.
    """
    blob = b"blob %d\0%b" % (len(data), data)
    names = [hashlib.new(kind, blob, usedforsecurity=False).hexdigest() for kind in ("sha1", "sha256")]
    git = Git(str(root), environ)
    git.allow(_PATIENCE)
    try:
        answers = (
            git.ask("cat-file", "--batch-check=%(objectname)", given="\n".join(names).encode()).decode().splitlines()
        )
        name = next((name for name in names if name in answers), "")
        if not name:
            return False
        place = git.line("rev-parse", "--git-path", f"objects/{name[:2]}/{name[2:]}")
    except GitProblem:
        return False
    try:
        return (root / place).stat().st_mtime < since
    except OSError:
        return True  # it is in a pack: git puts things there long after they were written
