"""The record of a run survives the agent's git and rm: history, sums and the next run know all of it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Loop, until

NAME = "my-task"
MORE: list[dict[str, Any]] = [{"status": {"complete": False}}, {"result": {"total_cost_usd": 0.004}}]
DONE: list[dict[str, Any]] = [{"status": {"complete": True}}, {"result": {"total_cost_usd": 0.004}}]
ENDED = "Claude reports that it is done; nothing has proven it (after 3 iterations)"
STASH = "git stash -q && git stash pop -q"


def prepare(loop: Loop, ignored: bool = False) -> None:
    """A project in git with a workspace as `init` makes it; everything is committed, the lock included."""
    loop.call("init", NAME)
    loop.layout.instructions.write_text("- one\n- two\n")
    if not ignored:
        (loop.workspace / ".gitignore").write_text("")
    loop.layout.lock.touch()
    loop.git("init", "-q")
    loop.git("add", "-A")
    loop.git("commit", "-qm", "one")


def calls(*commands: str) -> list[list[dict[str, Any]]]:
    """Each call of Claude runs one command; the last completes the task."""
    last = len(commands) - 1
    return [
        [{"init": {}}, {"shell": command or "true"}, *(DONE if number == last else MORE)]
        for number, command in enumerate(commands)
    ]


def spent(loop: Loop) -> tuple[int, float]:
    """Iterations and cost of all runs, as `history` has them."""
    total = loop.document("history", NAME, "--all")["total"]
    return total["iterations"], round(total["costUsd"], 6)


@pytest.mark.needs_git
@pytest.mark.parametrize(
    "command",
    [
        "git stash -q && git checkout -q HEAD~1 && git checkout -q - && git stash pop -q",
        "git stash -q -u && git stash pop -q",
        "git clean -qfdx && git checkout -q .",
        "cp -R $WORKSPACE aside && rm -rf $WORKSPACE && mv aside $WORKSPACE",
        "rm -rf $WORKSPACE/runs && ln -s /nowhere $WORKSPACE/.lock.new && mv $WORKSPACE/.lock.new $WORKSPACE/.lock",
    ],
)
def test_nothing_is_lost(loop: Loop, command: str) -> None:
    """Whatever the agent does to files and folder: the run goes on, says what happened, and its record is whole."""
    prepare(loop)
    everything = "git add -A && git commit -qm all"
    loop.script(*calls(everything, command, ""))
    done = loop.run()
    assert (done.code, ENDED in done.out) == (0, True), done.err
    assert "Cost: $0.01" in done.out
    again = "Restored " in done.err or "the run continues in it" in done.err
    assert again, done.err
    (journal,) = loop.journals()
    assert [entry["seq"] for entry in journal] == list(range(1, len(journal) + 1))
    assert [event["number"] for event in loop.events("IterationFinished")] == [1, 2, 3]
    assert loop.log().count("STATUS: success") == 3
    assert f"Log: {loop.layout.logs()[-1].relative_to(loop.root)}" in loop.call("show", "my-task").out
    assert spent(loop) == (3, 0.012)
    assert list((loop.layout.runs / loop.layout.run_ids()[0] / "raw").glob("0003*"))


SWEPT = [
    "git clean -qfdx",
    "rm -rf claude-iterate && mkdir -p $WORKSPACE && touch $WORKSPACE/.status.json",
]
UNTRACKED = ["git clean -qfd", *SWEPT]


@pytest.mark.needs_git
@pytest.mark.parametrize("command", [*UNTRACKED, "git checkout -q -f zero"])
def test_the_task_survives(loop: Loop, command: str) -> None:
    """Whatever Claude deletes with git or rm of a workspace that is not in git, or that another branch lacks: the run
    goes on with the same task and settings, says so once, and its record is whole."""
    loop.git("init", "-q")
    loop.git("commit", "-q", "--allow-empty", "-m", "zero")
    loop.git("tag", "zero")
    loop.call("init", NAME)
    loop.layout.instructions.write_text("- one\n- two\n")
    loop.call("config", "delay", "0")
    loop.call("config", "max_iterations", "7", "--workspace", NAME)
    if command not in UNTRACKED:
        loop.git("add", "-A")
        loop.git("commit", "-q", "-m", "one")
    sweep: list[dict[str, Any]] = [{"init": {}}, {"shell": f"cd {loop.root} && {command}"}, MORE[1]]
    loop.script(sweep, sweep, *calls(""))
    done = loop.run()
    assert (done.code, ENDED in done.out) == (0, True), done.err
    what = (
        "the workspace, which was"
        if command in SWEPT
        else "INSTRUCTIONS.md, settings, .gitignore and TODO.md, which were"
    )
    assert re.findall("Restored.*", done.err) == [f"Restored {what} deleted during iteration 1."]
    assert loop.layout.instructions.read_text() == "- one\n- two\n"
    assert b"- one\n- two" in Path(loop.record(3)["stdin"]).read_bytes()
    assert loop.document("config", "max_iterations", "--workspace", NAME)["value"] == 7
    assert loop.document("config", "delay")["value"] == 0
    (journal,) = loop.journals()
    assert [entry["seq"] for entry in journal] == list(range(1, len(journal) + 1))
    assert (loop.log().count("\nITERATION "), loop.log().count("\nSTATUS: ")) == (3, 3)
    assert spent(loop) == (3, 0.012)
    assert json.loads(loop.layout.metadata.read_text())["totalIterations"] == 3


@pytest.mark.needs_git
def test_the_next_run_knows_what_was_spent(loop: Loop) -> None:
    """It does not go on with a run that ended, and counts all of its money."""
    prepare(loop)
    loop.script(*calls("git add -A && git commit -qm all", STASH))
    assert loop.run().code == 0
    shown = loop.document("show", NAME)
    assert (shown["status"], shown["lastRun"]["iterations"]) == ("completed", 2)
    assert round(shown["counters"]["costUsd"], 6) == 0.008
    loop.script(*calls(""))
    done = loop.run("--again")
    assert "Continuing run" not in done.err
    assert spent(loop) == (3, 0.012)
    assert round(loop.document("show", NAME)["counters"]["costUsd"], 6) == 0.012


@pytest.mark.needs_git
def test_what_is_ignored_is_not_touched(loop: Loop) -> None:
    """With the `.gitignore` that `init` writes, the agent's `git add -A` and stash do not reach the record."""
    prepare(loop, ignored=True)
    loop.script(*calls("echo x > x && git add -A && git commit -qm all", "echo y > y && git stash -q -u", ""))
    done = loop.run()
    assert (done.code, "⚠" in done.err) == (0, False), done.err
    assert "runs" not in loop.git("ls-files")


