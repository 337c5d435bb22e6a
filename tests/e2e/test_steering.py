"""A running loop does what it is told from another terminal: in mid-iteration, while it waits, while it is paused."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.run_folder import control
from tests.e2e.conftest import Loop, until

UNDONE: list[dict[str, Any]] = [{"init": {}}, {"status": {"complete": False}}, {"result": {}}]
DONE: list[dict[str, Any]] = [{"init": {}}, {"status": {"complete": True}}, {"result": {}}]
HANGING: list[dict[str, Any]] = [{"init": {}}, {"touch": "ready"}, {"hang": True}]
PATIENT: list[dict[str, Any]] = [{"init": {}}, {"touch": "ready"}, {"wait_for": "go"}, *UNDONE[1:]]


def limit(resets_at: float) -> list[dict[str, Any]]:
    """A call that meets the five-hour limit."""
    info = {"status": "rejected", "resetsAt": int(resets_at), "rateLimitType": "five_hour"}
    refused = {"is_error": True, "api_error_status": 429, "text": "You've hit your session limit"}
    return [{"init": {}}, {"event": {"type": "rate_limit_event", "rate_limit_info": info}}, {"result": refused}]


def running(loop: Loop, *arguments: str) -> subprocess.Popen[bytes]:
    """A run whose Claude has said that it is ready."""
    process = loop.start("run", "my-task", *arguments)
    until((loop.workspace / "ready").exists)
    return process


def waiting(loop: Loop, *arguments: str) -> subprocess.Popen[bytes]:
    """A run that waits for a limit that resets in an hour."""
    loop.make()
    loop.script(limit(time.time() + 3600), DONE)
    process = loop.start("run", "my-task", *arguments)
    until(lambda: loop.events("WaitStarted"))
    return process


def say(loop: Loop, verb: str, *more: str) -> str:
    """Steer from another terminal; the answer."""
    done = loop.call(verb, "my-task", *more)
    assert done.code == 0, done
    return str(done.out)


def outcomes(loop: Loop) -> list[tuple[int, str]]:
    return [(event["number"], event["outcome"]["kind"]) for event in loop.events("IterationFinished")]


def order(loop: Loop) -> list[str]:
    """The journal's kinds of events, and what was asked for."""
    return [entry["event"].get("verb") or entry["event"]["event"] for entry in loop.journal()]


def test_pause_lets_the_iteration_finish_and_holds_until_resume(loop: Loop) -> None:
    """Nothing begins in between; saying it twice changes nothing."""
    loop.make()
    loop.script(PATIENT, DONE)
    process = running(loop)
    assert "pauses after iteration 1" in say(loop, "pause")
    (loop.workspace / "go").touch()
    until(lambda: loop.events("IterationFinished"))
    assert say(loop, "pause") == "Already paused.\n"
    assert "Continuing" in say(loop, "resume")
    assert loop.finish(process).code == 0
    assert outcomes(loop) == [(1, "ok"), (2, "ok")]
    kinds = order(loop)
    assert kinds.index("IterationFinished") < kinds.index("resume")
    assert "IterationStarted" not in kinds[kinds.index("pause") : kinds.index("resume")]


def test_what_the_user_deletes_between_iterations_stays_deleted(loop: Loop) -> None:
    """A note is withdrawn, and settings of the project: neither comes back."""
    loop.make()
    settings = loop.root / ".claude-iterate.toml"
    settings.write_text("delay = 0\n")
    loop.script(PATIENT, DONE)
    process = running(loop)
    assert loop.call("note", "my-task", "Use tabs.").code == 0
    say(loop, "pause")
    (loop.workspace / "go").touch()
    until(lambda: loop.events("IterationFinished"))
    assert say(loop, "pause") == "Already paused.\n"
    (note,) = loop.layout.notes.glob("*.md")
    for path in (note, settings):
        path.unlink()
    say(loop, "resume")
    assert loop.finish(process).code == 0
    assert (b"Use tabs." in Path(loop.record(2)["stdin"]).read_bytes(), settings.exists()) == (False, False)
    assert [event["text"] for event in loop.events("Warned") if "Restored" in event["text"]] == []


def test_stop_ends_the_run_after_the_iteration(loop: Loop) -> None:
    """Its report still counts; the detailed exit code is 8."""
    loop.make()
    loop.script(PATIENT)
    process = running(loop, "--detailed-exit-code")
    assert "stops after iteration 1" in say(loop, "stop")
    (loop.workspace / "go").touch()
    done = loop.finish(process)
    assert done.code == 8
    assert "⚠️ Stopped by the command `stop`" in done.out
    assert outcomes(loop) == [(1, "ok")]
    assert loop.events("RunFinished")[0]["reason"] == "stopped"


