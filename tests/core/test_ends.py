"""How a run ends or goes on where two rules are near each other: proofs, bounds, words."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from claude_iterate.core.events import (
    Carried,
    Entry,
    IterationFinished,
    LimitReported,
    Outcome,
    ResultReported,
    Resumed,
    RunStarted,
    StopRequested,
    VerificationFinished,
    WaitStarted,
)
from claude_iterate.core.events.enums import Cause, Kind, Why
from claude_iterate.core.events.run import Breaker, Claim, Requests, Streaks, Waiting
from claude_iterate.core.reports.status import Status
from claude_iterate.core.rules.between import decide
from claude_iterate.core.rules.during import decide_running
from claude_iterate.core.rules.verdicts import Begin, Cut, Finish, Verify, Wait
from claude_iterate.core.state.call import Call
from claude_iterate.core.state.carry_over import carry_over, resume_from
from claude_iterate.core.state.fold import fold, reduce
from claude_iterate.core.state.run_state import RunState
from tests.core.building import facts

DONE = Status(True, summary="all done")
MORE = Status(False, 1, 2)
PAUSE = Requests(paused=True)
RED = VerificationFinished(1, False, "tests fail")
GREEN = VerificationFinished(1, True)
STARTED = RunStarted("r", "my-task", "loop", 9, 1, "h", "0", ("c",))


def finish(state: RunState, known: object) -> Finish:
    verdict = decide(state, known)  # type: ignore[arg-type]
    assert isinstance(verdict, Finish)
    return verdict


def test_a_stop_before_a_one_off_call_prevents_it() -> None:
    """Nothing is paid for that is not wanted any more."""
    state = RunState(requests=Requests(stop=StopRequested("SIGINT")))
    assert finish(state, facts(0, purpose="setup")).reason == "interrupted"


def test_the_last_summary_is_told() -> None:
    """It is the agent's own."""
    assert decide(RunState(last_status=DONE), facts(0)) == Finish("completed", "all done")


def test_verify_needs_no_claim_and_no_consent() -> None:
    """The user who says `verify` wants it now, paused or not; a claim that fails is the end."""
    only = facts(0, purpose="verify")
    assert decide(RunState(), only) == Verify(1, review=True)
    assert decide(RunState(requests=PAUSE), only) == Verify(1, review=True)
    assert finish(RunState(claim=Claim(1, RED)), only).reason == "verification_failed"
    assert finish(RunState(claim=Claim(1, GREEN)), only) == Finish("completed", "verified")


def test_a_claim_is_not_proven_while_the_run_is_held() -> None:
    """A proof costs time and money: a pause comes first. A wait for Claude holds up a review, and no check."""
    known = facts(0, wall=10, checks=("true",))
    assert decide(RunState(last_status=DONE, requests=PAUSE), known) == Wait(float("inf"))
    spent = facts(0, checks=("true",), max_cost_usd=1.0)
    assert decide(RunState(last_status=DONE, requests=PAUSE, cost_usd=2.0), spent) == Wait(float("inf"))
    waiting = Waiting(WaitStarted(Why.RESERVE, 90.0), ends=80.0)
    assert decide(RunState(last_status=DONE, waiting=waiting), known) == Verify(1)
    assert decide(RunState(last_status=DONE, waiting=waiting), facts(0, wall=10, auto_verify=True)) == Wait(80.0)


def test_a_failed_proof_ends_the_run_only_when_no_attempt_is_left() -> None:
    """`verification.max_attempts` claims; one if the run is not to go on. The advice names the workspace."""
    state = RunState(started=STARTED, iterations=1, last_status=DONE, claim=Claim(1, RED))
    assert decide(state, facts(0, checks=("x",), max_attempts=2)) == Begin(2)
    ended = finish(state, facts(0, checks=("x",), max_attempts=2, resume_on_fail=False))
    assert (ended.reason, ended.detail) == ("verification_failed", "tests fail")
    assert "show t" in ended.advice
    second = replace(state, claim=Claim(2, RED))
    assert finish(second, facts(0, checks=("x",), max_attempts=2)).reason == "verification_failed"


@pytest.mark.parametrize(("failures", "words"), [(1, "1 iteration failed"), (2, "2 iterations in a row failed")])
def test_failures_are_counted_in_words(failures: int, words: str) -> None:
    """A bound of 1 is a bound."""
    state = RunState(last_outcome=Outcome(Kind.CRASH, "m"), breaker=Breaker(failures=failures))
    assert finish(state, facts(0, failures=failures)).detail == f"{words}; the last: m"


def test_failures_before_a_new_try_end_nothing() -> None:
    """The user who ended a wait wants to try: there is no last outcome to end with."""
    assert decide(RunState(breaker=Breaker(failures=3)), facts(0, failures=3)) == Begin(1)


def test_a_threshold_of_one_idle_iteration_is_heeded() -> None:
    """Only 0 means never."""
    state = RunState(streaks=Streaks(idle_iterations=1))
    assert finish(state, facts(0, stagnates=True, stagnation_threshold=1)).reason == "stagnation"


