"""A project's own files, read to find its commands: bounded, and tolerant of files that are broken."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from claude_iterate.workspace.files import untrusted_files

_LARGEST = 1_000_000
MANAGERS = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lockb": "bun", "bun.lock": "bun"}
"""Which program runs the scripts of package.json, by the file that it leaves."""
TARGET = re.compile(r"^([a-z][\w-]*+)(?:[ \t][^:\n]*+)?:(?!=)", re.MULTILINE)
"""A target of a Makefile or a recipe of a justfile, which may have parameters."""


def text_of(path: Path) -> str:
    """The beginning of a regular file; empty for anything else."""
    try:
        return untrusted_files.look(path, _LARGEST).data.decode("utf-8", "replace")
    except OSError:
        return ""


def json_in(path: Path) -> dict[str, Any]:
    """The object in a file of JSON; an empty one for anything else."""
    try:
        found = json.loads(text_of(path) or "{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def names_in(root: Path) -> frozenset[str]:
    """The names of what is in a folder, as far as it can be read."""
    try:
        return frozenset(path.name for path in root.iterdir())
    except OSError:
        return frozenset()