def test_stop_now_ends_claude(loop: Loop) -> None:
    """At once, and still as a stop: exit 0."""
    loop.make()
    loop.script(HANGING)
    process = running(loop)
    document = json.loads(say(loop, "stop", "--now", "--json"))
    assert (document["verb"], document["answered"], document["message"]) == ("stop", True, "my-task stops now.")
    assert loop.finish(process).code == 0
    assert outcomes(loop) == [(1, "interrupted")]
    assert loop.processes() == []


def test_skip_ends_the_iteration_and_the_next_begins(loop: Loop) -> None:
    """The number is used up; the delay is not waited for."""
    loop.make()
    loop.env["CLAUDE_ITERATE_DELAY"] = "1h"
    loop.script(HANGING, DONE)
    process = running(loop)
    assert "Iteration 1 ends now" in say(loop, "skip")
    done = loop.finish(process)
    assert done.code == 0
    assert "↷ Iteration 1 skipped" in done.err
    assert outcomes(loop) == [(1, "skipped"), (2, "ok")]


def test_reboot_does_the_same_iteration_again(loop: Loop) -> None:
    """It is not counted, what the first try printed is kept, and nothing is waited for."""
    loop.make()
    loop.env["CLAUDE_ITERATE_DELAY"] = "1h"
    loop.script(HANGING, DONE)
    process = running(loop)
    assert "repeated with fresh context" in say(loop, "reboot")
    assert loop.finish(process).code == 0
    assert outcomes(loop) == [(1, "rebooted"), (1, "ok")]
    assert [event["why"] for event in loop.events("Rebooted")] == ["user"]
    assert loop.events("RunFinished")[0]["iterations"] == 1
    assert loop.events("WaitStarted") == []
    raw = sorted(path.name for path in loop.workspace.glob("runs/*/raw/*.ndjson"))
    assert raw == ["0001.ndjson", "0001.retry-1.ndjson"]


def test_a_delay_can_be_skipped(loop: Loop) -> None:
    """Between iterations `skip` begins the next."""
    loop.make()
    loop.env["CLAUDE_ITERATE_DELAY"] = "1h"
    loop.script(UNDONE, DONE)
    process = loop.start("run", "my-task")
    until(lambda: loop.events("IterationFinished"))
    assert "begins now" in say(loop, "skip")
    assert loop.finish(process).code == 0


@pytest.mark.parametrize("verb", ["retry", "skip"])
def test_a_wait_can_be_ended(loop: Loop, verb: str) -> None:
    """The same iteration is tried again, and nothing was spent."""
    process = waiting(loop)
    assert "The wait is over" in say(loop, verb)
    assert loop.finish(process).code == 0
    assert outcomes(loop) == [(1, "usage_limit"), (1, "ok")]
    assert loop.events("WaitEnded")[0]["by"] == verb


def test_a_wait_can_be_stopped(loop: Loop) -> None:
    """At once, though nobody said so."""
    process = waiting(loop)
    assert "stops now" in say(loop, "stop")
    assert loop.finish(process).code == 0
    assert loop.events("RunFinished")[0]["reason"] == "stopped"


def test_a_run_that_waits_can_be_paused(loop: Loop) -> None:
    """When the wait is over it holds; only `resume` goes on; `reboot` and `retry` do not."""
    process = waiting(loop)
    assert "when the wait is over" in say(loop, "pause")
    assert "stays paused" in say(loop, "retry")
    until(lambda: loop.events("WaitEnded"))
    assert "begins with fresh context" in say(loop, "reboot")
    assert "no iteration to skip" in say(loop, "skip")
    assert "Continuing" in say(loop, "resume")
    assert loop.finish(process).code == 0
    kinds = order(loop)
    assert "IterationStarted" not in kinds[kinds.index("pause") : kinds.index("resume")]


def test_a_paused_run_can_be_stopped(loop: Loop) -> None:
    """At once."""
    loop.make()
    loop.script(PATIENT)
    process = running(loop)
    say(loop, "pause")
    (loop.workspace / "go").touch()
    until(lambda: loop.events("IterationFinished"))
    assert "stops now" in say(loop, "stop")
    assert loop.finish(process).code == 0


def test_requests_that_mean_nothing_now_disturb_nothing(loop: Loop) -> None:
    """In mid-iteration there is nothing to retry or to resume."""
    loop.make()
    loop.script([*PATIENT[:-2], *DONE[1:]])
    process = running(loop)
    assert say(loop, "retry").strip() == "The run is not waiting, so there is nothing to retry."
    assert "not paused" in say(loop, "resume")
    (loop.workspace / "go").touch()
    assert loop.finish(process).code == 0
    assert outcomes(loop) == [(1, "ok")]


