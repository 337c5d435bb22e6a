"""The id, the folders and the log file of a run. The workspace's lock must be held."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

from claude_iterate.workspace import creation, leftover_files, metadata_updates
from claude_iterate.workspace.files.folders import writing
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.run_folder import dry_run_files


def tidy_up(layout: Layout, dry_run: bool) -> None:
    """Record how a killed last run ended, if it could not."""
    leftover_files.remove_abandoned_files(layout)
    with writing(layout.name, layout.folder):
        metadata_updates.catch_up(layout)
        if not dry_run:
            creation.add_git_ignore(layout)  # a workspace of the original has none


def new_run_id(layout: Layout) -> str:
    """The id of the next run."""
    return layout.next_run_id(f"{datetime.now(UTC):%Y%m%d-%H%M%S}")


def log_path(layout: Layout) -> Path:
    """Named after the local time at which the run begins; a second run in that second gets `-2`."""
    stem = datetime.now().astimezone().strftime("iterate-%Y%m%d-%H%M%S")
    path, number = layout.folder / f"{stem}.log", 2
    while path.exists():
        path, number = layout.folder / f"{stem}-{number}.log", number + 1
    return path


def make_folders(layout: Layout, run: str, keep_raw_runs: int, played: str = "") -> None:
    """Make the folders of this run, and delete what Claude printed in old runs and what the fake wrote there; not in
    the run that is `played`."""
    with writing(layout.name, layout.folder):
        Path(layout.raw(run, "")).parent.mkdir(parents=True)
        if layout.dry_run_folder is not None:
            dry_run_files.make_copy(layout)
    runs = layout.run_ids()
    scratches = [layout.scratch(before) for before in runs[-2:-1]]  # it may have been killed during a verification
    for folder in (*scratches, *_old_outputs(layout, runs, keep_raw_runs, played)):
        if folder.exists():
            shutil.rmtree(folder, ignore_errors=True)


def _old_outputs(layout: Layout, runs: list[str], keep: int, played: str) -> list[Path]:
    """What Claude printed in all runs but the last `keep`, and copies of dry runs. Dry runs are counted apart: however
    many there are, a real night stays."""
    kept = [run for run in runs if (layout.runs / run / "raw").exists()]
    dry = [run for run in kept if layout.dry_run_copy(run).exists()]
    real = sorted(set(kept).difference(dry))
    old = [run for run in (*real[:-keep], *dry[:-keep]) if run != played]
    return [folder for run in old for folder in (layout.runs / run / "raw", layout.dry_run_copy(run))]
