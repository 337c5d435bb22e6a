"""A run in which nothing moves says so at once, ends, and stays ended until the user says otherwise."""

from __future__ import annotations

import signal

import pytest

from claude_iterate.selftest.harness.script_steps import GO, INIT, READY, RESULT, message, proceed
from tests.e2e.agents import acts, prompt, with_git
from tests.e2e.conftest import Loop

IDLE = [INIT, RESULT]
REFUSED = "my-task was stopped after 3 iterations without progress (run 1)."


def numbers(loop: Loop) -> list[int]:
    return [event["number"] for event in loop.events("IterationFinished")]


def reason(loop: Loop) -> str:
    return str(loop.journal()[-1]["event"]["reason"])


def runs(loop: Loop) -> int:
    return len(loop.layout.run_ids())


def test_an_agent_that_does_nothing_ends_after_three_iterations_and_stays_ended(loop: Loop) -> None:
    """With the reason, the evidence and the next step. The next run is refused before anything is written; --reset and
    other instructions begin again."""
    loop.make()
    loop.set(stop__no_progress=3)
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
    loop.set(stop__no_progress=1)
    loop.script(IDLE)
    assert loop.run("-m", "9").code == 1
    loop.layout.instructions.write_text("- something else\n")
    assert loop.run("-m", "9").code == 1
    assert [event["by"] for event in loop.events("BreakerReset")] == ["instructions"]
    assert loop.call("reset", "my-task").code == 0
    assert loop.run("-m", "9").code == 1
    assert [event["by"] for event in loop.events("BreakerReset")] == ["instructions", "reset"]


COUNTS = """report '{"complete": false, "progress": {"completed": '$n', "total": 50}}'"""
CACHES = "mkdir -p pkg/__pycache__ .pytest_cache; date +%N | tee .coverage pkg/__pycache__/a.pyc > .pytest_cache/x"


@pytest.mark.needs_git
@pytest.mark.parametrize("place", ["git", "plain"])
def test_no_number_of_short_runs_gets_around_the_breaker(loop: Loop, place: str) -> None:
    """Items that are only counted and what test runners leave are no progress: of four runs of two iterations the
    second ends, and the others are refused with the command that goes on."""
    loop.make()
    del loop.env["CLAUDE_ITERATE_STOP__NO_PROGRESS"]  # as users have it
    loop.layout.todo.write_text("- [x] a\n- [ ] b\n- [ ] c\n")
    if place == "git":
        with_git(loop)
    acts(loop, f"{CACHES}; {COUNTS}")
    ended = [loop.run("-m", "2") for _ in range(4)]
    assert [done.code for done in ended] == [0, 1, 1, 1]
    assert (runs(loop), numbers(loop)) == (2, [1, 2, 1])
    assert [event["reason"] for event in loop.events("RunFinished")] == ["max_iterations", "no_progress"]
    assert not any(event.get("progress") for event in loop.events("WorkMeasured"))
    assert "claude-iterate run my-task --max-iterations 2 --reset" in ended[2].err


@pytest.mark.parametrize("killed", [False, True])
def test_a_count_of_one_does_not_reach_other_instructions(loop: Loop, killed: bool) -> None:
    """Each time a new task: 1/3, 1/3, 1/3; also when the run was killed."""
    loop.make()
    loop.set(stop__no_progress=3)
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


def test_the_same_error_ends_a_run_that_edits_files(loop: Loop) -> None:
    """At the defaults: the fifth iteration, also if each of them changed a file."""
    loop.make()
    del loop.env["CLAUDE_ITERATE_STOP__NO_PROGRESS"]
    failing = {"tool": {"name": "Bash", "input": {"command": "make"}, "result": "no such table", "is_error": True}}
    edit = {"append": {"path": str(loop.root / "work"), "text": "x"}}
    loop.script([INIT, failing, edit, {"status": {"complete": False}}, RESULT])
    done = loop.run("-m", "6")
    assert (reason(loop), len(numbers(loop))) == ("same_error", 5)
    assert "config stop.same_error 0 --workspace my-task" in done.err


