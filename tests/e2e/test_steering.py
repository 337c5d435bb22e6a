"""A running loop does what it is told from another terminal, and the answer says at once what really happens."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from shlex import quote

import pytest

from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.run_folder import control
from tests.e2e.conftest import DONE, LIMITED, PATIENT, UNDONE, Loop, until


def waiting(loop: Loop, *arguments: str) -> subprocess.Popen[bytes]:
    """A run that waits for a limit that resets in an hour."""
    loop.make()
    loop.script(LIMITED, DONE)
    return loop.waiting(*arguments)


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


def test_what_the_user_deletes_between_iterations_stays_deleted(loop: Loop) -> None:
    """A note is withdrawn, and settings of the project: neither comes back."""
    loop.make()
    settings = loop.root / ".claude-iterate.toml"
    settings.write_text("delay = 0\n")
    loop.script(PATIENT, DONE)
    process = loop.working()
    assert loop.call("note", "my-task", "Use tabs.").code == 0
    say(loop, "pause")
    loop.go()
    until(lambda: loop.events("IterationFinished"))
    assert say(loop, "pause") == "Already paused.\n"
    (note,) = loop.layout.notes.glob("*.md")
    for path in (note, settings):
        path.unlink()
    say(loop, "resume")
    assert loop.finish(process).code == 0
    kinds = order(loop)
    assert "IterationStarted" not in kinds[kinds.index("pause") : kinds.index("resume")]
    assert (b"Use tabs." in Path(loop.record(2)["stdin"]).read_bytes(), settings.exists()) == (False, False)
    assert [event["text"] for event in loop.events("Warned") if "Restored" in event["text"]] == []


def test_a_delay_can_be_skipped(loop: Loop) -> None:
    """Between iterations `skip` begins the next."""
    loop.make()
    loop.env["CLAUDE_ITERATE_DELAY"] = "1h"
    loop.script(UNDONE, DONE)
    process = loop.start("run", "my-task")
    until(lambda: loop.events("IterationFinished"))
    assert "begins now" in say(loop, "skip")
    assert loop.finish(process).code == 0


def test_a_run_that_waits_can_be_paused(loop: Loop) -> None:
    """When the wait is over it holds; only `resume` goes on; `reboot` and `retry` do not."""
    process = waiting(loop)
    assert "no iteration begins until" in say(loop, "pause")
    assert "stays paused" in say(loop, "retry")
    until(lambda: loop.events("WaitEnded"))
    assert "begins with fresh context" in say(loop, "reboot")
    assert say(loop, "skip").startswith("There is no iteration to skip")  # without a tick: nothing was done
    assert "Continuing" in say(loop, "resume")
    assert loop.finish(process).code == 0
    kinds = order(loop)
    assert "IterationStarted" not in kinds[kinds.index("pause") : kinds.index("resume")]


def test_requests_that_mean_nothing_now_disturb_nothing(loop: Loop) -> None:
    """In mid-iteration there is nothing to retry or to resume."""
    loop.make()
    loop.script([*PATIENT[:-2], *DONE[1:]])
    process = loop.working()
    assert say(loop, "retry").strip() == "The run is not waiting, so there is nothing to retry."
    assert "not paused" in say(loop, "resume")
    loop.go()
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
    loop.script(PATIENT, LIMITED, DONE)
    process = loop.working()
    assert answered(loop, "resume")
    loop.go()
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
    process = loop.working()
    process.send_signal(signal.SIGSTOP)
    loop.patch("operations.steering", _PATIENCE=0.5)
    done = loop.call("stop", "my-task")
    assert done.code == 1
    assert f"No answer from process {process.pid}" in done.err
    process.send_signal(signal.SIGCONT)
    until(lambda: loop.events("StopRequested"))
    loop.go()
    assert loop.finish(process).code == 0


@pytest.mark.parametrize("verb", ["pause", "stop"])
def test_when_nothing_runs_it_says_so(loop: Loop, verb: str) -> None:
    """Exit 1, the next step, and no file left behind for the next run."""
    loop.make()
    done = loop.call(verb, "my-task")
    assert done.code == 1
    assert "Nothing runs" in done.err
    assert "claude-iterate run my-task" in done.err
    assert not (loop.workspace / "control").exists()


HANGING_GIT = """\
case "$*" in
*diff-files*) [ -e "$HOME/hang" ] && { echo > "$HOME/hangs"; exec sleep 300; } ;;
esac
exec GIT "$@"
"""


@pytest.mark.needs_git
def test_stop_now_does_not_wait_for_a_look_at_the_project(loop: Loop) -> None:
    """Git may take long in a large project. Its processes are ended, and the iteration stays unmeasured."""
    git = shutil.which("git") or ""
    loop.make()
    loop.executable("git", HANGING_GIT.replace("GIT", git))
    loop.git("init", "-q")
    hang = {"touch": str(loop.home / "hang")}
    loop.script([{"init": {}}, hang, {"touch": str(loop.root / "work")}, {"result": {}}])
    process = loop.start("run", "my-task", "-m", "2")
    until((loop.home / "hangs").exists)
    say(loop, "stop", "--now")
    assert loop.finish(process).code == 0
    loop.gone()
    assert (len(loop.events("IterationFinished")), loop.events("WorkMeasured")) == (1, [])


def test_nothing_is_promised_while_a_check_runs(loop: Loop) -> None:
    """There is no iteration to skip and no wait to end, and both terminals say so."""
    loop.make()
    check = (
        f"touch {quote(str(loop.workspace))}/ready; until test -e {quote(str(loop.workspace))}/go; do sleep 0.05; done"
    )
    loop.checks(check)
    loop.script(DONE)
    process = loop.working()
    assert "no iteration to skip" in say(loop, "skip")
    loop.go()
    done = loop.finish(process)
    assert done.code == 0
    assert "no iteration to skip" in done.err
    assert "begins now" not in done.err
    assert outcomes(loop) == [(1, "ok")]


def bytes_read(pid: int) -> int:
    """What a process has read so far; the kernel adds what its finished children read."""
    words = Path(f"/proc/{pid}/io").read_text().split()
    return int(words[words.index("rchar:") + 1])


@pytest.mark.skipif(not os.access("/proc/self/io", os.R_OK), reason="this system does not tell what a process reads")
def test_a_huge_journal_delays_no_answer(loop: Loop) -> None:
    """The answer is right, and the command has not read the 100 MB for it."""
    loop.make()
    loop.script(PATIENT, DONE)
    process = loop.working()
    (path,) = loop.workspace.glob("runs/*/events.ndjson")
    words = {"seq": 5, "at": 1.0, "elapsed": 1.0, "event": {"event": "AssistantText", "text": "x" * 900}}
    with path.open("a") as journal:
        journal.write((json.dumps(words, separators=(",", ":")) + "\n") * 100_000)
    before = bytes_read(os.getpid()) + bytes_read(process.pid)
    assert "my-task pauses after iteration 1." in say(loop, "pause")
    taken = bytes_read(os.getpid()) + bytes_read(process.pid) - before
    assert "does not pause" in say(loop, "resume")
    assert list((loop.workspace / "control").iterdir()) == []
    loop.go()
    assert loop.finish(process).code == 0
    assert taken < path.stat().st_size / 2


def test_a_control_folder_that_leads_elsewhere_is_left_alone(loop: Loop) -> None:
    """The run warns once and goes on; what lies there stays; the request is refused with the reason."""
    loop.make()
    elsewhere = loop.folder / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "thesis.doc").write_text("precious")
    (loop.workspace / "control").symlink_to(elsewhere)
    (loop.workspace / "notes").symlink_to(elsewhere)
    (elsewhere / "secret.md").write_text("not for Claude")
    loop.script(PATIENT, UNDONE, DONE)
    process = loop.working()
    refused = loop.call("stop", "my-task")
    assert refused.code == 1
    assert "control is a link" in refused.err
    loop.go()
    assert loop.finish(process).code == 0
    assert [str(event["text"]).split(":")[0] for event in loop.events("Warned")] == [
        "Notes do not reach Claude",
        "Requests cannot reach this run",
    ]
    assert sorted(path.name for path in elsewhere.iterdir()) == ["secret.md", "thesis.doc"]
    assert "not for Claude" not in (loop.state / "call-0001.stdin").read_text()