def test_money_that_is_left_is_spent() -> None:
    """The run ends at the bound and not before it."""
    assert decide(RunState(cost_usd=0.99), facts(0, max_cost_usd=1.0)) == Begin(1)


def test_the_last_iteration_is_the_last_unless_a_claim_is_open() -> None:
    """Wanting proofs alone makes no further iteration."""
    known = facts(0, max_iterations=3, checks=("true",))
    assert finish(RunState(iterations=3), known).reason == "max_iterations"
    assert decide(RunState(iterations=3, last_status=DONE), known) == Verify(1)


def test_lingering_and_the_bound_of_the_run_name_their_moments() -> None:
    """The grace begins with the result; what a killed run had taken counts."""
    lingering = RunState(call=Call(1, 0.0, result=ResultReported(), result_at=3.0))
    assert decide_running(lingering, facts(4, result_grace=5, last_heard=3)) == Wait(8.0)
    resumed = RunState(started=RunStarted("r", "w", "loop", 9, 1, "h", "0", ("c",), resumed=Resumed("a", elapsed=60.0)))
    assert decide_running(resumed, facts(39, max_duration=100, last_heard=39)) == Wait(40.0)
    assert decide_running(resumed, facts(40, max_duration=100, last_heard=39)) == Cut(Cause.DURATION, 100)


def window(utilization: float | None, resets_at: float | None = 9000.0) -> RunState:
    return RunState(waiting=Waiting(windows={"w": LimitReported("allowed", "w", resets_at, utilization)}))


def test_a_reserve_is_exact_and_needs_figures() -> None:
    """What is left may be as much as is kept; a window without figures, or one that is over, holds nothing up."""
    known = facts(0, wall=1000, reserve={"w": 25.0})
    assert decide(window(0.75), known) == Begin(1)
    assert decide(window(0.8), facts(0, wall=1000, reserve={"w": 20.0})) == Begin(1), "1 - 0.8 is a little less"
    assert decide(window(None), known) == Begin(1)
    assert decide(window(0.9, resets_at=1000.0), known) == Begin(1)
    assert "Thu 01 Jan 02:30 UTC" in finish(window(0.76), known).advice
    assert "until the window's reset" in finish(window(0.76, resets_at=None), known).advice
    assert finish(window(0.76), known).detail.startswith("24% of the w window is left")


def test_only_a_wait_for_the_usage_limit_ends_by_its_setting() -> None:
    """An overload is waited for whatever `limits.on_usage_limit` says."""
    state = RunState(waiting=Waiting(WaitStarted(Why.TRANSIENT, 90.0), ends=80.0))
    assert decide(state, facts(0, wall=10, on_usage_limit="stop")) == Wait(80.0)


def test_a_limit_without_a_known_end_is_looked_at_again_in_five_minutes() -> None:
    """Never in the past."""
    verdict = decide(RunState(last_outcome=Outcome(Kind.USAGE_LIMIT, "m")), facts(0, wall=1000))
    assert verdict == WaitStarted(Why.USAGE_LIMIT, 1300.0, "m", "", 1)


@pytest.mark.parametrize(
    ("state", "findings"),
    [
        (RunState(findings="f", claim=Claim(1, RED), iterations=1), "f"),
        (RunState(findings="f", claim=Claim(1, RED)), "f"),
        (RunState(findings="f", claim=Claim(1, GREEN), iterations=1), ""),
        (RunState(findings="f", claim=Claim(1, GREEN)), ""),
        (RunState(findings="f", iterations=1), ""),
        (RunState(findings="f"), "old"),
    ],
)
def test_findings_reach_the_next_run_until_they_were_worked_on(state: RunState, findings: str) -> None:
    """Those of a failed proof; those of an earlier run if this one neither worked nor proved anything."""
    before = RunStarted("r", "w", "loop", 9, 1, "h", "0", ("c",), carried=Carried(findings="old"))
    assert carry_over(replace(state, started=before)).findings == findings


def test_an_overload_is_still_to_be_waited_for_after_a_kill() -> None:
    """Like a usage limit; a failure is tried again at once."""
    for kind, left in ((Kind.TRANSIENT, True), (Kind.USAGE_LIMIT, True), (Kind.CRASH, False)):
        assert (resume_from("a", RunState(last_outcome=Outcome(kind)), 1.0).last_outcome is not None) == left


def test_an_iteration_ends_waits_and_keeps_the_last_report() -> None:
    """Trouble that is over begins a new count; without a report the last one is still the last."""
    waited = RunState(status=MORE, waiting=Waiting(waits=3, waited=9.0))
    entry = Entry(1, 5.0, 5.0, IterationFinished(1, Outcome(Kind.CRASH, "m")))
    state = fold([entry])
    assert (state.findings, state.last_ended) == ("m", 5.0)
    after = reduce(waited, entry)
    assert (after.waiting.waits, after.waiting.waited, after.status) == (0, 0.0, MORE)
    fine = reduce(waited, Entry(1, 5.0, 5.0, IterationFinished(1, Outcome(Kind.OK, "words"), MORE)))
    assert fine.findings == ""
