"""Finds programs. As `shutil.which` does, whose import takes longer than all that is done with it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping


def which(program: str, path: str | None) -> str | None:
    """The file that would be started in the folders of `path`; None when there is none. None for `path` is our own."""
    if path is None:
        path = os.environ.get("PATH", os.defpath)
    folders = [""] if os.path.dirname(program) else path.split(os.pathsep) if path else []
    found = (os.path.join(folder, program) for folder in folders)
    return next((file for file in found if os.path.isfile(file) and os.access(file, os.X_OK)), None)


def found_outside(environ: Mapping[str, str], folders: Iterable[str]) -> dict[str, str]:
    """This environment with a PATH that leads neither into these folders nor to where the program happens to stand."""
    inside = tuple(f"{os.path.realpath(folder).rstrip('/')}/" for folder in folders)
    listed = environ.get("PATH", os.defpath).split(os.pathsep)
    safe = [path for path in listed if path.startswith("/") and not f"{os.path.realpath(path)}/".startswith(inside)]
    return {**environ, "PATH": os.pathsep.join(safe)}
