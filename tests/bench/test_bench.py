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
    "a": 2.5,
    "b": 4,
    "b.peak": 80,
    "b.growth": 8,
    "b.written": 1.3,
    "b.lost": 0,
    "c.help": 1.6,
    "c.list": 6,
    "c.runs": 1.3,
}


@pytest.mark.skipif(sys.platform == "win32", reason="the bench starts shell scripts")
def test_the_bench_measures_everything_and_judges_against_its_targets():
    """`bench/run --quick --json` prints one document whose rows have a figure, and a verdict where a target is."""
    done = subprocess.run(
        [ROOT / "bench" / "run", "--quick", "--json"],
        env=os.environ | {"PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    rows = {row["id"]: row for row in json.loads(done.stdout)["rows"]}
    assert {row.partition(".")[0] for row in rows} == {"a", "b", "c", "d"}
    targets = {name: row["target"] for name, row in rows.items() if row["target"] is not None}
    assert targets == TARGETS | {"d.p99": 50}
    for row in rows.values():
        assert set(row) == {"id", "what", "value", "unit", "target", "verdict"}
        assert math.isfinite(row["value"])  # a.rest is a difference: noise may make it negative
        assert row["verdict"] in ({"ok", "over"} if row["target"] is not None else {""})
    # No timing: the log must hold every text once and in order, however slow the machine.
    assert rows["b.lost"]["value"] == 0
