"""A run in which nothing moves ends, stays ended over any end, and goes on when the user says so."""

from __future__ import annotations

import json
import signal

import pytest

from claude_iterate.selftest.harness.script_steps import GO, INIT, READY, RESULT, message, proceed
from tests.e2e.conftest import Loop
from tests.e2e.shell_agent import acts, with_git

IDLE = [INIT, RESULT]
REFUSED = "my-task was stopped after 3 iterations without progress (run 1)."


def numbers(loop: Loop) -> list[int]:
    return [event["number"] for event in loop.events("IterationFinished")]


def settings(loop: Loop, **values: object) -> None:
    for name, value in values.items():
        text = value if isinstance(value, str) else json.dumps(value)
        loop.env[f"CLAUDE_ITERATE_STOP__{name.upper()}"] = text


def reason(loop: Loop) -> str:
    return str(loop.journal()[-1]["event"]["reason"])


def runs(loop: Loop) -> int:
    return len(loop.layout.run_ids())


def test_an_agent_that_does_nothing_ends_after_three_iterations_and_stays_ended(loop: Loop) -> None:
    """With the reason, the evidence and the next step. The next run is refused before anything is written; --reset and
    other instructions begin again."""
    loop.make()
    settings(loop, no_progress=3)
    loop.script(IDLE)
    done = loop.run("-m", "50", "--detailed-exit-code")
    assert (done.code, numbers(loop), reason(loop)) == (4, [1, 2, 3], "no_progress")
    assert "❌ No progress in 3 iterations in a row" in done.err
    assert "Next: claude-iterate run my-task --max-iterations 50 --reset" in done.err
    assert "⚠ Iteration 1: Claude wrote no report" in done.err
    assert "no progress 3/3" in loop.call("show", "my-task").out

    before = {path: path.read_bytes() for path in loop.workspace.rglob("*") if path.is_file() and path.name != ".lock"}
    refused = loop.run("--detailed-exit-code")
    assert (refused.code, refused.out) == (4, "")
    assert f"Error: {REFUSED}" in refused.err
    assert "claude-iterate run my-task --reset" in refused.err
    assert loop.run().code == 1
    after = {path: path.read_bytes() for path in loop.workspace.rglob("*") if path.is_file() and path.name != ".lock"}
    assert (after, runs(loop)) == (before, 1)
    assert loop.run("--dry-run", "-m", "1").code == 0

    again = loop.run("--reset", "-m", "1")
    assert (again.code, runs(loop)) == (0, 3)
    assert [event["by"] for event in loop.events("BreakerReset")] == ["run"]
    assert "--reset" not in again.err.partition("Next:")[2]


def test_other_instructions_and_reset_begin_again(loop: Loop) -> None:
    """A user who wrote a new task starts afresh; so does one who says `reset`."""
    loop.make()
    settings(loop, no_progress=1)
    loop.script(IDLE)
    assert loop.run("-m", "9").code == 1
    loop.layout.instructions.write_text("- something else\n")
    assert loop.run("-m", "9").code == 1
    assert [event["by"] for event in loop.events("BreakerReset")] == ["instructions"]
    assert loop.call("reset", "my-task").code == 0
    assert loop.run("-m", "9").code == 1
    assert [event["by"] for event in loop.events("BreakerReset")] == ["instructions", "reset"]


CLAIMS = """report '{"complete": false, "progress": {"completed": 1, "total": 9}}'"""
COUNTS = """report '{"complete": false, "progress": {"completed": '$n', "total": 50}}'"""
CACHES = "mkdir -p pkg/__pycache__ .pytest_cache; date +%N | tee .coverage pkg/__pycache__/a.pyc > .pytest_cache/x"
BOTH = f"{CACHES}; {COUNTS}"


