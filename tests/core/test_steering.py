"""What a signal or a request of the user makes happen, and what happens next."""

from __future__ import annotations

from typing import Any

import pytest

from claude_iterate.core.events import (
    CutStarted,
    Event,
    IterationFinished,
    IterationStarted,
    LimitReported,
    Outcome,
    Requested,
    ReviewStarted,
    StopRequested,
    VerificationFinished,
    VerificationStarted,
    WaitEnded,
    WaitStarted,
)
from claude_iterate.core.events.enums import Cause, Kind, Verb, Why
from claude_iterate.core.outcomes.classes import classify
from claude_iterate.core.reports.status import Status
from claude_iterate.core.rules.between import decide, nothing_can_be_recorded
from claude_iterate.core.rules.during import CHECK_RULES, decide_running
from claude_iterate.core.rules.steering import effect_of, stop_signal
from claude_iterate.core.rules.verdicts import Ask, Begin, Cut, Finish, Wait
from claude_iterate.core.state.run_state import RunState
from tests.core.building import after, evidence, facts

WAIT = WaitStarted(Why.USAGE_LIMIT, 1000.0, window="five_hour")


def ended(number: int, kind: Kind) -> IterationFinished:
    return IterationFinished(number, Outcome(kind))


@pytest.mark.parametrize(
    ("verb", "cause", "kind"),
    [(Verb.SKIP, Cause.SKIP, Kind.SKIPPED), (Verb.REBOOT, Cause.REBOOT, Kind.REBOOTED)],
)
def test_an_iteration_is_cut_at_once_and_says_why(verb: Verb, cause: Cause, kind: Kind) -> None:
    """The cause of the cut decides the outcome, whatever Claude says while it is ended."""
    assert decide_running(after(IterationStarted(1), Requested(verb)), facts(0)) == Cut(cause)
    assert classify(evidence(cut=CutStarted(cause), exit_code=-2)) == Outcome(kind)


def test_a_skipped_iteration_counts_and_a_rebooted_one_is_done_again() -> None:
    """Both go on without the pause between iterations, and without a wait."""
    known = facts(5, delay=3600)
    skipped = after(IterationStarted(1), Requested(Verb.SKIP), ended(1, Kind.SKIPPED))
    assert decide(skipped, known) == Begin(2)
    rebooted = after(IterationStarted(1), Requested(Verb.REBOOT), ended(1, Kind.REBOOTED))
    assert decide(rebooted, known) == Begin(1)
    assert (rebooted.iterations, rebooted.streaks.retries, rebooted.session.id) == (0, 1, "")


def test_a_cut_is_meant_for_one_iteration_only() -> None:
    """The next one, and a review in between, are left alone."""
    state = after(IterationStarted(1), Requested(Verb.SKIP), ended(1, Kind.SKIPPED), ReviewStarted("quick"))
    assert isinstance(decide_running(state, facts(0)), Wait)


@pytest.mark.parametrize("verb", [Verb.SKIP, Verb.REBOOT])
def test_a_review_is_no_iteration(verb: Verb) -> None:
    """It is not cut, and neither is what comes after it."""
    assert isinstance(decide_running(after(ReviewStarted("quick"), Requested(verb)), facts(0)), Wait)


@pytest.mark.parametrize("verb", [Verb.SKIP, Verb.RETRY])
def test_the_delay_can_be_ended(verb: Verb) -> None:
    """Between iterations `skip` and `retry` mean: now."""
    state = after(IterationStarted(1), ended(1, Kind.OK))
    assert isinstance(decide(state, facts(4, delay=3600)), Wait)
    asked = after(IterationStarted(1), ended(1, Kind.OK), Requested(verb))
    assert decide(asked, facts(4, delay=3600)) == Begin(2)


@pytest.mark.parametrize("verb", [Verb.SKIP, Verb.REBOOT, Verb.RETRY])
def test_nothing_but_resume_ends_a_pause(verb: Verb) -> None:
    """A paused run that is told something else stays paused."""
    assert decide(after(Requested(Verb.PAUSE), Requested(verb)), facts(0)) == Wait(float("inf"))
    assert decide(after(Requested(Verb.PAUSE), Requested(verb), Requested(Verb.RESUME)), facts(0)) == Begin(1)


def test_a_pause_lets_a_wait_end_and_then_holds() -> None:
    """The limit's countdown is not stopped by it."""
    state = after(WAIT, Requested(Verb.PAUSE))
    assert decide(state, facts(0, wall=0.0)) == Wait(1000.0)
    assert decide(after(WAIT, Requested(Verb.PAUSE), WaitEnded(Why.USAGE_LIMIT)), facts(0)) == Wait(float("inf"))