def test_a_folder_of_runs_that_cannot_be_made_again_ends_the_run(loop: Loop) -> None:
    """What is done and not recorded would be done and paid for again: the run says so instead."""
    loop.call("init", NAME)
    loop.layout.instructions.write_text("- one\n- two\n")
    loop.script(*calls("rm -rf $WORKSPACE/runs && touch $WORKSPACE/runs", "", ""))
    done = loop.run()
    assert done.code == 1
    assert "cannot be written again" in done.err
    assert "The journal of this run was deleted" in done.err


def test_a_journal_that_is_emptied_during_a_call_keeps_what_counts(loop: Loop) -> None:
    """The iterations, the money, and that Claude changed the check in the same call: the next run knows them."""
    loop.make()
    (loop.root / "check.sh").write_text("exit 1\n")
    loop.checks("sh check.sh")
    loop.script(*calls("for it in $WORKSPACE/runs/*/*.ndjson; do : > $it; done; echo exit 0 > check.sh", ""))
    first = loop.run("-m", "1")
    assert "Restored the journal, which was deleted, replaced or emptied after iteration 1" in first.err
    assert spent(loop) == (1, 0.004)
    assert "Changed during an earlier run, and part of the proof: check.sh (changed" in loop.run().err


def held(loop: Loop, command: str) -> subprocess.Popen[bytes]:
    """A run whose Claude has run this command and waits for the file `go`."""
    ready, go = str(loop.folder / "ready"), str(loop.folder / "go")
    loop.script([{"init": {}}, {"shell": command}, {"touch": ready}, {"wait_for": go}, *DONE])
    process = loop.start("run", NAME)
    until((loop.folder / "ready").exists)
    return process


@pytest.mark.needs_git
@pytest.mark.parametrize(
    "command",
    [
        "git stash -q && git stash pop -q && rm -f $WORKSPACE/.lock && git checkout -q $WORKSPACE/.lock",
        "rm -rf $WORKSPACE/.lock $WORKSPACE/runs",
    ],
)
def test_a_second_run_is_refused_when_the_lock_was_replaced(loop: Loop, command: str) -> None:
    """It is running, not a copy, and no command that changes the workspace is let in; afterwards all are."""
    prepare(loop)
    process = held(loop, command)
    second = loop.run()
    assert (second.code, "is already running: pid" in second.err, "copy" in second.err) == (1, True, False), second.err
    assert "runs" in command or f"pid {process.pid}" in second.err
    for words in (
        ("reset", NAME),
        ("clean", NAME, "--force"),
        ("archive", "save", NAME),
        ("init", NAME, "--force"),
        ("config", "delay", "3", "--workspace", NAME),
    ):
        refused = loop.call(*words)
        assert (refused.code, "is already running" in refused.err) == (1, True), (words, refused)
    assert "running" in loop.call("list").out
    (loop.folder / "go").touch()
    assert loop.finish(process).code == 0
    assert loop.layout.lock.read_bytes() == b""
    assert loop.call("reset", NAME).code == 0


