"""Finds programs. As `shutil.which` does, whose import takes longer than all that is done with it."""

from __future__ import annotations

import os


def which(program: str, path: str | None) -> str | None:
    """The file that would be started in the folders of `path`; None when there is none. None for `path` is our own."""
    if path is None:
        path = os.environ.get("PATH", os.defpath)
    folders = [""] if os.path.dirname(program) else path.split(os.pathsep) if path else []
    found = (os.path.join(folder, program) for folder in folders)
    return next((file for file in found if os.path.isfile(file) and os.access(file, os.X_OK)), None)
