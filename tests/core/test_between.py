"""What happens next, rule by rule."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from claude_iterate.core.events import (
    Carried,
    ChecksPassed,
    Denial,
    Entry,
    Event,
    IterationFinished,
    IterationStarted,
    LimitReported,
    Outcome,
    PatternSeen,
    Requested,
    ResultReported,
    Resumed,
    ReviewFinished,
    ReviewStarted,
    RunStarted,
    ScriptResult,
    StatusChanged,
    StopRequested,
    StopScriptsRun,
    TaskStarted,
    Trip,
    VerificationFinished,
    VerificationStarted,
    WaitEnded,
    WaitStarted,
)
from claude_iterate.core.events.enums import Cause, Kind, Verb, Why
from claude_iterate.core.events.run import Breaker, Claim, Requests, Streaks, Waiting
from claude_iterate.core.outcomes.call import Call
from claude_iterate.core.reports.status import Change, Status
from claude_iterate.core.rules.between import BETWEEN_RULES, decide
from claude_iterate.core.rules.breaker import budget
from claude_iterate.core.rules.during import decide_running
from claude_iterate.core.rules.facts import Facts
from claude_iterate.core.rules.proof import digest
from claude_iterate.core.rules.verdicts import Begin, Cut, Finish, Measure, Verdict, Verify, Wait
from claude_iterate.core.settings.modes import MODES
from claude_iterate.core.state.carry_over import carry_over, resume_from
from claude_iterate.core.state.fold import fold, reduce
from claude_iterate.core.state.run_state import RunState
from tests.core.building import facts


def test_a_fresh_run_begins_with_iteration_1() -> None:
    """Without a pause before it."""
    assert decide(RunState(), facts(0.0, delay=60)) == Begin(1)


@pytest.mark.setting("stagnation_threshold", "limits.max_cost_usd", "limits.on_usage_limit", "limits.max_duration")
@pytest.mark.parametrize(
    ("state", "known", "reason"),
    [
        (RunState(last_status=Status(True)), facts(0), "completed"),
        (RunState(requests=Requests(stop=StopRequested("SIGINT"))), facts(0), "interrupted"),
        (RunState(requests=Requests(stop=StopRequested("SIGHUP", True))), facts(0), "terminated"),
        (RunState(last_status=Status(False, blocked="help")), facts(0), "blocked"),
        (RunState(last_outcome=Outcome(Kind.AUTH)), facts(0), "agent_failed"),
        (RunState(last_outcome=Outcome(Kind.USAGE_LIMIT)), facts(0, on_usage_limit="stop"), "usage_limit"),
        (RunState(last_outcome=Outcome(Kind.BUDGET)), facts(0), "budget"),
        (RunState(last_outcome=Outcome(Kind.CRASH), breaker=Breaker(failures=3)), facts(0, failures=3), "agent_failed"),
        (RunState(streaks=Streaks(idle_iterations=2)), facts(0, stagnates=True, stagnation_threshold=2), "stagnation"),
        (RunState(streaks=Streaks(idle_iterations=1)), facts(0, stagnates=True, stagnation_threshold=1), "stagnation"),
        (RunState(requests=Requests(stop=StopRequested("SIGINT"))), facts(0, purpose="setup"), "interrupted"),
        (RunState(cost_usd=1.0), facts(0, max_cost_usd=1.0), "budget"),
        (RunState(), facts(10, max_duration=10), "duration"),
        (RunState(iterations=3), facts(0, max_iterations=3), "max_iterations"),
    ],
)
def test_each_reason_to_finish(state: RunState, known: Facts, reason: str) -> None:
    """One rule each."""
    verdict = decide(state, known)
    assert isinstance(verdict, Finish)
    assert verdict.reason == reason


def test_completion_beats_every_other_reason() -> None:
    """Work that is done is done, even if the money is spent and somebody pressed Ctrl-C."""
    state = RunState(
        last_status=Status(True),
        requests=Requests(stop=StopRequested("SIGINT")),
        iterations=9,
        last_outcome=Outcome(Kind.AUTH),
    )
    assert decide(state, facts(99, max_iterations=1, max_duration=1)) == Finish("completed", "")


@pytest.mark.setting("stop.failures", "stagnation_threshold")
@pytest.mark.parametrize(
    ("state", "known"),
    [
        (RunState(streaks=Streaks(idle_iterations=9)), facts(0, stagnates=True, stagnation_threshold=0)),
        (RunState(streaks=Streaks(idle_iterations=9)), facts(0, stagnates=False, stagnation_threshold=2)),
        (RunState(last_outcome=Outcome(Kind.CRASH), breaker=Breaker(failures=9)), facts(0, failures=0)),
        (RunState(iterations=999), facts(0, max_iterations=0)),
        (RunState(cost_usd=0.99), facts(0, max_cost_usd=1.0)),
        (RunState(breaker=Breaker(failures=3)), facts(0, failures=3)),
        (RunState(last_outcome=Outcome(Kind.MAX_TURNS)), facts(0)),
    ],
)
def test_0_means_never_and_a_bound_is_not_met_early(state: RunState, known: Facts) -> None:
    """The turn limit is a normal end; failures before a wait that the user ended do not count."""
    assert isinstance(decide(state, known), Begin)


def test_a_run_that_goes_on_after_a_kill_begins_at_once() -> None:
    """The delay stands between two iterations of one process; a user who says `run` does not want to wait."""
    assert decide(RunState(iterations=3), facts(0, delay=3600.0)) == Begin(4)


@pytest.mark.setting("delay")
def test_the_pause_is_counted_from_the_end_of_the_last_iteration() -> None:
    """A wait until then, and not a moment longer."""
    state = RunState(iterations=1, last_ended=10.0)
    assert decide(state, facts(12.5, delay=3)) == Wait(13.0)
    assert decide(state, facts(13.0, delay=3)) == Begin(2)


@pytest.mark.setting("timeouts.idle", "timeouts.iteration")
def test_while_claude_works_the_earliest_limit_is_awaited() -> None:
    """Silence, length and lingering each name their moment."""
    state = RunState(call=Call(1, started=0.0))
    assert decide_running(state, facts(1, idle=5, iteration=9, last_heard=1)) == Wait(6)
    assert decide_running(state, facts(6, idle=5, iteration=9, last_heard=1)) == Cut(Cause.IDLE, 5)
    assert decide_running(state, facts(9, idle=5, iteration=9, last_heard=8)) == Cut(Cause.TIMEOUT, 9)


@pytest.mark.setting("timeouts.result_grace")
def test_lingering_is_counted_from_the_result_and_only_without_open_tasks() -> None:
    """An open background task holds the grace back."""
    lingering = Call(1, 0.0, result=ResultReported(), result_at=3.0)
    assert decide_running(RunState(call=lingering), facts(8, result_grace=5, last_heard=3)) == Cut(Cause.LINGERING, 5)
    busy = Call(1, 0.0, result=ResultReported(), result_at=3.0, open_tasks=((TaskStarted("t"), 0.0),))
    assert isinstance(decide_running(RunState(call=busy), facts(8, result_grace=5, last_heard=3)), Wait)


def test_an_urgent_stop_cuts_at_once_and_a_patient_one_does_not() -> None:
    """First Ctrl-C waits for the iteration."""
    urgent, patient = (
        RunState(call=Call(1, 0.0), requests=Requests(stop=StopRequested("SIGINT", now))) for now in (True, False)
    )
    assert decide_running(urgent, facts(0)) == Cut(Cause.STOPPED)
    assert isinstance(decide_running(patient, facts(0)), Wait)


DENIED = (Denial("Bash", "npm test"), Denial("Write", "/x"))


def denied(number: int, status: Status | None = None, denials: tuple[Denial, ...] = DENIED) -> list[Event]:
    allowed = (("--allow", "Bash(npm test:*)"),)
    outcome = Outcome(Kind.OK if status else Kind.DENIED, advice="Allow it.\nOr for one run: this", allowed_by=allowed)
    return [IterationStarted(number), IterationFinished(number, outcome, status, denials=denials)]


def verdict_after(*events: Event, known: Facts | None = None) -> Verdict:
    return decide(fold(Entry(0, 0.0, 0.0, event) for event in events), known or facts(9))


def test_the_same_denial_twice_ends_the_run_with_the_rules() -> None:
    """In whatever order the tools came, and whatever limit came in between."""
    other = (DENIED[1], DENIED[0])
    limit: list[Event] = [
        IterationStarted(2),
        IterationFinished(2, Outcome(Kind.USAGE_LIMIT)),
        WaitEnded(Why.USAGE_LIMIT),
    ]
    verdict = verdict_after(*denied(1), *limit, *denied(2, denials=other))
    rules = "Bash(npm test:*), Write"
    assert verdict == Finish(
        "agent_failed",
        f"not allowed: {rules}",
        "Allow it.",
        f"Claude made no progress, because it is not allowed to use {rules}",
        "claude-iterate run t --allow 'Bash(npm test:*)'",
    )
    assert verdict_after(*denied(1), *denied(2, denials=DENIED[:1])) == Begin(3)
    similar = (Denial("Bash", "npm run build"), DENIED[1])
    assert isinstance(verdict_after(*denied(1), *denied(2, denials=similar)), Finish)


def test_a_denial_matters_only_to_those_who_get_no_further() -> None:
    """A report does not hide it; progress does."""
    same = Status(False, 3, 10)
    assert isinstance(verdict_after(*denied(1, same), *denied(2, same), *denied(3, same)), Finish)
    steps = [event for number in range(1, 6) for event in denied(number, Status(False, number, 10))]
    assert verdict_after(*steps) == Begin(6)
    # The watcher tells of the report before the iteration is over; that takes nothing from its progress.
    seen = [event for number in range(1, 6) for event in _watched(number)]
    assert verdict_after(*seen) == Begin(6)


def _watched(number: int) -> list[Event]:
    status = Status(False, number, 10)
    begun, done = denied(number, status)
    return [begun, StatusChanged(status, Change()), done]


def test_what_is_added_up_is_not_lost_in_rounding() -> None:
    """0.7 + 0.1 + 0.1 + 0.1 is 1, whatever a computer says."""
    spent = [
        IterationFinished(number, Outcome(Kind.OK), cost_usd=cost) for number, cost in enumerate((0.7, 0.1, 0.1, 0.1))
    ]
    verdict = verdict_after(*spent, known=facts(9, max_cost_usd=1.0))
    assert isinstance(verdict, Finish)
    assert verdict.reason == "budget"


def test_a_little_money_is_not_called_nothing() -> None:
    """The figures of a small budget can be read."""
    verdict = verdict_after(IterationFinished(1, Outcome(Kind.OK), cost_usd=0.005), known=facts(9, max_cost_usd=0.004))
    assert isinstance(verdict, Finish)
    assert verdict.detail == "$0.0050 of $0.0040 (limits.max_cost_usd)"


def test_the_cap_of_an_iteration_ends_the_iteration() -> None:
    """Three in a row end the run, as other failures do; without such a cap it was the workspace's money."""
    spent = [IterationFinished(number, Outcome(Kind.BUDGET, "cap")) for number in (1, 2, 3)]
    capped = facts(9, max_cost_usd=5.0, max_cost_per_iteration_usd=0.5)
    assert verdict_after(*spent[:2], known=capped) == Begin(3)
    verdict = verdict_after(*spent, known=capped)
    assert isinstance(verdict, Finish)
    assert verdict.reason == "agent_failed"