@pytest.mark.parametrize("killed", [False, True])
def test_the_count_goes_on_after_any_end(loop: Loop, killed: bool) -> None:
    """Two iterations without progress, the end of the run by Ctrl-C or `kill -9`, one more: three."""
    loop.make()
    loop.set(stop__no_progress=3)
    loop.script(IDLE, IDLE, [INIT, READY, GO, RESULT], IDLE)
    process = loop.working("-m", "9")
    if killed:
        loop.kill(process)
    else:
        process.send_signal(signal.SIGINT)
        loop.until(lambda: loop.events("StopRequested"), "the record")
        process.send_signal(signal.SIGINT)
        loop.finish(process)
    done = loop.run("-m", "9")
    assert (done.code, reason(loop)) == (1, "no_progress"), done.err
    last = [entry["event"]["event"] for entry in loop.journals()[-1]]
    assert last.count("IterationFinished") == 1


@pytest.mark.setting("stop.cooldown")
def test_after_the_cooldown_one_trial_is_allowed(loop: Loop) -> None:
    """One that moves nothing ends the run at once; one that moves closes the breaker."""
    loop.make()
    loop.set(stop__no_progress=3, stop__cooldown="1h")
    loop.script(IDLE, IDLE, IDLE, IDLE, [INIT, {"write": {"path": str(loop.root / "work"), "text": "x"}}, RESULT], IDLE)
    assert loop.run("-m", "9").code == 1
    refused = loop.run("-m", "9")
    assert "One trial iteration is allowed in" in refused.err
    loop.set(stop__cooldown="0s")
    trial = loop.run("-m", "9", "--detailed-exit-code")
    assert (trial.code, numbers(loop)) == (4, [1, 2, 3, 1])
    assert "so one trial iteration is allowed" in trial.err
    moved = loop.run("-m", "2")
    assert (moved.code, reason(loop)) == (0, "max_iterations"), moved.err


def test_failures_are_counted_over_runs_and_refuse_the_next(loop: Loop) -> None:
    """Until --reset; the exit code is that of a failure."""
    loop.make()
    loop.set(stop__failures=2)
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
    loop.set(stop__patterns=["(a+)+$", "ENOUGH"])
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
    loop.set(stop__scripts=[str(folder), "./missing.sh", 'test "$CLAUDE_ITERATE_ITERATION" = 3'])
    loop.script(proceed())
    done = loop.run("-m", "9")
    assert (numbers(loop), reason(loop)) == ([1, 2, 3], "script")
    assert done.err.count(f"The stop script `{folder}` decides nothing") == 1
    assert done.err.count("The stop script `./missing.sh` decides nothing: it was not found") == 1


REPORT = """report '{"complete": false}'"""


@pytest.mark.needs_git
@pytest.mark.parametrize(
    "deed",
    [
        "echo x >> file",
        'GIT_COMMITTER_DATE="@$(($(date +%s) + 2)) +0000" git commit -q --allow-empty -m x',
        f"echo $n > file; {REPORT}",
    ],
    ids=["changed-file", "commit", "report"],
)
def test_work_goes_on_with_a_report_and_without_one(loop: Loop, deed: str) -> None:
    """A change of the project is not idleness; only the missing report is told."""
    loop.make()
    loop.set(stop__no_progress=2)
    (loop.root / "file").write_text("x")
    with_git(loop)
    acts(loop, deed)
    done = loop.run("-m", "3", "--detailed-exit-code")
    assert (done.code, numbers(loop)) == (3, [1, 2, 3])
    assert ("wrote no report" in done.err) != (REPORT in deed)


def test_reports_of_no_work_end_iterative_mode_unless_the_user_trusts_claude(loop: Loop) -> None:
    """After the threshold; 0 switches it off, and then the breaker does not end the run either."""
    loop.make(mode="iterative")
    acts(loop, """report '{"complete": false, "worked": false}'""")
    del loop.env["CLAUDE_ITERATE_STOP__NO_PROGRESS"]
    assert loop.run("-m", "4", "--stagnation-threshold", "0", "--detailed-exit-code").code == 3
    done = loop.run("-m", "4", "--detailed-exit-code")
    assert (done.code, numbers(loop)) == (4, [1, 2, 3, 4, 1, 2]), done.err


def test_a_report_that_does_not_count_is_named_with_its_reason(loop: Loop) -> None:
    """The user and the next prompt learn why."""
    loop.make()
    loop.set(stop__no_progress=2)
    acts(loop, "echo '{\"complete\": tr' > $S")
    done = loop.run()
    assert "⚠ Iteration 1: Claude wrote no report that counts" in done.err
    assert "⚠ Status report: it is not valid JSON" in done.err
    assert "You wrote no report that counts: it is not valid JSON." in prompt(loop, 2)
    assert len(numbers(loop)) == 2
