"""What a request means for the run: the user who asked, the console and the log get the same words."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from claude_iterate.core.events import (
    IterationStarted,
    Requested,
    StopRequested,
    VerificationFinished,
    WaitEnded,
    WaitStarted,
)
from claude_iterate.core.reports.status import Status
from claude_iterate.core.state.call_state import Call
from claude_iterate.core.state.requests import answer
from claude_iterate.core.state.run_state import Claim, Requests, RunState, Waiting
from claude_iterate.sinks.console.console import Console
from claude_iterate.sinks.log.text_log import OURS, TextLog
from claude_iterate.text.event_lines import requested
from tests.sinks.conftest import BEGAN, Fed

BETWEEN = RunState()
ITERATION = RunState(call=Call(3, 0.0))
REVIEW = RunState(call=Call(0, 0.0))
WAITING = RunState(waiting=Waiting(wait=WaitStarted("usage_limit", 9.0)))
CHECK = RunState(last_status=Status(complete=True))
REFUTED = RunState(last_status=Status(complete=True), claim=Claim(proof=VerificationFinished(1, False)))
PAUSED = RunState(requests=Requests(paused=True))
PAUSING = RunState(requests=Requests(paused=True), call=Call(3, 0.0))


@pytest.mark.parametrize(
    ("verb", "state", "words"),
    [
        ("pause", BETWEEN, "Paused: no iteration begins"),
        ("pause", ITERATION, "pauses after this iteration"),
        ("pause", WAITING, "when the wait is over"),
        ("pause", PAUSED, "Already paused"),
        ("pause", PAUSING, "already asked for"),
        ("resume", PAUSED, "Going on"),
        ("resume", PAUSING, "does not pause"),
        ("resume", BETWEEN, "was not paused"),
        ("stop", ITERATION, "after this iteration"),
        ("stop", WAITING, "stops now"),
        ("stop", REVIEW, "stops now"),
        ("skip", ITERATION, "Iteration 3 is ended now."),
        ("skip", PAUSING, "stays paused"),
        ("skip", REVIEW, "being verified"),
        ("skip", CHECK, "being verified"),
        ("skip", REFUTED, "begins now"),
        ("retry", CHECK, "There is nothing to retry: a claim is being verified"),
        ("retry", REVIEW, "There is nothing to retry: a claim is being verified"),
        ("pause", CHECK, "pauses after the verification, unless the claim holds"),
        ("pause", REVIEW, "pauses after the verification, unless the claim holds"),
        ("skip", WAITING, "The wait is over."),
        ("skip", PAUSED, "no iteration to skip"),
        ("skip", BETWEEN, "begins now"),
        ("reboot", ITERATION, "done again with fresh context"),
        ("reboot", BETWEEN, "The next iteration begins with fresh context"),
        ("retry", WAITING, "It tries again now"),
        ("retry", ITERATION, "there is nothing to retry"),
        ("retry", BETWEEN, "begins now"),
    ],
)
def test_the_answer_fits_the_state(verb: str, state: RunState, words: str) -> None:
    """One line each, and the log and the console have the same one."""
    assert words in answer(verb, state)
    assert verb == "stop" or requested(Requested(verb), state) == [answer(verb, state)]
    assert answer("stop", state, now=True) == "It stops now."


def test_what_other_events_tell_is_not_told_twice() -> None:
    """A stop has a line of its own, an answer none."""
    assert requested(Requested("stop"), ITERATION) == requested(Requested("go", "answer"), BETWEEN) == []
    assert requested(Requested("skip"), ITERATION) == ["Iteration 3 is ended now."]
    assert requested(Requested("skip", "answer"), BETWEEN) == []


@pytest.mark.parametrize("verb", ["skip", "retry"])
def test_nothing_begins_unasked_in_an_attended_run(verb: str) -> None:
    """Between iterations the answer is that the question has to be answered; elsewhere it is as ever."""
    assert "when the question at its terminal is answered" in answer(verb, BETWEEN, attended=True)
    assert requested(Requested(verb), BETWEEN, attended=True) == [answer(verb, BETWEEN, attended=True)]
    for state in (ITERATION, REVIEW, CHECK, WAITING, PAUSED):
        assert answer(verb, state, attended=True) == answer(verb, state)


@pytest.mark.parametrize("attended", [False, True])
def test_the_log_and_the_console_say_the_same(entry: Any, started: Any, tmp_path: Path, attended: bool) -> None:
    """Of every request in every situation, of a stop and of a wait; a resume without a pause resumes nothing."""
    err, path = io.StringIO(), tmp_path / "run.log"
    console = Fed(Console(io.StringIO(), err, "progress", attended=attended))
    log = Fed(TextLog(path, pytest.fail, attended=attended))
    verbs = ("retry", "resume", "pause", "pause", "resume", "skip", "reboot", "stop", "go")
    requests = [Requested(verb) for verb in verbs]
    wait = WaitStarted("usage_limit", BEGAN + 300, "resets soon")
    situations = [*requests, wait, *requests, Requested("pause"), WaitEnded("usage_limit", "retry"), *requests]
    for event in [*situations, StopRequested("key"), *[IterationStarted(1), *requests, StopRequested("SIGINT")]]:
        for sink in (console, log):
            sink(entry(event))
    log.close()
    shown = [line.strip() for line in err.getvalue().splitlines() if not line.startswith("Running")]
    logged = [line.removeprefix(OURS) for line in path.read_text().splitlines() if line.startswith(OURS)]
    assert shown == logged
    assert shown[1] == "The run was not paused."