def test_a_claim_over_budget_is_looked_at() -> None:
    """Checks cost nothing, so they run first; a review that cannot be paid is not begun."""
    claim = IterationFinished(1, Outcome(Kind.BUDGET, "cap"), Status(True), cost_usd=1.0)
    assert verdict_after(claim, known=facts(9, max_cost_usd=1.0, checks=("true",))) == Verify(1)
    known = facts(9, max_cost_usd=1.0, checks=("true",), auto_verify=True)
    assert verdict_after(claim, known=known) == Verify(1)
    verdict = verdict_after(claim, ChecksPassed(digest(("true",))), known=known)
    assert isinstance(verdict, Finish)
    assert verdict.reason == "budget"


def test_a_limit_in_the_last_iterations_proof_is_awaited() -> None:
    """The number of iterations is used up, the claim is not judged yet."""
    limit = Outcome(Kind.USAGE_LIMIT, "m", resets_at=1000.0)
    claim = IterationFinished(1, Outcome(Kind.OK), Status(True))
    known = facts(9, wall=900, max_iterations=1, checks=("true",), auto_verify=True)
    unheld = ReviewFinished("unheld", outcome=limit)
    green = VerificationStarted(1), ChecksPassed(digest(("true",)))
    assert isinstance(verdict_after(claim, *green, ReviewStarted("quick"), unheld, known=known), WaitStarted)
    limited = IterationFinished(1, limit, Status(True))
    assert verdict_after(limited, known=known) == Verify(1)
    assert isinstance(verdict_after(limited, *green, known=known), WaitStarted)
    wait = WaitStarted(Why.USAGE_LIMIT, 1060.0)
    assert isinstance(verdict_after(limited, *green, wait, known=known), Wait)
    ended = WaitEnded(Why.USAGE_LIMIT)
    assert verdict_after(limited, *green, wait, ended, known=known) == Verify(1, review=True)


