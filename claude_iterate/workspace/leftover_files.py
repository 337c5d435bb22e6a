"""Files and folders of ours that a killed process left half-made: finds and removes them.

Only what carries a name of our own making counts, only where we make such names, and only when no process can still be
busy with it: the process that it is named after is dead, or it has not changed for an hour.
"""

from __future__ import annotations

from pathlib import Path

from claude_iterate.system.untrusted_files import find_abandoned, is_folder
from claude_iterate.workspace.layout import Layout


def abandoned_in_workspace(layout: Layout, remove: bool = False) -> list[Path]:
    """What atomic writes left in a workspace. What cannot be removed stays."""
    inside = [folder for folder in (layout.control, layout.notes) if is_folder(folder)]
    return [path for folder in (layout.folder, *inside) for path in find_abandoned(folder, remove=remove)]
