"""The bench runs and says what it should; how fast anything is, is not asked here."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TARGETS = {
    "commands": {
        "--help": 150,
        "--help, CPU against import click": 3,
        "completion": 150,
        "completion, CPU against import click": 3,
        "list of 20": 150,
        "list of 20, CPU against import click": 3,
        "show": 150,
        "show, CPU against import click": 3,
        "import click, CPU": None,
    },
    "iterations": {
        "run until Claude is started": 300,
        "each further iteration, CPU": 10,
        "each further iteration in git, CPU": 25,
    },
    "stream": {
        "CPU of an event, verbose, 2000 at once": 60,
        "peak memory": 60,
        "more of it than for a tenth of the events": 8,
        "texts that were lost, doubled or misplaced": 0,
        "delay to the console, 99th percentile": 50,
    },
}

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the bench starts shell scripts")


def bench(*flags: str) -> subprocess.CompletedProcess[str]:
    command = [str(ROOT / "bench" / "run"), "--quick", *flags]
    environ = os.environ | {"PYTHON": sys.executable}
    return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=500, check=False)


@pytest.mark.needs_git
@pytest.mark.parametrize("name", TARGETS)
def test_the_bench_measures_everything_and_judges_against_the_budget(name: str) -> None:
    """`bench/run --quick --json` prints one document whose rows have a figure, and a verdict where a target is."""
    done = bench("--json", "--only", name)
    assert (done.returncode, done.stderr) == (0, "")
    rows = {row["what"]: row for row in json.loads(done.stdout)["rows"]}
    assert {what: row["target"] for what, row in rows.items()} == TARGETS[name]
    for row in rows.values():
        assert math.isfinite(row["value"])
        assert row["verdict"] in ({"ok", "over"} if row["target"] is not None else {""})
    if name == "stream":  # no timing: the log must hold every text once and in order, however slow the machine
        assert rows["texts that were lost, doubled or misplaced"]["value"] == 0


def test_the_table_has_a_row_for_each_figure() -> None:
    """With its target and its verdict; at the end the load of the machine."""
    done = bench("--only", "iterations")
    assert (done.returncode, done.stderr) == (0, "")
    header, *rows, empty, about = done.stdout.splitlines()
    assert (header.split(), len(rows), empty) == (["measurement", "value", "target"], 3, "")
    assert "load at the beginning" in about