@pytest.mark.parametrize("kind", [Kind.USAGE_LIMIT, Kind.TRANSIENT, Kind.AUTH, Kind.BILLING, Kind.CONFIG, Kind.SESSION])
def test_checks_need_no_claude(kind: Kind) -> None:
    """Whatever happened to Claude after its claim, the checks run now; with a red one the claim is judged, and the rule
    for what happened to Claude says what is next."""
    claim = IterationFinished(1, Outcome(kind, "m", resets_at=1000.0), Status(True))
    known = facts(9, wall=900, checks=("true",), on_usage_limit="stop", max_attempts=2)
    assert verdict_after(claim, known=known) == Verify(1)
    assert verdict_after(claim, VerificationFinished(1, True), known=known) == Finish("completed", "")
    failed = verdict_after(claim, VerificationFinished(1, False, "red"), known=known)
    expected = {Kind.TRANSIENT: WaitStarted, Kind.SESSION: Begin}.get(kind, Finish)
    assert isinstance(failed, expected)


def test_a_review_waits_for_claude_and_the_checks_do_not() -> None:
    """The checks run alone once. Other checks than those that were green run as well."""
    claim = IterationFinished(1, Outcome(Kind.USAGE_LIMIT, "m", resets_at=1000.0), Status(True))
    known = facts(9, wall=900, checks=("true",), auto_verify=True)
    assert verdict_after(claim, known=known) == Verify(1)
    assert verdict_after(claim, ChecksPassed(digest(("false",))), known=known) == Verify(1)
    assert isinstance(verdict_after(claim, ChecksPassed(digest(("true",))), known=known), WaitStarted)
    without = facts(9, wall=900, auto_verify=True)
    assert isinstance(verdict_after(claim, known=without), WaitStarted)


