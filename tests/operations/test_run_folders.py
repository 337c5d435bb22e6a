"""The id and the log of a run are named after the moment at which it begins."""

from __future__ import annotations

from pathlib import Path

from freezegun import freeze_time
from msgspec.structs import replace

from claude_iterate.operations import launch
from claude_iterate.workspace.layout import Layout


@freeze_time("2026-12-31 23:59:59")
def test_log_and_id_are_named_after_the_moment(tmp_path: Path) -> None:
    """To the second, also at the end of a year."""
    layout = Layout(tmp_path, tmp_path)
    assert launch.log_path(layout).name == "iterate-20261231-235959.log"
    assert launch.new_run_id(layout).startswith("000001-20261231-235959-")


@freeze_time("2026-12-31 23:59:59")
def test_two_logs_of_one_second_are_two(tmp_path: Path) -> None:
    """The clock stands still: no log is written over another."""
    layout = Layout(tmp_path, tmp_path)
    for _ in range(3):
        launch.log_path(layout).touch()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "iterate-20261231-235959-2.log",
        "iterate-20261231-235959-3.log",
        "iterate-20261231-235959.log",
    ]


def test_dry_runs_do_not_push_out_a_real_night(tmp_path: Path) -> None:
    """Of each kind the last ones keep their raw output, and the one that is played keeps it anyway."""
    layout = Layout(tmp_path, tmp_path)
    runs = [f"{number:06d}-x" for number in range(1, 10)]
    for run in runs:
        dry = run not in {"000001-x", "000002-x", "000003-x"}
        used = replace(layout, dry_run_folder=layout.dry_run_copy(run)) if dry else layout
        launch.make_folders(used, run, 2, "000004-x")
    left = [run for run in runs if (layout.runs / run / "raw").exists()]
    assert [int(run[:6]) for run in left] == [2, 3, 4, 8, 9]
    assert [int(run[:6]) for run in runs if layout.dry_run_copy(run).exists()] == [4, 8, 9]
