"""A person at the terminal: single keys while a run is shown, questions before each iteration in attended mode; and
a terminal that takes nothing, which holds up neither the work nor the time-outs."""

from __future__ import annotations

import fcntl
import os
import re
from typing import Any

import pytest

from tests.e2e.conftest import DONE, HANGING, PATIENT, UNDONE, Loop, until
from tests.e2e.terminal import Open, Terminal
from tests.e2e.test_steering import order, outcomes, say


def test_keys_are_the_same_requests(loop: Loop, terminal: Open) -> None:
    """p pauses and resumes, k skips, ? helps; the terminal is restored."""
    loop.make()
    loop.script(HANGING, PATIENT, DONE)
    screen = terminal("run", "my-task")
    until((loop.workspace / "ready").exists)
    until(lambda: not screen.echoes)
    screen.type("?")
    screen.await_text("Keys: p pause, resume")
    screen.type("p")
    screen.await_text("my-task pauses after iteration 1.")
    screen.type("k")
    screen.await_text("Iteration 1 skipped")
    screen.type("p")
    screen.await_text("Continuing.")
    loop.go()
    assert screen.finish() == 0
    assert [(event["verb"], event["by"]) for event in loop.events("Requested")] == [
        ("pause", "key"),
        ("skip", "key"),
        ("resume", "key"),
    ]
    assert outcomes(loop) == [(1, "skipped"), (2, "ok"), (3, "ok")]


def test_s_stops_after_the_iteration(loop: Loop, terminal: Open) -> None:
    """And the run says so."""
    loop.make()
    loop.script(PATIENT)
    screen = terminal("run", "my-task")
    until((loop.workspace / "ready").exists)
    until(lambda: not screen.echoes)
    screen.type("s")
    screen.await_text("Stopping after this iteration")
    loop.go()
    assert screen.finish() == 0
    screen.await_text("Stopped by the key s")


def test_interrupts_work_and_leave_the_terminal_as_it_was(loop: Loop, terminal: Open) -> None:
    """Ctrl-C twice: exit 130."""
    loop.make()
    loop.script(HANGING)
    screen = terminal("run", "my-task")
    until((loop.workspace / "ready").exists)
    until(lambda: not screen.echoes)
    screen.type("\x03")
    screen.await_text("Ctrl-C again")
    screen.type("\x03")
    assert screen.finish() == 130


def test_suspending_gives_the_terminal_back(loop: Loop, terminal: Open) -> None:
    """While suspended the shell has it as it was; afterwards keys work again."""
    loop.make()
    loop.script(PATIENT, DONE)
    screen = terminal("run", "my-task")
    until((loop.workspace / "ready").exists)
    until(lambda: not screen.echoes)
    screen.type("\x1a")
    screen.await_text("SUSPENDED echo True")
    until(lambda: not screen.echoes)
    screen.type("p")
    screen.await_text("my-task pauses after iteration 1.")
    loop.go()
    until(lambda: loop.events("IterationFinished"))
    screen.type("p")
    assert screen.finish() == 0


def test_a_quiet_run_reads_no_keys(loop: Loop, terminal: Open) -> None:
    """It leaves the terminal alone."""
    loop.make()
    loop.script([{"init": {}}, {"touch": "ready"}, {"wait_for": "go"}, *DONE[1:]])
    screen = terminal("run", "my-task", "--quiet")
    until((loop.workspace / "ready").exists)
    assert screen.echoes
    loop.go()
    assert screen.finish() == 0


def test_attended_mode_asks_before_each_iteration(loop: Loop, terminal: Open) -> None:
    """go, skip, a note, stop; an answer that is none is asked for again."""
    loop.make()
    loop.script(UNDONE)
    screen = terminal("run", "my-task", "--attended")
    screen.await_text("Iteration 1? ")
    assert loop.events("IterationStarted") == []
    screen.type("what?\n")
    screen.await_text("not one of the answers")
    screen.type("n Use tabs.\n")
    screen.await_text("Noted for this iteration.")
    screen.type("\n")
    screen.await_text("Iteration 2? ")
    assert "Use tabs." in (loop.state / "call-0001.stdin").read_text()
    screen.type("k\n")
    screen.await_text("Iteration 3? ")
    screen.type("go\n")
    screen.await_text("Iteration 4? ")
    assert "Use tabs." not in (loop.state / "call-0002.stdin").read_text()
    screen.type("s\n")
    assert screen.finish() == 0
    assert outcomes(loop) == [(1, "ok"), (2, "skipped"), (3, "ok")]
    assert loop.events("RunFinished")[0]["reason"] == "stopped"


def test_an_open_question_holds_nothing_up(loop: Loop, terminal: Open) -> None:
    """Requests from another terminal are answered meanwhile; so is Ctrl-C."""
    loop.make()
    loop.script(UNDONE)
    screen = terminal("run", "my-task", "--attended")
    screen.await_text("Iteration 1? ")
    assert "Paused" in say(loop, "pause")
    assert "Continuing" in say(loop, "resume")
    screen.type("\x03")
    assert screen.finish() == 130
    assert order(loop).count("IterationStarted") == 0