def test_a_wait_for_the_reserve_that_was_ended_does_not_begin_again() -> None:
    """Until Claude tells of the window anew."""
    seen = LimitReported("allowed_warning", "five_hour", 1000.0, 0.95)
    known = facts(0, wall=10.0, reserve={"five_hour": 20}, on_reserve="wait")
    assert isinstance(decide(after(seen), known), WaitStarted)
    waiting = WaitStarted(Why.RESERVE, 1000.0, window="five_hour")
    assert decide(after(seen, waiting, WaitEnded(Why.RESERVE, "retry")), known) == Begin(1)
    assert isinstance(decide(after(seen, waiting, WaitEnded(Why.RESERVE, "retry"), seen), known), WaitStarted)


def test_a_patient_stop_does_not_take_back_an_urgent_one() -> None:
    """Whatever comes second."""
    state = after(IterationStarted(1), StopRequested("command", now=True), StopRequested("command"))
    assert state.stop == StopRequested("command", now=True)


def test_the_first_stop_names_the_reason() -> None:
    """Ctrl-C and then `stop`: interrupted, exit 130. Whoever comes later can only make it urgent."""
    state = after(IterationStarted(1), StopRequested("SIGINT"), StopRequested("command"))
    assert state.stop == StopRequested("SIGINT")
    assert decide(after(StopRequested("SIGINT"), StopRequested("command")), facts(0)) == Finish("interrupted", "SIGINT")
    urgent = after(IterationStarted(1), StopRequested("command"), StopRequested("SIGTERM", now=True))
    assert urgent.stop == StopRequested("command", now=True)
    assert decide_running(urgent, facts(0)) == Cut(Cause.STOPPED)


@pytest.mark.parametrize("verb", [Verb.SKIP, Verb.RETRY])
def test_what_is_said_during_a_check_changes_nothing(verb: Verb) -> None:
    """A check is no call of Claude and no delay: the delay after it is still kept."""
    claimed = IterationFinished(1, Outcome(Kind.OK), Status(complete=True))
    refuted = VerificationFinished(1, False)
    known = facts(5, delay=3600, checks=("true",), max_attempts=3)
    said = after(IterationStarted(1), claimed, VerificationStarted(1, 1, ""), Requested(verb), refuted)
    assert isinstance(decide(said, known), Wait)


def test_consent_is_asked_for_each_iteration_and_not_for_its_repetition() -> None:
    """`go` covers one number."""
    known = facts(9, attended=True)
    assert decide(after(), known) == Ask(1)
    assert decide(after(Requested(Verb.GO, "answer")), known) == Begin(1)
    again = after(Requested(Verb.GO, "answer"), IterationStarted(1), Requested(Verb.REBOOT), ended(1, Kind.REBOOTED))
    assert decide(again, known) == Begin(1)
    assert decide(after(Requested(Verb.GO, "answer"), IterationStarted(1), ended(1, Kind.OK)), known) == Ask(2)


def test_what_was_found_wrong_is_not_forgotten_over_a_skip() -> None:
    """The next iteration still has to deal with it."""
    state = after(IterationStarted(1), ended(1, Kind.CRASH))
    assert state.findings == ""
    told = after(
        IterationFinished(1, Outcome(Kind.CRASH, "boom")),
        IterationStarted(2),
        Requested(Verb.SKIP),
        ended(2, Kind.SKIPPED),
    )
    assert told.findings == "boom"


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
    verdict = nothing_can_be_recorded(facts(0, unrecorded="No space left on device (/w/runs)"))
    assert isinstance(verdict, Finish)
    assert (verdict.reason, "No space left" in verdict.detail) == ("agent_failed", True)
    assert nothing_can_be_recorded(facts(0)) is None


def test_a_run_without_its_folder_ends() -> None:
    """Whatever else there would be to do."""
    verdict = decide(WAITING, facts(0, workspace_gone="/w"))
    assert isinstance(verdict, Finish)
    assert (verdict.reason, verdict.detail.startswith("The workspace's folder is gone")) == ("agent_failed", True)


@pytest.mark.setting("verification.check_timeout")
def test_a_check_is_bounded_by_its_own_time_and_by_that_of_the_run() -> None:
    """The earlier one counts; a stop ends it at once."""

    def decided(now: float, **more: Any) -> Wait | Cut:
        return decide_running(NOTHING, facts(now, program_began=1, check_timeout=5, **more), CHECK_RULES)

    assert (decided(2), decided(6)) == (Wait(6), Cut(Cause.TIMEOUT, 5))
    assert (decided(2, max_duration=3), decided(3, max_duration=3)) == (Wait(3), Cut(Cause.DURATION, 3))
    assert decide_running(after(StopRequested("command")), facts(2, program_began=1), CHECK_RULES) == Cut(Cause.STOPPED)
