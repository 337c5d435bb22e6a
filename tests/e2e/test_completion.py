"""A run ends when the work is done or its bounds are reached, and a completed task is not paid for again unaware."""

from __future__ import annotations

import json
import os
import re
import time
from typing import Any

import pytest

from claude_iterate.selftest.harness.script_steps import proceed
from tests.e2e.conftest import DONE, UNDONE, Done, Loop
from tests.e2e.terminal import Open

BUSY: list[dict[str, Any]] = [{"init": {}}, {"status": {"complete": False, "worked": True}}, {"result": {}}]


def test_a_task_is_worked_through_to_its_end(loop: Loop) -> None:
    """The fake does one item per iteration; the run says how many it took and exits 0."""
    loop.make("- one\n- two\n- three\n")
    done = loop.run()
    assert (done.code, done.out.splitlines()[0]) == (
        0,
        "⚠️ Claude reports that it is done; nothing has proven it (after 3 iterations)",
    )
    assert re.findall("Running iteration .*", done.err) == [f"Running iteration {number}..." for number in (1, 2, 3)]
    assert re.search(
        r"^\d\d:\d\d:\d\d ✓ Iteration 1 complete \(2 items remaining, \d+[^,]*s, \$0.03\)$", done.err, re.MULTILINE
    )


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


@pytest.fixture
def completed(loop: Loop) -> Loop:
    """A workspace whose task is completed."""
    loop.make()
    loop.script(UNDONE, DONE)
    assert loop.run().code == 0
    return loop


def runs(loop: Loop) -> int:
    return len(loop.layout.run_ids())


def test_it_is_left_as_it_is(completed: Loop) -> None:
    """A script can call it as often as it likes, and pays once: nothing is started, and JSON is that of the run that
    completed it. The message has the command that runs it again, with what was typed before the command."""
    done = completed.run()
    assert (done.code, done.out, runs(completed)) == (0, "", 1)
    assert "my-task was completed " in done.err
    assert " ago: nothing to do. To run it again: claude-iterate run my-task --again" in done.err
    document = json.loads(completed.run("--json").out)
    assert (document["reason"], document["iterations"], document["exitCode"]) == ("completed", 2, 0)
    assert completed.run("--detailed-exit-code").code == 10  # as the run that completed it: nothing has proven it
    assert completed.call("run", "--all").code == 0
    assert runs(completed) == 1


def test_on_a_terminal_it_is_left_too(completed: Loop, terminal: Open) -> None:
    """There is no question: the answer is the same as in a script."""
    screen = terminal("run", "my-task")
    screen.await_text("nothing to do")
    assert screen.finish() == 0
    assert runs(completed) == 1


def test_an_older_summary_that_git_put_back_changes_nothing(loop: Loop) -> None:
    """`git checkout -- .` after the run: the journal is newer, so the task is completed and not paid for again."""
    loop.make()
    before = (loop.workspace / ".metadata.json").read_bytes()
    loop.script(UNDONE, DONE)
    assert loop.run().code == 0
    (loop.workspace / ".metadata.json").write_bytes(before)
    (row,) = loop.document("list")["workspaces"]
    assert (row["state"], row["iterations"], row["reason"]) == ("completed", 2, "completed")
    assert "Status: completed" in loop.call("show", "my-task").out
    assert (loop.run().code, runs(loop)) == (0, 1)


def test_again_says_nothing(completed: Loop) -> None:
    """It was meant."""
    done = completed.run("--again")
    assert (done.code, runs(completed)) == (0, 2)
    assert "was completed" not in done.err


def test_a_run_that_does_nothing_takes_nothing_back(loop: Loop) -> None:
    """Its budget is spent before the first iteration: `list`, `show` and `watch` still say completed, and so does the
    next run."""
    loop.make()
    loop.script([{"init": {}}, {"status": {"complete": True}}, {"result": {"total_cost_usd": 0.5}}])
    assert loop.run().code == 0
    assert loop.run("--again", "--max-cost", "0.25").code != 0
    assert len(loop.events("IterationStarted")) == 1
    (row,) = loop.document("list")["workspaces"]
    assert (row["state"], row["reason"], row["knownBy"]) == ("completed", "completed", "report")
    assert "Status: completed" in loop.call("show", "my-task").out
    assert "my-task · completed" in loop.call("watch", "--plain", "my-task").out
    assert (loop.run().code, runs(loop)) == (0, 2)


@pytest.mark.parametrize(("text", "expected"), [("- three\n", 2), (None, 1)])
def test_only_another_text_is_a_new_task(completed: Loop, text: str | None, expected: int) -> None:
    """The text counts, not the time of the file, which a checkout changes."""
    if text is not None:
        completed.layout.instructions.write_text(text)
    later = time.time() + 60
    os.utime(completed.layout.instructions, (later, later))
    done = completed.run()
    assert (done.code, runs(completed)) == (0, expected)
    assert ("was completed" in done.err) == (expected == 1)


def test_a_check_that_was_added_since_proves_it(completed: Loop) -> None:
    """Nothing had proven the task, and the end said to add a check: then `run` names the command that runs it, and the
    task is proven or worked on."""
    assert completed.call("config", "-w", "my-task", "verification.checks", "--add", "test -e proof").code == 0
    done = completed.run()
    verify = "claude-iterate verify my-task --checks-only"
    assert f" ago (not proven). Prove it: {verify}\n  To run it again: claude-iterate run my-task --again" in done.err
    assert (done.code, runs(completed)) == (0, 1)
    (completed.root / "proof").touch()
    assert completed.call(*verify.split()[1:]).code == 0
    assert " ago: nothing to do." in completed.run().err
    (completed.root / "proof").unlink()
    assert completed.call(*verify.split()[1:]).code != 0
    assert "was completed" not in completed.run("-m", "1").err


def test_a_changed_proof_is_accepted_before_it_proves(loop: Loop) -> None:
    """Claude changed the check that it passed: `run` names the command that takes the check as it is now."""
    loop.make()
    (loop.root / "check.sh").write_text("false\n")
    loop.checks("sh check.sh")
    loop.script([{"init": {}}, {"write": {"path": str(loop.root / "check.sh"), "text": "true\n"}}, *DONE[1:]])
    assert loop.run().code == 0
    verify = "claude-iterate verify my-task --checks-only --accept-changes"
    assert f" ago (proof changed). Prove it: {verify}\n" in loop.run().err
    assert loop.call(*verify.split()[1:]).code == 0
    assert " ago: nothing to do." in loop.run().err


@pytest.mark.parametrize("flags", [["-m", "1"], ["--dry-run"]])
def test_only_a_completed_task_is_left(loop: Loop, flags: list[str]) -> None:
    """Not one that reached its limit, nor one that only a dry run completed; a reset forgets."""
    loop.make()
    loop.script(UNDONE, DONE)
    assert loop.run(*flags).code == 0
    assert "was completed" not in loop.run().err
    assert loop.call("reset", "my-task").code == 0
    assert "was completed" not in loop.run().err
