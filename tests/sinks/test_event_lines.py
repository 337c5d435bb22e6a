"""What a request means for the run: the user who asked, the console and the log get the same words."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from msgspec.structs import replace

from claude_iterate.core.events import (
    Event,
    IterationStarted,
    Requested,
    StopRequested,
    VerificationFinished,
    WaitEnded,
    WaitStarted,
)
from claude_iterate.core.events.enums import Verb, Why
from claude_iterate.core.events.run import Claim, Requests, Waiting
from claude_iterate.core.outcomes.call import Call
from claude_iterate.core.reports.status import Status
from claude_iterate.core.rules.steering import answer
from claude_iterate.core.state.run_state import RunState
from claude_iterate.sinks.console import Console
from claude_iterate.sinks.text_log import OURS, TextLog
from claude_iterate.text.event_lines import request_lines
from tests.sinks.conftest import BEGAN, Fed, entry, started

BETWEEN = RunState()
ITERATION = RunState(call=Call(3, 0.0))
REVIEW = RunState(call=Call(0, 0.0))
WAITING = RunState(waiting=Waiting(wait=WaitStarted(Why.USAGE_LIMIT, 9.0)))
CHECK = RunState(last_status=Status(complete=True))
REFUTED = RunState(last_status=Status(complete=True), claim=Claim(proof=VerificationFinished(1, False)))
PAUSED = RunState(requests=Requests(paused=True))
PAUSING = RunState(requests=Requests(paused=True), call=Call(3, 0.0))


@pytest.mark.parametrize(
    ("verb", "state", "words"),
    [
        (Verb.PAUSE, BETWEEN, "Paused: no iteration begins"),
        (Verb.PAUSE, ITERATION, "The run pauses after iteration 3."),
        (Verb.PAUSE, WAITING, "Paused: no iteration begins"),
        (Verb.PAUSE, PAUSED, "Already paused"),
        (Verb.PAUSE, PAUSING, "The run pauses after iteration 3."),
        (Verb.RESUME, PAUSED, "Continuing"),
        (Verb.RESUME, PAUSING, "does not pause"),
        (Verb.RESUME, BETWEEN, "was not paused"),
        (Verb.STOP, ITERATION, "The run stops after iteration 3."),
        (Verb.STOP, WAITING, "stops now"),
        (Verb.STOP, REVIEW, "stops now"),
        (Verb.SKIP, ITERATION, "Iteration 3 ends now."),
        (Verb.SKIP, PAUSING, "stays paused"),
        (Verb.SKIP, REVIEW, "no iteration to skip"),
        (Verb.SKIP, CHECK, "no iteration to skip"),
        (Verb.SKIP, REFUTED, "begins now"),
        (Verb.RETRY, CHECK, "there is nothing to retry"),
        (Verb.RETRY, REVIEW, "there is nothing to retry"),
        (Verb.PAUSE, CHECK, "pauses after the verification, unless the claim holds"),
        (Verb.PAUSE, REVIEW, "pauses after the verification, unless the claim holds"),
        (Verb.SKIP, WAITING, "The wait is over."),
        (Verb.SKIP, PAUSED, "no iteration to skip"),
        (Verb.SKIP, BETWEEN, "begins now"),
        (Verb.REBOOT, ITERATION, "repeated with fresh context"),
        (Verb.REBOOT, BETWEEN, "The next iteration begins with fresh context"),
        (Verb.RETRY, WAITING, "The wait is over."),
        (Verb.RETRY, ITERATION, "there is nothing to retry"),
        (Verb.RETRY, BETWEEN, "begins now"),
    ],
)
def test_the_answer_fits_the_state(verb: Verb, state: RunState, words: str) -> None:
    """One line each, and the log and the console have the same one."""
    assert words in answer(verb, state)
    assert verb == Verb.STOP or request_lines(Requested(verb), state) == [answer(verb, state)]
    assert answer(Verb.STOP, state, now=True) == "The run stops now."


def test_the_answer_names_the_workspace() -> None:
    """The user at another terminal may have several."""
    state = replace(ITERATION, started=started())
    assert answer(Verb.PAUSE, state) == "my-task pauses after iteration 3."
    assert answer(Verb.STOP, state, now=True) == "my-task stops now."


def test_what_other_events_tell_is_not_told_twice() -> None:
    """A stop has a line of its own, an answer none."""
    assert request_lines(Requested(Verb.STOP), ITERATION) == request_lines(Requested(Verb.GO, "answer"), BETWEEN) == []
    assert request_lines(Requested(Verb.SKIP), ITERATION) == ["Iteration 3 ends now."]
    assert request_lines(Requested(Verb.SKIP, "answer"), BETWEEN) == []


@pytest.mark.parametrize("verb", [Verb.SKIP, Verb.RETRY])
def test_nothing_begins_unasked_in_an_attended_run(verb: Verb) -> None:
    """Between iterations the answer is that the question has to be answered; elsewhere it is as ever."""
    assert "when the question at its terminal is answered" in answer(verb, BETWEEN, attended=True)
    assert request_lines(Requested(verb), BETWEEN, attended=True) == [answer(verb, BETWEEN, attended=True)]
    for state in (ITERATION, REVIEW, CHECK, WAITING, PAUSED):
        assert answer(verb, state, attended=True) == answer(verb, state)


@pytest.mark.parametrize("attended", [False, True])
def test_the_log_and_the_console_say_the_same(tmp_path: Path, attended: bool) -> None:
    """Of every request in every situation, of a stop and of a wait; a resume without a pause resumes nothing."""
    err, path = io.StringIO(), tmp_path / "run.log"
    console = Fed(Console(io.StringIO(), err, "progress", attended=attended))
    log = Fed(TextLog(path, pytest.fail, attended=attended))
    verbs = (Verb.RETRY, Verb.RESUME, Verb.PAUSE, Verb.PAUSE, Verb.RESUME, Verb.SKIP, Verb.REBOOT, Verb.STOP, Verb.GO)
    requests = [Requested(verb) for verb in verbs]
    wait = WaitStarted(Why.USAGE_LIMIT, BEGAN + 300, "resets soon")
    ended = WaitEnded(Why.USAGE_LIMIT, "retry")
    situations: list[Event] = [
        *requests,
        wait,
        *requests,
        Requested(Verb.PAUSE),
        ended,
        *requests,
        StopRequested("key"),
    ]
    for event in [*situations, IterationStarted(1), *requests, StopRequested("SIGINT")]:
        for sink in (console, log):
            sink(entry(event))
    log.close()
    shown = [line.strip() for line in err.getvalue().splitlines() if not line.startswith("Running")]
    logged = [line.removeprefix(OURS) for line in path.read_text().splitlines() if line.startswith(OURS)]
    assert shown == logged
    assert shown[1] == "The run was not paused."
