"""Finds on the disk what the scripts of checks take in, step by step, within bounds."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from pathlib import Path

from claude_iterate.core.tampering.included_files import included

_LARGEST = 256 * 1024
_MOST = 50
_DEEPEST = 3


def taken_in(root: Path, scripts: Iterable[Path]) -> list[Path]:
    """The files of the project that these scripts include, source or import, and those that they do in turn."""
    found: dict[Path, None] = {}
    level = list(dict.fromkeys(scripts))
    for _ in range(_DEEPEST):
        level = [path for script in level for path in _of(root, script) if path not in found]
        found |= dict.fromkeys(level[: _MOST - len(found)])
    return list(found)


def _of(root: Path, script: Path) -> list[Path]:
    if not script.is_relative_to(root):
        return []
    try:
        if not script.is_file() or script.stat().st_size > _LARGEST:
            return []
        text = script.read_bytes().decode("utf-8", "replace")
    except OSError:
        return []
    places = [os.path.normpath(root / name) for name in included(str(script.relative_to(root)), text)]
    return [Path(name) for place in places for name in sorted(glob.glob(place))[:_MOST] if Path(name).is_file()]
