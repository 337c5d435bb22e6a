"""Files and folders of ours that a killed process left half-made: finds and removes them.

Only what carries a name of our own making counts, only where we make such names, and only when no process can still be
busy with it: the process that it is named after is dead, or it has not changed for an hour.
"""

from __future__ import annotations

from pathlib import Path

from claude_iterate.workspace import journal_reader
from claude_iterate.workspace.files import untrusted_files
from claude_iterate.workspace.files.untrusted_files import find_abandoned
from claude_iterate.workspace.layout import Layout


def half_made_runs(layout: Layout) -> list[Path]:
    """Folders of runs that were killed before their first entry. Call this only while the workspace is not running."""
    return [layout.runs / run for run in layout.run_ids() if _is_half_made(layout, run)]


def abandoned_in_workspace(layout: Layout, remove: bool = False) -> list[Path]:
    """What atomic writes left in a workspace. What cannot be removed stays."""
    inside = [folder for folder in (layout.control, layout.notes) if untrusted_files.is_folder(folder)]
    return [path for folder in (layout.folder, *inside) for path in find_abandoned(folder, remove=remove)]


def _is_half_made(layout: Layout, run: str) -> bool:
    """No entry in the journal and no output of Claude: there is nothing to lose. Nor is there in a dry run's copy."""
    path, copy = layout.journal(run), layout.dry_run_copy(run)
    try:
        if path.is_file() and next(journal_reader.read(path), None) is not None:
            return False
        files = [file for file in (layout.runs / run).rglob("*") if not file.is_dir() or file.is_symlink()]
        return all(file == path or copy in file.parents or file.lstat().st_size == 0 for file in files)
    except OSError:
        return False
