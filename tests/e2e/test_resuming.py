"""Whatever is done between a kill and the next run, that one goes on where the killed one was, and counts right."""

from __future__ import annotations

import json
import os
import shutil
import time
from typing import Any

import pytest

from tests.e2e.conftest import LIMITED, UNDONE, Loop, until

WORK: list[dict[str, Any]] = [{"init": {}}, {"status": {"complete": True}}, {"result": {"total_cost_usd": 0.16}}]
REVIEW: list[dict[str, Any]] = [{"init": {}}, {"result": {"total_cost_usd": 0.04}}]


def goes_on_waiting(loop: Loop) -> Any:
    """Run again after a kill during a wait of an hour: it waits for the same moment, until `retry`. How it ended."""
    (wait,) = loop.events("WaitStarted")
    began = len(loop.events("RunStarted"))
    process = loop.start("run", "my-task")
    until(lambda: len(loop.events("RunStarted")) > began)
    until(lambda: loop.call("retry", "my-task").code == 0)
    done = loop.finish(process)
    assert "Continuing run" in done.err
    assert loop.events("RunStarted")[-1]["resumed"]["waiting"]["wait"]["until"] == wait["until"]
    assert loop.events("WaitEnded")[-1]["by"] == "retry"
    return done


@pytest.mark.parametrize(
    "between",
    [["verify", "my-task"], ["validate", "my-task"], ["run", "my-task", "--dry-run", "-m", "1"], ["doctor", "--fix"]],
    ids=lambda words: words[0] + "-dry" * ("--dry-run" in words),
)
def test_a_wait_survives_a_kill_and_what_comes_between(loop: Loop, between: list[str]) -> None:
    """The next run waits for the same moment and goes on with the same iteration."""
    loop.make()
    loop.script(UNDONE, LIMITED, REVIEW, WORK)
    if between[0] not in {"verify", "validate"}:
        loop.script(UNDONE, LIMITED, WORK)
    process = loop.waiting()
    process.kill()
    process.wait()
    loop.call(*between)
    assert goes_on_waiting(loop).code == 0
    assert loop.events("IterationStarted")[-1]["number"] == 2
    assert loop.events("RunFinished")[-1]["iterations"] == 2


def test_a_run_that_continues_a_damaged_one_says_so_once(loop: Loop) -> None:
    """What it takes over is a lower bound from then on."""
    loop.make()
    loop.script(UNDONE, LIMITED, WORK)
    loop.kill(loop.waiting())
    (path,) = loop.workspace.glob("runs/*/events.ndjson")
    rows = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(row for row in rows if b'"event":"SessionOpened"' not in row))
    lost = len(rows) - len(path.read_bytes().splitlines())
    assert lost
    goes_on_waiting(loop)
    said = f", which this run continues, is damaged: {lost} line"
    assert [said in event["text"] for event in loop.events("Warned")].count(True) == 1
    assert loop.events("RunStarted")[-1]["resumed"]["cost_is_lower_bound"]


def test_every_dollar_is_counted_once_over_a_kill_and_what_comes_between(loop: Loop) -> None:
    """The killed run, `verify` twice, `validate` and the run that goes on: `show` tells the sum of `history --all`."""
    loop.make()
    loop.env |= {"CLAUDE_ITERATE_STOP__FAILURES": "0", "CLAUDE_ITERATE_TIMEOUTS__RESULT_GRACE": "1h"}
    killed: list[dict[str, Any]] = [{"init": {}}, {"result": {"total_cost_usd": 0.02}}, {"hang": True}]
    loop.script([*UNDONE[:2], {"result": {"total_cost_usd": 0.01}}], killed, REVIEW, REVIEW, REVIEW, WORK)
    process = loop.start("run", "my-task")
    until(lambda: len(loop.events("ResultReported")) == 2)  # recorded, not only printed
    loop.kill(process)
    for words in ("verify", "verify", "validate"):
        loop.call(words, "my-task")
    assert loop.run().code == 0
    everything = loop.document("history", "my-task", "--all")["total"]["costUsd"]
    shown = loop.document("show", "my-task")
    assert everything == pytest.approx(0.01 + 0.02 + 3 * 0.04 + 0.16)
    assert shown["counters"]["costUsd"] == pytest.approx(everything)
    assert shown["lastRun"]["costUsd"] == pytest.approx(0.01 + 0.02 + 0.16)
    assert shown["counters"]["execution"] == 2


