"""A completed task is not paid for again unaware."""

from __future__ import annotations

import json
import os
import time

import pytest

from tests.e2e.conftest import Loop
from tests.e2e.terminal import Terminal
from tests.e2e.test_steering import DONE, UNDONE


@pytest.fixture
def completed(loop: Loop) -> Loop:
    """A workspace whose task is completed."""
    loop.make()
    loop.script(UNDONE, DONE)
    assert loop.run().code == 0
    return loop


def runs(loop: Loop) -> int:
    return len(loop.layout.run_ids())


@pytest.mark.parametrize(("answer", "expected"), [("y\n", 2), ("\n", 1), ("n\n", 1)])
def test_on_a_terminal_it_is_asked(completed: Loop, answer: str, expected: int) -> None:
    """It says how long ago; Enter is a no, and a no is not an error."""
    screen = Terminal(completed, "run", "my-task")
    screen.await_text("Run it again? [y/N]: ")
    assert "my-task was completed " in screen.seen
    assert " ago. Run it again?" in screen.seen
    screen.type(answer)
    assert screen.finish() == 0
    screen.close()
    assert runs(completed) == expected


def test_without_a_terminal_it_is_told(completed: Loop) -> None:
    """The run goes on, as scripts expect; the warning names the flag that avoids it."""
    done = completed.run()
    assert (done.code, runs(completed)) == (0, 2)
    assert "ago; this run works on it again." in done.err
    assert "claude-iterate run my-task --unless-completed" in done.err


def test_an_older_summary_that_git_put_back_changes_nothing(loop: Loop) -> None:
    """`git checkout -- .` after the run: the journal is newer, so the task is completed and not paid for again."""
    loop.make()
    before = (loop.workspace / ".metadata.json").read_bytes()
    loop.script(UNDONE, DONE)
    assert loop.run().code == 0
    (loop.workspace / ".metadata.json").write_bytes(before)
    (row,) = json.loads(loop.call("list", "--json").out)["workspaces"]
    assert (row["state"], row["iterations"], row["reason"]) == ("completed", 2, "completed")
    assert "Status: completed" in loop.call("show", "my-task").out
    assert (loop.run("--unless-completed").code, runs(loop)) == (0, 1)


def test_again_says_nothing(completed: Loop) -> None:
    """It was meant."""
    done = completed.run("--again")
    assert (done.code, runs(completed)) == (0, 2)
    assert "was completed" not in done.err


def test_unless_completed_pays_once(completed: Loop) -> None:
    """A script can call it as often as it likes: nothing is started, and JSON is that of the run that completed it."""
    done = completed.run("--unless-completed")
    assert (done.code, done.out, runs(completed)) == (0, "", 1)
    assert "my-task was completed" in done.err
    document = json.loads(completed.run("--unless-completed", "--json").out)
    assert (document["reason"], document["iterations"], document["exitCode"]) == ("completed", 2, 0)
    assert runs(completed) == 1
    assert completed.run("--again", "--unless-completed").code == 2


def test_a_run_that_does_nothing_takes_nothing_back(loop: Loop) -> None:
    """Its budget is spent before the first iteration: `list`, `show` and `watch` still say completed, and so does the
    next run."""
    loop.make()
    loop.script([{"init": {}}, {"status": {"complete": True}}, {"result": {"total_cost_usd": 0.5}}])
    assert loop.run().code == 0
    assert loop.run("--max-cost", "0.25").code != 0
    assert len(loop.events("IterationStarted")) == 1
    (row,) = json.loads(loop.call("list", "--json").out)["workspaces"]
    assert (row["state"], row["reason"], row["knownBy"]) == ("completed", "budget", "report")
    assert "Status: completed" in loop.call("show", "my-task").out
    assert "my-task · completed" in loop.call("watch", "--plain", "my-task").out
    assert (loop.run("--unless-completed").code, runs(loop)) == (0, 2)


def test_new_instructions_are_a_new_task(completed: Loop) -> None:
    """Nothing is asked or told."""
    completed.layout.instructions.write_text("- three\n")
    later = time.time() + 60
    os.utime(completed.layout.instructions, (later, later))
    done = completed.run("--unless-completed")
    assert (done.code, runs(completed)) == (0, 2)
    assert "was completed" not in done.err


@pytest.mark.parametrize("flags", [["-m", "1"], ["--dry-run"]])
def test_only_a_completed_task_is_asked_about(loop: Loop, flags: list[str]) -> None:
    """Not one that reached its limit, nor one that only a dry run completed; a reset forgets."""
    loop.make()
    loop.script(UNDONE, DONE)
    assert loop.run(*flags).code == 0
    assert "was completed" not in loop.run().err
    assert loop.call("reset", "my-task").code == 0
    assert "was completed" not in loop.run("--unless-completed").err
