"""Paths as short as they can be from where the user is."""

from __future__ import annotations

import os


def near(path: str | os.PathLike[str]) -> str:
    """Relative to the current folder for what is in it; all others as they are."""
    try:
        here = os.getcwd()
    except OSError:  # it was deleted
        return os.fspath(path)
    beside = os.path.relpath(path, here)
    return os.fspath(path) if beside == os.pardir or beside.startswith(os.pardir + os.sep) else beside