@pytest.mark.needs_git
@pytest.mark.parametrize("place", ["git", "plain"])
@pytest.mark.parametrize("deed", [CLAIMS, COUNTS, CACHES, BOTH], ids=["same", "counts", "caches", "both"])
def test_no_number_of_short_runs_gets_around_the_breaker(loop: Loop, deed: str, place: str) -> None:
    """Items that were ticked before, items that are only counted, and what test runners leave are no progress: of five
    runs of two iterations the second ends, and the others are refused with the command that goes on."""
    loop.make()
    del loop.env["CLAUDE_ITERATE_STOP__NO_PROGRESS"]  # as users have it
    loop.layout.todo.write_text("- [x] a\n- [ ] b\n- [ ] c\n")
    if place == "git":
        with_git(loop)
    acts(loop, deed)
    ended = [loop.run("-m", "2") for _ in range(5)]
    assert [done.code for done in ended] == [0, 1, 1, 1, 1]
    assert (runs(loop), numbers(loop)) == (2, [1, 2, 1])
    assert [event["reason"] for event in loop.events("RunFinished")] == ["max_iterations", "no_progress"]
    assert not any(event.get("progress") for event in loop.events("WorkMeasured"))
    assert "claude-iterate run my-task --max-iterations 2 --reset" in ended[2].err


@pytest.mark.parametrize("killed", [False, True])
def test_a_count_of_one_does_not_reach_other_instructions(loop: Loop, killed: bool) -> None:
    """Each time a new task: 1/3, 1/3, 1/3; also when the run was killed."""
    loop.make()
    settings(loop, no_progress=3)
    acts(loop, "true", "kill -9 $PPID; sleep 300" if killed else "true")
    for number in range(3):
        loop.layout.instructions.write_text(f"- task {number}\n")
        if killed:
            (loop.folder / "agent" / "count").unlink(missing_ok=True)
            loop.run("-m", "9")
            loop.gone()
        else:
            loop.run("-m", "1")
        assert "no progress 1/3" in loop.call("show", "my-task").out
    assert [event["by"] for event in loop.events("BreakerReset")] == ["instructions", "instructions"]


@pytest.mark.parametrize("denied", [False, True])
def test_the_same_error_ends_a_run_that_edits_files(loop: Loop, denied: bool) -> None:
    """At the defaults: the fifth iteration, also if each of them changed a file. A denial is no error: work goes on."""
    loop.make()
    del loop.env["CLAUDE_ITERATE_STOP__NO_PROGRESS"]
    failing = {"tool": {"name": "Bash", "input": {"command": "make"}, "result": "no such table", "is_error": True}}
    edit = {"append": {"path": str(loop.root / "work"), "text": "x"}}
    denial = {"tool_name": "Bash", "tool_use_id": "t", "tool_input": {"command": "make"}}
    result = {"result": {"permission_denials": [denial]}} if denied else RESULT
    loop.script([INIT, failing, edit, {"status": {"complete": False}}, result])
    done = loop.run("-m", "6", "--detailed-exit-code")
    assert (reason(loop), len(numbers(loop))) == (("max_iterations", 6) if denied else ("same_error", 5))
    assert ("config stop.same_error 0 --workspace my-task" in done.err) == (not denied)


@pytest.mark.parametrize("end", ["normal", "interrupted", "killed"])
def test_the_count_goes_on_after_any_end(loop: Loop, end: str) -> None:
    """Two iterations without progress, the end of the run, one more: three."""
    loop.make()
    settings(loop, no_progress=3)
    loop.script(IDLE, IDLE, [INIT, READY, GO, RESULT] if end != "normal" else IDLE, IDLE)
    if end == "normal":
        assert loop.run("-m", "2").code == 0
    else:
        process = loop.start_run("-m", "9")
        loop.until((loop.workspace / "ready").exists, "the third iteration")
        if end == "killed":
            process.kill()
        else:
            process.send_signal(signal.SIGINT)
            loop.until(lambda: loop.events("StopRequested"), "the record")
            process.send_signal(signal.SIGINT)
        loop.finish(process)
    loop.env["CLAUDE_ITERATE_STOP__NO_PROGRESS"] = "3"
    done = loop.run("-m", "9")
    assert (done.code, reason(loop)) == (1, "no_progress"), done.err
    last = [entry["event"]["event"] for entry in loop.journals()[-1]]
    assert last.count("IterationFinished") == 1