@pytest.mark.parametrize("verb", ["skip", "retry"])
def test_commands_do_not_answer_an_open_question(loop: Loop, terminal: Open, verb: str) -> None:
    """Consent is given where it is asked for, and both terminals are told so."""
    loop.make()
    loop.script(UNDONE)
    screen = terminal("run", "my-task", "--attended")
    screen.await_text("Iteration 1? ")
    assert "when the question at its terminal is answered" in say(loop, verb)
    screen.await_text("when the question at its terminal is answered")
    assert order(loop).count("IterationStarted") == 0
    screen.type("s\n")
    assert screen.finish() == 0
    assert "begins now" not in screen.seen


def test_what_was_typed_in_a_pause_is_no_answer(loop: Loop, terminal: Open) -> None:
    """After `resume` it is asked again; finished and unfinished lines from before are forgotten."""
    loop.make()
    loop.script(UNDONE)
    screen = terminal("run", "my-task", "--attended")
    screen.await_text("Iteration 1? ")
    say(loop, "pause")
    screen.type("\n\ngo\nwhat")
    screen.await_text("what")
    say(loop, "resume")
    screen.await_text("Iteration 1? ", times=2)
    say(loop, "resume")  # answered only after several looks at the keyboard
    assert order(loop).count("IterationStarted") == 0
    screen.type("s\n")
    assert screen.finish() == 0
    assert "not one of the answers" not in screen.seen


def test_what_was_typed_in_an_iteration_is_no_answer(loop: Loop, terminal: Open) -> None:
    """However often the user pressed Enter before."""
    loop.make()
    loop.script(PATIENT, UNDONE)
    screen = terminal("run", "my-task", "--attended")
    screen.await_text("Iteration 1? ")
    screen.type("\n")
    until((loop.workspace / "ready").exists)
    screen.type("\n\n\ntyped ahead")
    screen.await_text("typed ahead")
    loop.go()
    screen.await_text("Iteration 2? ")
    say(loop, "resume")
    screen.type("s\n")
    assert screen.finish() == 0
    assert outcomes(loop) == [(1, "ok")]
    assert "not one of the answers" not in screen.seen


def test_the_end_of_input_is_no_consent(loop: Loop, terminal: Open) -> None:
    """Ctrl-D stops."""
    loop.make()
    loop.script(UNDONE)
    screen = terminal("run", "my-task", "--attended")
    screen.await_text("Iteration 1? ")
    screen.type("\x04")
    assert screen.finish() == 0
    assert loop.events("RunFinished")[0]["reason"] == "stopped"


LINES = 3000


def words(count: int = LINES) -> list[dict[str, Any]]:
    return [{"say": f"line {number:05d} {'x' * 80}"} for number in range(count)]


def test_ctrl_s_does_not_switch_off_the_time_outs(loop: Loop, terminal: Open) -> None:
    """A tool that hangs is ended, and so is the run, with its exit code; all without Ctrl-Q."""
    loop.make()
    loop.env |= {"CLAUDE_ITERATE_TIMEOUTS__ITERATION": "3s", "CLAUDE_ITERATE_STOP__FAILURES": "1"}
    go = str(loop.folder / "go")
    loop.script([{"init": {}}, {"wait_for": go}, *words(), {"hang": True}])
    screen = terminal("run", "my-task", "--output", "verbose")
    screen.await_text("Running iteration 1")
    screen.stop_output()
    (loop.folder / "go").touch()
    assert screen.finish() == 1
    assert loop.outcomes() == ["timeout"]
    assert loop.events("RunFinished")


def shown(screen: Terminal) -> list[int]:
    return [int(number) for number in re.findall(r"line (\d{5}) x", screen.seen)]


def stopped_while_claude_talks(loop: Loop, terminal: Open) -> Terminal:
    """The terminal was stopped while Claude said all of its words, and goes on before Claude does."""
    loop.make()
    go, end = str(loop.folder / "go"), str(loop.folder / "end")
    loop.script([{"init": {}}, {"wait_for": go}, *words(), {"wait_for": end}, *DONE[1:]])
    screen = terminal("run", "my-task", "--output", "verbose")
    screen.await_text("Running iteration 1")
    screen.stop_output()
    (loop.folder / "go").touch()
    until(lambda: len(loop.events("AssistantText")) == LINES)
    screen.continue_output()
    until(lambda: shown(screen)[-1:] == [LINES - 1])
    (loop.folder / "end").touch()
    assert screen.finish() == 0
    return screen


def test_nothing_is_lost_that_fits(loop: Loop, terminal: Open) -> None:
    """After Ctrl-Q all is shown, in order, the end included; the terminal is not left without waiting for others."""
    screen = stopped_while_claude_talks(loop, terminal)
    screen.await_text("Claude reports that it is done")
    assert shown(screen) == list(range(LINES))
    assert "not shown" not in screen.seen
    assert not fcntl.fcntl(screen.theirs, fcntl.F_GETFL) & os.O_NONBLOCK


def test_what_does_not_fit_is_counted(loop: Loop, terminal: Open) -> None:
    """The newest lines are kept, and where others are missing stands how many."""
    loop.patch("sinks.safe_stream", MOST=20_000)
    screen = stopped_while_claude_talks(loop, terminal)
    screen.await_text("Claude reports that it is done")
    seen = shown(screen)
    gaps = [int(number) for number in re.findall(r"… (\d+) lines? not shown", screen.seen)]
    assert seen == sorted(set(seen))
    assert len(gaps) == 1
    assert 0 < LINES - len(seen) <= gaps[0]
