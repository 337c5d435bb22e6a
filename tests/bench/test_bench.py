"""The bench runs and says what it should; how fast anything is, is not asked here."""

from __future__ import annotations

import json
import math
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
TARGETS = {
    "a": 2.5,
    "a.rest": 2,
    "a.git": 2,
    "b": 3.5,
    "b.peak": 80,
    "b.growth": 8,
    "b.written": 1.3,
    "b.lost": 0,
    "c.help": 1.6,
    "c.list": 6,
    "c.runs": 1.3,
    "d.p99": 50,
    "e": 2.5,
    "e.cpu": 2.5,
    "f": 3.5,
    "f.paced": 3,
    "f.p99": 20,
    "f.added": 20,
    "g": 6,
    "g.many": 1.15,
    "h.small": 1.1,
    "h.small.look": 600,
    "h.small.ms": 1200,
    "h.large": 1.1,
    "h.large.look": 600,
    "h.large.ms": 1200,
}
STAND_IN = shlex.join([sys.executable, str(Path(__file__).with_name("original_stand_in.py"))])
BOTH = {"a", "a.spread", "a.start", "a.rest", "a.cpu", "c.help", "c.list", "c.show", "d.p50", "d.p99", "f.start"} | {
    name for name in TARGETS if name[0] in "efg" and name != "g.many"
}
"""What the original can do too."""
COLUMNS = {"id", "what", "value", "unit", "target", "verdict"}

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the bench starts shell scripts")


def bench(*flags: str, **variables: str) -> str:
    environ = {name: value for name, value in os.environ.items() if name != "BENCH_ORIGINAL"}
    done = subprocess.run(
        [ROOT / "bench" / "run", "--quick", *flags],
        env=environ | {"PYTHON": sys.executable} | variables,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def rows_of(document: str) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in json.loads(document)["rows"]}


@pytest.mark.needs_git
@pytest.mark.parametrize("letter", "abcdefgh")
def test_the_bench_measures_everything_and_judges_against_its_targets(letter: str) -> None:
    """`bench/run --quick --json` prints one document whose rows have a figure, and a verdict where a target is; with
    `BENCH_ORIGINAL` the original's figure stands beside ours wherever it can do the same."""
    rows = rows_of(bench("--json", "--only", letter, BENCH_ORIGINAL=STAND_IN))
    targets = {name: row["target"] for name, row in rows.items() if row["target"] is not None}
    assert targets == {name: target for name, target in TARGETS.items() if name[0] == letter}
    for name, row in rows.items():
        assert (name[0], set(row)) == (letter, COLUMNS | {"original"})
        assert math.isfinite(row["value"])  # a.rest is a difference: noise may make it negative
        assert row["verdict"] in ({"ok", "over"} if row["target"] is not None else {""})
    beside = {name for name, row in rows.items() if row["original"] is not None}
    assert beside == {name for name in BOTH if name[0] == letter}
    if letter == "b":  # no timing: the log must hold every text once and in order, however slow the machine
        assert rows["b.lost"]["value"] == 0


def test_a_measurement_that_is_not_there_is_refused() -> None:
    """The answer names all that there are, so that none is missing above."""
    command = [str(ROOT / "bench" / "run"), "--only", "a,x"]
    environ = os.environ | {"PYTHON": sys.executable}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 2
    assert done.stderr.endswith("no such measurement: x; there are a, b, c, d, e, f, g, h\n")


def test_without_the_original_there_is_no_column_for_it() -> None:
    """`--only` measures what it names; neither document nor table speak of an original that is not there."""
    rows = rows_of(bench("--json", "--only", "e"))
    assert {name: set(row) for name, row in rows.items()} == {"e": COLUMNS, "e.cpu": COLUMNS}
    assert "original" not in bench("--only", "e")


def test_the_table_has_the_original_beside_the_value() -> None:
    """Its cells are empty where nothing was measured with it."""
    header, *lines, empty, about = bench("--only", "d", BENCH_ORIGINAL=STAND_IN).splitlines()
    assert (empty, "cores; load at the beginning" in about) == ("", True)
    assert header.split() == ["measurement", "value", "original", "target"]
    end = header.index("original") + len("original")
    beside = {line.split()[0]: line[header.index("value") + len("value") : end].strip() for line in lines}
    assert {name for name, cell in beside.items() if cell} == {"d.p50", "d.p99"}
