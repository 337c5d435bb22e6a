"""What a signal or a request makes happen, and what may begin or go on."""

from __future__ import annotations

import pytest

from claude_iterate.core.events import (
    Entry,
    Event,
    IterationFinished,
    IterationStarted,
    Outcome,
    Requested,
    ReviewStarted,
    StopRequested,
    WaitEnded,
    WaitStarted,
)
from claude_iterate.core.events.enums import Cause, Kind, Verb, Why
from claude_iterate.core.rules.between import decide, decide_start
from claude_iterate.core.rules.during import decide_check
from claude_iterate.core.rules.steering import effect_of, stop_signal
from claude_iterate.core.rules.verdicts import Cut, Finish, Wait
from claude_iterate.core.state.fold import fold
from claude_iterate.core.state.run_state import RunState
from tests.core.building import facts


def after(*events: Event) -> RunState:
    return fold(Entry(number, 0.0, float(number), event) for number, event in enumerate(events, 1))


ITERATION, REVIEW, NOTHING = after(IterationStarted(1)), after(ReviewStarted("quick")), after()
WAITING = after(WaitStarted(Why.TRANSIENT, 9.0))


@pytest.mark.parametrize(
    ("state", "name", "now"),
    [
        (ITERATION, "SIGINT", False),
        (after(IterationStarted(1), StopRequested("SIGINT")), "SIGINT", True),
        (after(IterationStarted(1), StopRequested("command")), "SIGINT", True),
        (ITERATION, "SIGTERM", True),
        (ITERATION, "SIGHUP", True),
        (REVIEW, "SIGINT", True),
        (NOTHING, "SIGINT", True),
    ],
)
def test_only_the_first_ctrl_c_in_an_iteration_is_patient(state: RunState, name: str, now: bool) -> None:
    """Only an iteration is worth waiting for; a check or a review can be repeated."""
    assert stop_signal(state, name) == StopRequested(name, now)


@pytest.mark.parametrize(
    ("state", "request_", "effect"),
    [
        (ITERATION, Requested(Verb.STOP), StopRequested("command")),
        (ITERATION, Requested(Verb.STOP, now=True), StopRequested("command", True)),
        (REVIEW, Requested(Verb.STOP, "key"), StopRequested("key", True)),
        (WAITING, Requested(Verb.RETRY), WaitEnded(Why.TRANSIENT, "retry")),
        (WAITING, Requested(Verb.SKIP, "answer"), WaitEnded(Why.TRANSIENT, "skip")),
        (NOTHING, Requested(Verb.SKIP, "answer"), IterationFinished(1, Outcome(Kind.SKIPPED))),
        (NOTHING, Requested(Verb.SKIP), None),
        (NOTHING, Requested(Verb.RETRY), None),
        (WAITING, Requested(Verb.PAUSE), None),
    ],
)
def test_what_a_request_makes_happen(state: RunState, request_: Requested, effect: Event | None) -> None:
    """At most one thing beyond the request itself."""
    assert effect_of(state, request_) == effect


def test_a_skipped_question_keeps_the_session() -> None:
    """Nothing was begun, so nothing of it is lost."""
    state = after(IterationFinished(1, Outcome(Kind.OK), session="s", context=0.5))
    skipped = effect_of(state, Requested(Verb.SKIP, "answer"))
    assert skipped == IterationFinished(2, Outcome(Kind.SKIPPED), session="s", context=0.5)


def test_nothing_begins_that_cannot_be_recorded() -> None:
    """It would be paid for twice."""
    verdict = decide_start(NOTHING, facts(0, unrecorded="No space left on device (/w/runs)"))
    assert isinstance(verdict, Finish)
    assert (verdict.reason, "No space left" in verdict.detail) == ("agent_failed", True)
    assert decide_start(NOTHING, facts(0)) is None


def test_a_run_without_its_folder_ends() -> None:
    """Whatever else there would be to do."""
    verdict = decide(WAITING, facts(0, workspace_gone="/w"))
    assert isinstance(verdict, Finish)
    assert (verdict.reason, verdict.detail) == ("agent_failed", "The workspace's folder is gone: /w")


def test_a_run_whose_folder_is_another_ones_ends() -> None:
    """It does not say that nothing stands there."""
    verdict = decide(WAITING, facts(0, workspace_replaced="/w"))
    assert isinstance(verdict, Finish)
    assert (verdict.reason, "was replaced by another one: /w" in verdict.detail) == ("agent_failed", True)


@pytest.mark.setting("verification.check_timeout")
def test_a_check_is_bounded_by_its_own_time_and_by_that_of_the_run() -> None:
    """The earlier one counts; a stop ends it at once."""
    assert decide_check(NOTHING, facts(2, program_began=1, check_timeout=5)) == Wait(6)
    assert decide_check(NOTHING, facts(6, program_began=1, check_timeout=5)) == Cut(Cause.TIMEOUT, 5)
    assert decide_check(NOTHING, facts(2, program_began=1, check_timeout=5, max_duration=3)) == Wait(3)
    assert decide_check(NOTHING, facts(3, program_began=1, check_timeout=5, max_duration=3)) == Cut(Cause.DURATION, 3)
    assert decide_check(after(StopRequested("command")), facts(2, program_began=1)) == Cut(Cause.STOPPED)
