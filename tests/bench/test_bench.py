"""The bench runs and says what it should; how fast anything is, is not asked here."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import bubblewrap

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the bench starts shell scripts")


def bench(*flags: str) -> subprocess.CompletedProcess[str]:
    command = [str(ROOT / "bench" / "run"), "--quick", *flags]
    environ = os.environ | {"PYTHON": sys.executable}
    return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=500, check=False)


@pytest.mark.needs_git
def test_the_bench_measures_everything_and_judges_against_the_budget() -> None:
    """`bench/run --quick --json` prints one document whose rows have a figure, and a verdict where a target is. The log
    holds every text once and in order, however slow the machine."""
    done = bench("--json")
    assert (done.returncode, done.stderr) == (0, "")
    rows = {row["what"]: row for row in json.loads(done.stdout)["rows"]}
    for row in rows.values():
        assert math.isfinite(row["value"])
        assert row["verdict"] in ({"ok", "over"} if row["target"] is not None else {""})
    assert rows["texts that were lost, doubled or misplaced"]["value"] == 0


def test_the_table_has_a_row_for_each_figure() -> None:
    """With its target and its verdict; at the end the load of the machine."""
    done = bench("--only", "iterations")
    assert (done.returncode, done.stderr) == (0, "")
    header, *rows, empty, about = done.stdout.splitlines()
    assert (header.split(), len(rows), empty) == (["measurement", "value", "target"], 3 + bubblewrap.works(), "")
    assert "load at the beginning" in about