def answered(loop: Loop, verb: str) -> bool:
    """The runner takes a request."""
    layout = Layout(loop.root, loop.workspace)
    name = control.post(layout, layout.run_ids()[-1], verb)
    return bool(until(lambda: control.is_taken(layout, name)))


def test_the_answer_waits_for_nothing(loop: Loop) -> None:
    """In mid-iteration, while waiting for an hour and while paused: not for the end of any of these."""
    loop.make()
    loop.script(PATIENT, limit(time.time() + 3600), DONE)
    process = running(loop)
    assert answered(loop, "resume")
    (loop.workspace / "go").touch()
    until(lambda: loop.events("WaitStarted"))
    assert answered(loop, "pause")
    assert answered(loop, "retry")
    until(lambda: loop.events("WaitEnded"))
    assert answered(loop, "resume")
    assert loop.finish(process).code == 0


def test_a_suspended_run_answers_when_it_wakes(loop: Loop) -> None:
    """The command gives up after a while, and the request is not lost."""
    loop.make()
    loop.script(PATIENT)
    process = running(loop)
    process.send_signal(signal.SIGSTOP)
    loop.patch("operations.steering", _PATIENCE=0.5)
    done = loop.call("stop", "my-task")
    assert done.code == 1
    assert f"No answer from process {process.pid}" in done.err
    process.send_signal(signal.SIGCONT)
    until(lambda: loop.events("StopRequested"))
    (loop.workspace / "go").touch()
    assert loop.finish(process).code == 0


@pytest.mark.parametrize("verb", ["pause", "resume", "stop", "skip", "reboot", "retry"])
def test_when_nothing_runs_it_says_so(loop: Loop, verb: str) -> None:
    """Exit 1, the next step, and no file left behind for the next run."""
    loop.make()
    done = loop.call(verb, "my-task")
    assert done.code == 1
    assert "Nothing runs" in done.err
    assert "claude-iterate run my-task" in done.err
    assert not (loop.workspace / "control").exists()


def test_junk_in_the_control_folder_does_no_harm(loop: Loop) -> None:
    """Each piece is told. What is named like a request is removed, all else stays; an old `stop` is not obeyed."""
    loop.make()
    folder = loop.workspace / "control"
    folder.mkdir()
    (folder / "01700000000000000000-stop-0123ab.json").write_text(
        json.dumps({"run": "an earlier one", "verb": "stop", "now": True})
    )
    loop.script(PATIENT)
    process = running(loop)
    until(lambda: "another run" in str(loop.events("Warned")))
    (folder / "torn.json").write_text('{"verb": "st')
    (folder / "huge.json").write_bytes(b"x" * 10_000_000)
    os.mkfifo(folder / "pipe")
    until(lambda: len(loop.events("Warned")) >= 4)
    assert sorted(path.name for path in folder.iterdir()) == ["huge.json", "pipe", "torn.json"]
    assert "stops after iteration 1" in say(loop, "stop")
    (loop.workspace / "go").touch()
    assert loop.finish(process).code == 0
    assert [event["verb"] for event in loop.events("Requested")] == ["stop"]


HANGING_GIT = """#!/bin/sh
case "$*" in
*diff-files*) [ -e "$HOME/hang" ] && { echo > "$HOME/hangs"; exec sleep 300; } ;;
esac
exec GIT "$@"
"""


def test_stop_now_does_not_wait_for_a_look_at_the_project(loop: Loop) -> None:
    """Git may take long in a large project. Its processes are ended, and the iteration stays unmeasured."""
    git = shutil.which("git")
    if git is None:
        pytest.skip("there is no git: install it (on Debian and Ubuntu: apt install git)")
    loop.make()
    (loop.home / "git").write_text(HANGING_GIT.replace("GIT", git))
    (loop.home / "git").chmod(0o755)
    loop.env["PATH"] = f"{loop.home}:{loop.env['PATH']}"
    subprocess.run(["git", "init", "-q"], cwd=loop.root, env=loop.env, check=True)
    hang = {"touch": str(loop.home / "hang")}
    loop.script([{"init": {}}, hang, {"touch": str(loop.root / "work")}, {"result": {}}])
    process = loop.start("run", "my-task", "-m", "2")
    until((loop.home / "hangs").exists)
    say(loop, "stop", "--now")
    assert loop.finish(process).code == 0
    loop.gone()
    assert (len(loop.events("IterationFinished")), loop.events("WorkMeasured")) == (1, [])
