"""Finds on the disk what the scripts of checks take in, step by step, within bounds, and modules that take the place of
others."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from claude_iterate.core.tampering.included_files import included
from claude_iterate.system import untrusted_files

_LARGEST = 256 * 1024
_MOST = 50
_DEEPEST = 3
_MOST_IN_FOLDER = 2000
_IMPORTED_EARLY = frozenset({"sitecustomize", "usercustomize", "pytest", "_pytest", "pluggy", "coverage", "hypothesis"})
"""Beside the modules of Python: those that Python and test runners import by themselves."""


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
    data = untrusted_files.read(script, _LARGEST)
    if data is None:
        return []
    named = included(str(script.relative_to(root)), data.decode("utf-8", "replace"))
    found = (path for name in named for path in untrusted_files.find_absolute(root / name)[:_MOST])
    return [path for path in found if path.is_file()]


def hiding_modules(folder: Path) -> list[Path]:
    """The modules in this folder that have the name of one of Python's own or of a test runner's."""
    try:
        with untrusted_files.scan(folder) as entries:
            names = sorted(entry.name for entry, _ in zip(entries, range(_MOST_IN_FOLDER), strict=False))
    except OSError:
        return []
    hidden = sys.stdlib_module_names | _IMPORTED_EARLY
    found = [folder / name for name in names if name.partition(".")[0] in hidden]
    files = [path for path in found if path.suffix in {".py", ".so"} and path.is_file()]
    return [*files, *(path for name in found if not name.suffix and (path := name / "__init__.py").is_file())]
