"""A run ends when the work is done, when it stands still, or when its bounds are reached; never for a stale word."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from claude_iterate.selftest.harness.script_steps import proceed
from tests.e2e.conftest import Done, Loop, until

DONE = {"complete": True, "progress": {"completed": 2, "total": 2}, "summary": "all done"}
IDLE: list[dict[str, Any]] = [{"init": {}}, {"status": {"complete": False, "worked": False}}, {"result": {}}]
BUSY: list[dict[str, Any]] = [{"init": {}}, {"status": {"complete": False, "worked": True}}, {"result": {}}]


def test_a_task_is_worked_through_to_its_end(loop: Loop) -> None:
    """The fake does one item per iteration; the run says how many it took and exits 0."""
    loop.make("- one\n- two\n- three\n")
    done = loop.run()
    assert (done.code, done.out.splitlines()[0]) == (
        0,
        "⚠️ Claude reports that it is done; nothing has proven it (after 3 iterations)",
    )
    assert [line for line in done.lines if line.startswith("Running")] == [
        "Running iteration 1...",
        "Running iteration 2...",
        "Running iteration 3...",
    ]
    assert re.search(
        r"^\d\d:\d\d:\d\d ✓ Iteration 1 complete \(2 items remaining, \d+[^,]*s, \$0.03\)$", done.err, re.MULTILINE
    )


def test_list_show_and_logs_tell_the_same_story(loop: Loop) -> None:
    """What `run` said is what the other commands say, for people and as one JSON document each."""
    loop.make()
    told = json.loads(loop.run("--json").out)
    assert (told["reason"], told["iterations"], told["exitCode"]) == ("completed", 2, 0)
    assert "completed" in loop.call("list").out
    assert "completed" in loop.call("show", "my-task").out
    assert "Reason: completed" in loop.call("logs", "my-task").out
    for command in (["list"], ["show", "my-task"], ["logs", "my-task"]):
        assert json.loads(loop.call(*command, "--json").out)


def test_quiet_prints_nothing_when_all_is_well(loop: Loop) -> None:
    """Not one byte on either stream, also at the iteration limit; warnings are in the log and in `show`."""
    loop.make()
    assert loop.run("--quiet") == Done(0, "", "")
    loop.env.pop("CLAUDE_ITERATE_CLAUDE__PERMISSION_MODE")
    loop.script(proceed())
    assert loop.run("--quiet", "-m", "1", "--again") == Done(0, "", "")
    warning = "No permissions are configured, so Claude will be denied every edit and command."
    assert f"⚠ {warning}" in loop.log()
    assert f"  ⚠ {warning} Allow some: " in loop.call("show", "my-task").out


def test_idle_iterations_end_iterative_mode(loop: Loop) -> None:
    """Two reports of no work in a row: the seed's words, exit 0, and 4 with detailed codes."""
    loop.make(mode="iterative")
    loop.script(BUSY, IDLE, IDLE)
    done = loop.run("--detailed-exit-code")
    assert "⚠️ Stagnation detected: 2 consecutive iterations with no work" in done.out
    assert (done.code, len(loop.events("IterationFinished"))) == (4, 3)


def test_threshold_0_never_stagnates(loop: Loop) -> None:
    """Only the iteration limit ends such a run."""
    loop.make(mode="iterative")
    loop.script(IDLE)
    done = loop.run("--stagnation-threshold", "0", "-m", "4")
    assert (done.code, done.out.splitlines()[0]) == (0, "⚠️ Reached maximum iterations (4)")


def test_the_iteration_limit_ends_the_run(loop: Loop) -> None:
    """`-m 3` allows exactly three calls of Claude. The end names three ways on; `show` does not lead to itself."""
    loop.make()
    loop.script(BUSY)
    done = loop.run("-m", "3")
    assert done.out.splitlines()[0] == "⚠️ Reached maximum iterations (3)"
    ways = (
        "To increase the limit: claude-iterate run",
        "To check progress: claude-iterate show",
        "Next: claude-iterate run",
    )
    shown = loop.call("show", "my-task").out
    assert [(done.out.count(f"  {way} my-task"), shown.count(f"  {way} my-task")) for way in ways] == [
        (1, 1),
        (1, 0),
        (1, 1),
    ]
    assert len(list(loop.state.glob("call-*.json"))) == 3


def test_the_same_completion_written_again_counts(loop: Loop) -> None:
    """A report is new when it was written in this iteration, even if its words are the old ones."""
    loop.make()
    (loop.workspace / ".status.json").write_text(json.dumps(DONE))
    loop.script([{"init": {}}, {"status": DONE}, {"result": {}}])
    assert "after 1 iteration" in loop.run().out


@pytest.mark.parametrize("stamp", ["2026-11-16T03:00:00+02:00", "2026-11-16 03:00:00", "yesterday", 17])
def test_no_timestamp_hides_a_completion(loop: Loop, stamp: object) -> None:
    """`lastUpdated` in any form, even a wrong one, leaves `complete` valid."""
    loop.make()
    loop.script([{"init": {}}, {"status": DONE | {"lastUpdated": stamp}}, {"result": {}}])
    assert "nothing has proven it (after 1 iteration)" in loop.run().out


def test_a_blocked_agent_ends_the_run_with_its_reason(loop: Loop) -> None:
    """What the agent needs from a person is the message; exit 1."""
    loop.make()
    loop.script(
        [{"init": {}}, {"status": {"complete": False, "blocked": "I need the database password"}}, {"result": {}}]
    )
    done = loop.run()
    assert (done.code, "I need the database password" in done.err) == (1, True)


def test_a_killed_run_is_listed_with_what_it_did(loop: Loop) -> None:
    """The journal knows how far it came; the iteration that was killed is not counted."""
    loop.make()
    loop.script(BUSY, [{"init": {}}, {"touch": "ready"}, {"hang": True}])
    process = loop.start("run", "my-task")
    until((loop.workspace / "ready").exists)
    process.kill()
    process.wait()
    (row,) = json.loads(loop.call("list", "--json").out)["workspaces"]
    assert (row["status"], row["iterations"]) == ("interrupted", 1)


def test_the_next_run_counts_on(loop: Loop) -> None:
    """Totals are those of the workspace, iteration numbers those of the run."""
    loop.make()
    loop.script(BUSY)
    loop.run("-m", "2")
    loop.run("-m", "3")
    about = json.loads((loop.workspace / ".metadata.json").read_text())
    assert (about["executionIterations"], loop.events("RunStarted")[-1]["carried"]["iterations"]) == (5, 2)
    assert [event["number"] for event in loop.events("IterationStarted")] == [1, 2, 1, 2, 3]


def test_money_bounds_hold_over_runs(loop: Loop) -> None:
    """`--max-cost` counts what earlier runs spent, and passes what is left to Claude."""
    loop.make()
    loop.script([{"init": {}}, {"status": {"complete": False}}, {"result": {"total_cost_usd": 0.02}}])
    loop.run("-m", "1")
    done = loop.run("--max-cost", "0.05")
    assert (done.code, len(loop.events("IterationFinished"))) == (1, 3)
    assert "The budget is spent: $0.06 of $0.05" in done.err
    argv = loop.record(2)["argv"]
    assert argv[argv.index("--max-budget-usd") + 1] == "0.0300"