def test_a_copied_or_touched_journal_is_no_older_than_it_was(loop: Loop) -> None:
    """`--max-duration` counts what the run took, not what the file's time says."""
    loop.make()
    loop.script([{"init": {}}, {"touch": "ready"}, {"hang": True}], WORK)
    process = loop.working("--max-duration", "1h")
    loop.kill(process)
    (journal,) = loop.workspace.glob("runs/*/events.ndjson")
    later = time.time() + 7200
    os.utime(journal, (later, later))
    assert loop.run("--max-duration", "1h").code == 0


def test_the_next_command_writes_down_how_a_run_ended_that_could_not(loop: Loop) -> None:
    """Killed between its last entry and its summary; a `verify` tells nothing of that run, and still sets it right."""
    loop.make()
    loop.script(WORK, REVIEW)
    assert loop.run().code == 0
    metadata = loop.workspace / ".metadata.json"
    about = json.loads(metadata.read_text())
    run = about["run"] | {"state": "running", "reason": None, "iterations": 0}
    metadata.write_text(json.dumps(about | {"run": run, "executionIterations": 0, "status": "in_progress"}))
    loop.call("verify", "my-task")
    now = json.loads(metadata.read_text())
    assert (now["run"], now["executionIterations"]) == (about["run"], 1)


def test_a_reset_forgets_only_what_was_before_it(loop: Loop) -> None:
    """Where the runs before it are gone (a clone), numbers start again at 1 and compare with nothing."""
    loop.make()
    loop.script(WORK)
    for _ in range(3):
        assert loop.run().code == 0
    assert loop.call("reset", "my-task").code == 0
    shutil.rmtree(loop.workspace / "runs")
    loop.script(UNDONE, [{"init": {}}, {"touch": "ready"}, {"hang": True}], WORK)
    shutil.rmtree(loop.state)
    process = loop.working()
    loop.kill(process)
    done = loop.run()
    assert (done.code, "Continuing run" in done.err) == (0, True)
    assert [event["number"] for event in loop.events("IterationStarted")] == [1, 2, 2]


def test_a_run_that_cannot_begin_changes_nothing(loop: Loop) -> None:
    """No process can be started: that is said, and what was known of the workspace stays known."""
    loop.make()
    loop.script(WORK)
    assert loop.run().code == 0
    before = (loop.workspace / ".metadata.json").read_bytes()
    (loop.folder / "site").mkdir()
    (loop.folder / "site" / "sitecustomize.py").write_text(NO_PROCESS)
    loop.env["PYTHONPATH"] = f"{loop.folder / 'site'}{os.pathsep}{loop.env['PYTHONPATH']}"
    done = loop.run("--again")
    assert done.code == 1
    assert "The guardian of this run cannot be started: Resource temporarily unavailable" in done.err
    assert (loop.workspace / ".metadata.json").read_bytes() == before


NO_PROCESS = """
import errno, os, subprocess

def refused(self, *arguments, **more):
    raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

start = subprocess.Popen.__init__
def init(self, argv, *arguments, **more):
    (refused if argv[0] == "/bin/sh" and "--version" not in argv else start)(self, argv, *arguments, **more)
subprocess.Popen.__init__ = init
"""


def test_what_a_killed_proof_left_aside_is_gone_with_the_next_run(loop: Loop) -> None:
    """It may be as large as the project."""
    loop.make()
    loop.script(WORK)
    assert loop.run().code == 0
    (first,) = (loop.workspace / "runs").iterdir()
    (first / "scratch" / "objects").mkdir(parents=True)
    assert loop.run("--again").code == 0
    assert not (first / "scratch").exists()