@pytest.mark.needs_git
def test_a_folder_that_came_back_is_in_use(loop: Loop) -> None:
    """`git stash -u` and back makes another folder of the same name: as soon as the run has seen it, it is locked."""
    prepare(loop)
    process = held(loop, "git stash -q -u && git stash pop -q")
    second = loop.run()
    assert (second.code, "is already running" in second.err) == (1, True), second.err
    assert loop.call("reset", NAME).code == 1
    (loop.folder / "go").touch()
    assert loop.finish(process).code == 0


@pytest.mark.needs_git
def test_requests_reach_a_run_whose_lock_was_replaced(loop: Loop) -> None:
    """The journal names the run where the lock file does not."""
    prepare(loop)
    process = held(loop, "rm -f $WORKSPACE/.lock && git checkout -q $WORKSPACE/.lock")
    assert loop.call("stop", NAME).code == 0
    assert "running" in loop.call("show", NAME).out
    (loop.folder / "go").touch()
    loop.finish(process)
    assert loop.events("StopRequested")


@pytest.mark.needs_git
def test_a_summary_of_last_week_does_not_hide_the_run(loop: Loop) -> None:
    """Git restores `.metadata.json` as it was committed: from the next iteration on `list` says again that it runs."""
    prepare(loop)
    for number, command in enumerate(("git checkout -q $WORKSPACE/.metadata.json", "rm $WORKSPACE/.metadata.json")):
        go, ready = (str(loop.folder / f"{word}-{number}") for word in ("go", "ready"))
        waiting: list[dict[str, Any]] = [{"init": {}}, {"touch": ready}, {"wait_for": go}, *DONE]
        loop.script([{"init": {}}, {"shell": command}, *MORE], waiting)
        process = loop.start("run", NAME, "--again")
        until(Path(ready).exists)
        assert "running" in loop.call("list").out
        Path(go).touch()
        assert loop.finish(process).code == 0
        shutil.rmtree(loop.state)
    assert json.loads(loop.layout.metadata.read_text())["run"]["iterations"] == 2


def test_the_counts_are_true_after_each_iteration(loop: Loop) -> None:
    """In `.metadata.json`, while the run goes on, with the report and the cost."""
    loop.make()
    loop.env["CLAUDE_ITERATE_DELAY"] = "0"
    ready, go = loop.folder / "ready", loop.folder / "go"
    more: list[dict[str, Any]] = [
        {"init": {}},
        {"status": {"complete": False, "progress": {"completed": 1, "total": 3}}},
        MORE[1],
    ]
    loop.script(more, more, [{"init": {}}, {"touch": str(ready)}, {"wait_for": str(go)}, *DONE])
    process = loop.start("run", NAME)
    until(ready.exists)
    document = json.loads(loop.layout.metadata.read_text())
    assert (document["totalIterations"], document["executionIterations"]) == (2, 2)
    assert (document["run"]["state"], document["run"]["iterations"]) == ("running", 2)
    assert document["run"]["progress"] == {"completed": 1, "total": 3}
    assert document["totalCostUsd"] == pytest.approx(0.008)
    go.touch()
    assert loop.finish(process).code == 0
    assert json.loads(loop.layout.metadata.read_text())["totalIterations"] == 3


def test_a_run_that_nothing_names_says_so(loop: Loop) -> None:
    """Lock and journal were deleted: a request is refused."""
    loop.make()
    process = held(loop, "rm -rf $WORKSPACE/.lock $WORKSPACE/runs")
    refused = loop.call("stop", NAME)
    assert (refused.code, "A run works there that cannot be named" in refused.err) == (1, True)
    (loop.folder / "go").touch()
    assert loop.finish(process).code == 0


@pytest.mark.needs_git
def test_who_follows_the_journal_sees_each_entry_once(loop: Loop) -> None:
    """Although git replaces it by an older version of itself for a moment."""
    prepare(loop)
    loop.script(*calls("git add -A && git commit -qm all", f"{STASH} && sleep 1", ""))
    process = loop.start("run", NAME)
    until(lambda: loop.events("RunStarted"))
    follower = loop.start("logs", NAME, "--follow", "--json")
    assert loop.finish(process).code == 0
    seen = [json.loads(line)["seq"] for line in loop.finish(follower).out.splitlines()]
    assert seen == [entry["seq"] for entry in loop.journal()]
