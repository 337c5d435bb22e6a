"""Files and folders of ours that a killed process left half-made: finds and removes them.

Only what carries a name of our own making counts, only where we make such names, and only when no process can still be
busy with it: the process that it is named after is dead, or it has not changed for an hour.
"""

from __future__ import annotations

import re
from pathlib import Path

from claude_iterate.system import processes
from claude_iterate.workspace import templates
from claude_iterate.workspace.files import untrusted_files
from claude_iterate.workspace.files.untrusted_files import find_abandoned, is_untouched
from claude_iterate.workspace.layout import Layout

_MADE = re.compile(r"\.(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)\.[a-z0-9_]{8}")
_DELETED = re.compile(r"\.(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)\.deleted\.(?P<pid>\d+)")
_CONTENTS = frozenset({"working", "runs", "TODO.md", "INSTRUCTIONS.md", ".metadata.json"})


def abandoned_in_workspace(layout: Layout, remove: bool = False) -> list[Path]:
    """What atomic writes left in a workspace. What cannot be removed stays."""
    inside = [folder for folder in (layout.control, layout.notes) if untrusted_files.is_folder(folder)]
    return [path for folder in (layout.folder, *inside) for path in find_abandoned(folder, remove=remove)]


def stale_folders(folder: Path) -> list[Path]:
    """What a killed `init`, `template save` or deletion left beside the folders it was busy with.

    A folder that was being deleted counts when its process is dead, or after an hour, as its pid may be in use again.
    """
    deleted, made = _hidden_folders(folder)
    dead = [path for path, found in deleted.items() if not processes.is_alive(int(found["pid"]))]
    # A folder that is being filled or emptied changes all the time, and so do those in it.
    old = [path for path in (*deleted, *made) if is_untouched(path)]
    idle = [path for path in old if path in deleted or _looks_like_ours(path)]
    return sorted({*dead, *idle})


def is_aside(name: str) -> bool:
    """True for the names that folders have while we make or delete them."""
    return _MADE.fullmatch(name) is not None or _DELETED.fullmatch(name) is not None


def _hidden_folders(folder: Path) -> tuple[dict[Path, re.Match[str]], dict[Path, re.Match[str]]]:
    """Folders that are being deleted, and those that are being made."""
    hidden = (folder / name for name in untrusted_files.names_in(folder) if name.startswith("."))
    folders = [path for path in hidden if untrusted_files.is_folder(path)]
    deleted = {path: found for path in folders if (found := _DELETED.fullmatch(path.name))}
    return deleted, {path: found for path in folders if path not in deleted and (found := _MADE.fullmatch(path.name))}


def _looks_like_ours(path: Path) -> bool:
    """Empty, or with something in it that workspaces and templates have."""
    try:
        inside = {entry.name for entry in path.iterdir()}
    except OSError:
        return False
    return not inside or bool(inside & {*_CONTENTS, templates.ABOUT})
