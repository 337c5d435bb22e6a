"""Workspaces of an earlier version are read as before, and the next run goes on with their numbers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Loop

OLD = Path(__file__).parents[1] / "fixtures" / "workspaces"
NAMES = ("proven", "killed", "original")
WORK: list[dict[str, Any]] = [{"init": {}}, {"status": {"complete": False}}, {"result": {"total_cost_usd": 1.0}}]

SETTINGS = (
    "CLAUDE_ITERATE_CLAUDE__COMMAND",
    "CLAUDE_ITERATE_CLAUDE__PERMISSION_MODE",
    "CLAUDE_ITERATE_DELAY",
    "CLAUDE_ITERATE_KEEP_AWAKE",
    "CLAUDE_ITERATE_STOP__NO_PROGRESS",
)
"""Needed to run; `show` would tell of them."""


SAID_OTHERWISE = (
    ".lastRun.meaning: 'The agent reported completion.' is now 'The task is done, and that is proven.'",
    ".counters.total: 2 is now 1",
    ".counters.execution: 2 is now 1",
    ".workspaces[0].iterations: 2 is now 1",
    ".lastRun.duration: 0.126 is now 0.296",
    ".runs[0].iterations[1].duration: 0.17 is now 0.171",
    ".runs[0].iterations[1].tools: 0 is now 1",
    ".total.duration: 0.29 is now 0.291",
    ".total.tools: 0 is now 1",
)
"""On purpose: what is proven is called that; a killed iteration is counted nowhere, and told as far as it came."""


@pytest.fixture
def old(loop: Loop) -> Loop:
    """A project with all three."""
    folder = loop.root / "claude-iterate" / "workspaces"
    for name in NAMES:
        shutil.copytree(OLD / name, folder / name)
        (folder / name / "working").mkdir()
    return loop


def differences(before: Any, now: Any, place: str = "") -> list[str]:
    """Where `now` lacks something of `before` or says it otherwise; what is new does not matter."""
    if isinstance(before, dict) and isinstance(now, dict):
        return [one for key in before for one in differences(before[key], now.get(key), f"{place}.{key}")]
    if isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        pairs = zip(before, now, strict=True)
        return [one for index, pair in enumerate(pairs) for one in differences(*pair, f"{place}[{index}]")]
    return [] if before == now else [f"{place}: {before!r} is now {now!r}"]


@pytest.mark.parametrize("name", NAMES)
def test_looking_tells_the_same(old: Loop, name: str) -> None:
    """Every key that the earlier version printed is there, with the same value; nothing is written by looking."""
    workspace = old.root / "claude-iterate" / "workspaces" / name
    before = {path: path.read_bytes() for path in workspace.rglob("*") if path.is_file()}
    for setting in SETTINGS:
        del old.env[setting]
    for command, told in json.loads((OLD / f"{name}.json").read_text()).items():
        now = json.loads(old.call(*command.split(), "--json").out.replace(str(old.root), "/project"))
        for document in (told, now):
            if "logs" in document:  # by their time, which a checkout does not keep
                document["logs"] = sorted(document["logs"])
            if "runs" in document:  # dry runs have lines of their own by now, and cost nothing
                document["runs"] = [run for run in document["runs"] if not run.get("dryRun")]
            if command == "list":
                document["workspaces"] = [row for row in document["workspaces"] if row["name"] == name]
        assert [one for one in differences(told, now) if one not in SAID_OTHERWISE] == [], command
        assert old.call(*command.split()).code == 0
    assert {path: path.read_bytes() for path in workspace.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("name", "state", "words"),
    [
        ("proven", "completed", "Proof: the claim holds"),
        ("killed", "killed", "Go on with: claude-iterate run killed"),
        ("original", "max_iterations", "4 of at most 4 iterations"),
    ],
)
def test_their_state_is_told_in_the_new_words(old: Loop, name: str, state: str, words: str) -> None:
    """In the list and by `show`."""
    rows = json.loads(old.call("list", "--json").out)["workspaces"]
    assert {row["name"]: row["state"] for row in rows}[name] == state
    assert words in old.call("show", name).out


@pytest.mark.parametrize(
    ("name", "run", "number", "total", "cost"),
    [
        ("proven", "000003-", 1, 3, 0.25 + 0.5 + 1.0),
        ("killed", "000002-", 2, 2, 0.125 + 1.0),
        ("original", "000003-", 1, 11, 4 * 0.0625 + 1.0),
    ],
)
def test_the_next_run_goes_on_with_the_numbers(
    old: Loop, name: str, run: str, number: int, total: int, cost: float
) -> None:
    """Its id, the number of its iteration, the iterations and the money of all runs."""
    old.script(WORK)
    (old.root / "check.sh").write_text("true\n")
    done = json.loads(old.call("run", name, "--again", "-m", str(number), "--json").out)
    assert done["id"].startswith(run)
    assert (done["totalIterations"], done["totalCostUsd"]) == (total, pytest.approx(cost))
    journal = old.root / "claude-iterate" / "workspaces" / name / "runs" / done["id"] / "events.ndjson"
    begun = [json.loads(line)["event"] for line in journal.read_text().splitlines() if "IterationStarted" in line]
    assert [event["number"] for event in begun] == [number]
    assert (done["goesOnWith"] is not None) == (name == "killed")