def test_a_reboot_wants_the_iteration_again() -> None:
    """Its claim is not looked at."""
    claim = IterationFinished(1, Outcome(Kind.REBOOTED), Status(True))
    assert verdict_after(claim, known=facts(9, checks=("true",))) == Begin(1)


def test_a_paused_run_does_not_prove_anything() -> None:
    """A review costs money, checks take time; `verify` was asked for, so it is held."""
    claim = IterationFinished(1, Outcome(Kind.OK), Status(True))
    assert verdict_after(claim, Requested(Verb.PAUSE), known=facts(9, checks=("true",))) == Wait(float("inf"))
    assert verdict_after(
        claim, Requested(Verb.PAUSE), Requested(Verb.RESUME), known=facts(9, checks=("true",))
    ) == Verify(1)


def test_an_iteration_that_is_done_again_is_not_idle_twice() -> None:
    """Only what counts as an iteration can be an idle one."""
    idle = Status(False, worked=False)
    state = fold(Entry(0, 0.0, 0.0, IterationFinished(1, Outcome(kind), idle)) for kind in (Kind.USAGE_LIMIT, Kind.OK))
    assert (state.iterations, state.streaks.idle_iterations) == (1, 1)


def test_a_call_may_spend_what_is_left_or_its_cap() -> None:
    """Whichever is less; without either, any amount."""
    spent = RunState(cost_usd=3.0)
    assert budget(spent, facts(0)) is None
    assert budget(spent, facts(0, max_cost_usd=5.0)) == 2.0
    assert budget(spent, facts(0, max_cost_usd=5.0, max_cost_per_iteration_usd=0.5)) == 0.5
    assert budget(spent, facts(0, max_cost_per_iteration_usd=4.0)) == 4.0