def test_progress_in_between_begins_again(loop: Loop) -> None:
    """Over runs, too."""
    loop.make()
    settings(loop, no_progress=3)
    work = [INIT, {"write": {"path": str(loop.root / "work"), "text": "done"}}, RESULT]
    loop.script(IDLE, IDLE, work, IDLE, IDLE, IDLE)
    assert loop.run("-m", "2").code == 0
    assert loop.run("-m", "9").code == 1
    assert numbers(loop) == [1, 2, 1, 2, 3, 4]


@pytest.mark.setting("stop.cooldown")
def test_after_the_cooldown_one_trial_is_allowed(loop: Loop) -> None:
    """One that moves nothing ends the run at once; one that moves closes the breaker."""
    loop.make()
    settings(loop, no_progress=3, cooldown="1h")
    loop.script(IDLE, IDLE, IDLE, IDLE, [INIT, {"write": {"path": str(loop.root / "work"), "text": "x"}}, RESULT], IDLE)
    assert loop.run("-m", "9").code == 1
    refused = loop.run("-m", "9")
    assert "One trial iteration is allowed in" in refused.err
    settings(loop, cooldown="0s")
    trial = loop.run("-m", "9", "--detailed-exit-code")
    assert (trial.code, numbers(loop)) == (4, [1, 2, 3, 1])
    assert "so one trial iteration is allowed" in trial.err
    moved = loop.run("-m", "2")
    assert (moved.code, reason(loop)) == (0, "max_iterations"), moved.err


def test_failures_are_counted_over_runs_and_refuse_the_next(loop: Loop) -> None:
    """Until --reset; the exit code is that of a failure."""
    loop.make()
    settings(loop, failures=2)
    loop.script([INIT, {"exit": 3}])
    assert loop.run("-m", "1").code == 0
    assert loop.run("-m", "9", "--detailed-exit-code").code == 6
    refused = loop.run("--detailed-exit-code")
    assert (refused.code, runs(loop)) == (6, 2)
    assert "my-task was stopped after 2 failed iterations (run 2)." in refused.err


@pytest.mark.setting("stop.patterns")
def test_a_pattern_that_explodes_is_told_and_the_run_goes_on(loop: Loop) -> None:
    """Once; the other patterns are still looked for."""
    loop.make()
    settings(loop, patterns=["(a+)+$", "ENOUGH"])
    explosive = message("a" * 5000 + "!")
    loop.script(proceed(explosive), proceed(explosive, message("ENOUGH")))
    done = loop.run("-m", "9")
    assert (numbers(loop), reason(loop)) == ([1, 2], "pattern")
    assert done.err.count("The stop pattern `(a+)+$` takes too long.") == 1


@pytest.mark.setting("stop.scripts")
def test_a_stop_script_that_cannot_run_is_told_once(loop: Loop) -> None:
    """A folder and a missing file decide nothing; one that ends with 0 ends the run."""
    loop.make()
    folder = loop.root / "a-folder"
    folder.mkdir()
    settings(loop, scripts=[str(folder), "./missing.sh", 'test "$CLAUDE_ITERATE_ITERATION" = 3'])
    loop.script(proceed())
    done = loop.run("-m", "9")
    assert (numbers(loop), reason(loop)) == ([1, 2, 3], "script")
    assert done.err.count(f"The stop script `{folder}` decides nothing") == 1
    assert done.err.count("The stop script `./missing.sh` decides nothing: it was not found") == 1


def test_the_pace_counts_the_calls_of_the_run_before(loop: Loop) -> None:
    """One call an hour is one call an hour, also when the run is started again."""
    loop.make()
    loop.env["CLAUDE_ITERATE_LIMITS__CALLS_PER_HOUR"] = "1"
    loop.script(proceed())
    assert loop.run("-m", "1").code == 0
    process = loop.start_run("-m", "1")
    loop.until(lambda: loop.events("WaitStarted"), "the wait")
    assert loop.events("WaitStarted")[0]["why"] == "pace"
    loop.request("stop")
    loop.finish(process)