def test_work_is_measured_unless_the_stop_is_urgent() -> None:
    """A patient stop has the time for it."""
    known = replace(facts(0), measures=True)
    patient, urgent = (Requests(stop=StopRequested("SIGINT", now=now)) for now in (False, True))
    assert decide(RunState(iterations=1), known) == Measure(1)
    assert decide(RunState(iterations=1, requests=patient), known) == Measure(1)
    assert isinstance(decide(RunState(iterations=1, requests=urgent), known), Finish)


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
    gave_up = finish(second, facts(0, checks=("x",), max_attempts=2))
    assert gave_up.reason == "verification_failed"
    assert "It gave up after 2 failed claims (`verification.max_attempts`)." in gave_up.advice


@pytest.mark.parametrize(("failures", "words"), [(1, "1 iteration failed"), (2, "2 iterations in a row failed")])
def test_failures_are_counted_in_words(failures: int, words: str) -> None:
    """A bound of 1 is a bound."""
    state = RunState(last_outcome=Outcome(Kind.CRASH, "m"), breaker=Breaker(failures=failures))
    assert finish(state, facts(0, failures=failures)).detail == f"{words}; the last: m"


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
    assert verdict == WaitStarted(Why.USAGE_LIMIT, 1300.0, "m")


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


def test_the_first_of_all_reasons_to_end_wins() -> None:
    """A run for which every reason holds ends with the first; without that one with the next, in a fixed order."""
    seen, said = PatternSeen("STUCK", "STUCK"), StopScriptsRun(9, (ScriptResult("./stop", 0),))
    trip = Trip("no_progress", "after 3 iterations without progress", "000001-x", 0.0)
    all_of_it = RunState(
        iterations=9,
        cost_usd=9.0,
        last_status=Status(True, blocked="help"),
        last_outcome=Outcome(Kind.AUTH),
        claim=Claim(1, VerificationFinished(1, True)),
        requests=Requests(stop=StopRequested("SIGINT")),
        streaks=Streaks(idle_iterations=2, denied="Bash(npm:*)", denials=2),
        breaker=Breaker(3, 3, 5, "e", "e", 2, trip, "", seen, said),
    )
    known = facts(99, max_iterations=9, max_duration=9, max_cost_usd=1.0, test_failures=2, checks=("true",))
    crash, failed = Outcome(Kind.CRASH), Claim(1, VerificationFinished(1, False, "red"))
    for reason, changed in (
        ("completed", {"claim": failed}),
        ("interrupted", {"requests": Requests()}),
        ("duration", {}),
        ("verification_failed", {"claim": Claim(), "last_status": Status(False, blocked="help")}),
        ("blocked", {"last_status": None}),
        ("agent_failed", {"last_outcome": crash}),
        ("agent_failed", {"streaks": Streaks(idle_iterations=2)}),
        ("agent_failed", {"last_outcome": None}),
        ("same_error", {"breaker": replace(all_of_it.breaker, errors=0)}),
        ("no_progress", {"breaker": replace(all_of_it.breaker, errors=0, unmoved=0)}),
        ("test_failures", {"breaker": Breaker(trip=trip, pattern=seen, scripts=said)}),
        ("pattern", {"breaker": Breaker(trip=trip, scripts=said)}),
        ("script", {"breaker": Breaker(trip=trip)}),
        ("no_progress", {"breaker": Breaker()}),
        ("stagnation", {"streaks": Streaks()}),
        ("budget", {"cost_usd": 0.0}),
        ("max_iterations", {}),
    ):
        verdict = decide(all_of_it, known)
        assert isinstance(verdict, Finish)
        assert verdict.reason == reason
        all_of_it = replace(all_of_it, **changed)
        if reason == "duration":
            known = facts(9, max_iterations=9, max_cost_usd=1.0, test_failures=2, checks=("true",), max_attempts=1)
            known = replace(known, mode=MODES["iterative"])


def test_the_explanation_names_the_rules_in_their_order() -> None:
    """docs/explanation/how-a-run-decides.md cannot disagree with the rules about what comes first, so no rule moves
    by accident."""
    page = Path(__file__).parents[2] / "docs" / "explanation" / "how-a-run-decides.md"
    text = page.read_text(encoding="utf-8").split("## Between iterations")[1].split("\n## ")[0]
    known = {rule.__name__ for rule in BETWEEN_RULES}
    named = [name for name in re.findall(r"`(\w+)`", text) if name in known]
    assert named == [rule.__name__ for rule in BETWEEN_RULES]
