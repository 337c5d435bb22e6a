"""Waiting for limits and overloads, and what a run takes over from one that was killed."""

from __future__ import annotations

import pytest

from claude_iterate.core.events import (
    AgentStarted,
    Carried,
    ChecksPassed,
    Entry,
    Event,
    HeldBack,
    IterationFinished,
    IterationStarted,
    LimitReported,
    Outcome,
    Requested,
    ResultReported,
    ReviewFinished,
    ReviewStarted,
    RunStarted,
    StopRequested,
    WaitEnded,
    WaitStarted,
)
from claude_iterate.core.events.enums import Kind, Verb, Why
from claude_iterate.core.reports.status import Status
from claude_iterate.core.rules.between import decide
from claude_iterate.core.rules.proof import digest
from claude_iterate.core.rules.verdicts import Begin, Finish, Verify, Wait
from claude_iterate.core.rules.waits import AWAY_PAUSES, retry_if_temporary
from claude_iterate.core.state.carry_over import resume_from
from claude_iterate.core.state.fold import fold, reduce
from claude_iterate.core.state.run_state import RunState
from claude_iterate.text import run_lines
from tests.core.building import facts

LIMIT = Outcome(Kind.USAGE_LIMIT, "limit", resets_at=1000.0, window="five_hour")
OVERLOAD = Outcome(Kind.TRANSIENT, "529")


def after(*events: Event, at: float = 500.0) -> RunState:
    return fold(Entry(number, at, float(number), event) for number, event in enumerate(events, 1))


def finished(outcome: Outcome, number: int = 1, status: Status | None = None) -> IterationFinished:
    return IterationFinished(number, outcome, status, cost_usd=0.5)


def test_a_rate_limit_is_not_told_as_an_overload() -> None:
    """The API asks for fewer requests; the wait is that of an overload, its name and its words are not."""
    verdict = decide(after(finished(Outcome(Kind.TRANSIENT, "429", throttled=True))), facts(0))
    assert isinstance(verdict, WaitStarted)
    assert verdict.why == Why.RATE_LIMIT
    overloaded = decide(after(finished(OVERLOAD)), facts(0))
    assert isinstance(overloaded, WaitStarted)
    assert (overloaded.why, overloaded.until) == (Why.TRANSIENT, verdict.until)
    assert "rate limit" in run_lines.wait_started(verdict, 0.0, RunState())[0]
    assert {*run_lines.WAITS} == {*Why}


def test_a_limit_is_awaited_with_its_margin() -> None:
    """Until the reset plus the margin, on the wall clock."""
    state = after(finished(LIMIT))
    assert decide(state, facts(5, wall=900, reset_margin=60)) == WaitStarted(
        Why.USAGE_LIMIT, 1060, "limit", "five_hour"
    )


def test_a_wait_ends_at_its_moment_and_not_before() -> None:
    """Measured on the wall clock, whatever the other one says."""
    state = after(finished(LIMIT), WaitStarted(Why.USAGE_LIMIT, 1060.0))
    assert decide(state, facts(5, wall=1000)) == Wait(65)
    assert decide(state, facts(5, wall=1060)) == WaitEnded(Why.USAGE_LIMIT)
    assert decide(reduce(state, Entry(9, 1060, 9, WaitEnded(Why.USAGE_LIMIT))), facts(9, wall=1060)) == Begin(1)


def test_a_clock_that_is_set_back_does_not_prolong_a_wait() -> None:
    """It lasts no longer than was planned, also when the run goes on after a kill."""
    state = after(finished(LIMIT), WaitStarted(Why.USAGE_LIMIT, 1060.0))  # at 500, 2 seconds into the run
    assert decide(state, facts(5, wall=-1e6)) == Wait(562)
    assert decide(state, facts(562, wall=-1e6)) == WaitEnded(Why.USAGE_LIMIT)
    again = after(RunStarted("b", "w", "loop", 9, 1, "h", "0", ("c",), resumed=resume_from("a", state, 0)), at=560)
    assert decide(again, facts(5, wall=-1e6)) == Wait(501)


def test_a_wait_that_goes_on_heeds_the_settings_of_today() -> None:
    """Whoever now wants to stop at a limit is stopped, and told when to come back."""
    state = after(finished(LIMIT), WaitStarted(Why.USAGE_LIMIT, 1060.0, "limit"))
    verdict = decide(state, facts(5, wall=900, on_usage_limit="stop"))
    assert isinstance(verdict, Finish)
    assert (verdict.reason, verdict.detail) == ("usage_limit", "limit")
    assert "Thu 01 Jan 00:17 UTC" in verdict.advice


@pytest.mark.setting("limits.reset_margin")
@pytest.mark.parametrize("wall", [1000.0, 1100.0], ids=["now", "passed"])
def test_a_reset_that_has_passed_is_not_asked_for_at_once(wall: float) -> None:
    """Enforcement lags: growing pauses, even without a margin."""
    state = after(finished(LIMIT))
    untils = []
    for number in range(3):
        verdict = decide(state, facts(5, wall=wall, reset_margin=0))
        assert isinstance(verdict, WaitStarted)
        untils.append(verdict.until - wall)
        for event in (WaitStarted(Why.USAGE_LIMIT, verdict.until), WaitEnded(Why.USAGE_LIMIT), finished(LIMIT)):
            state = reduce(state, Entry(9 + number, wall, 9, event))
    assert untils == [5, 10, 20]


def test_reboots_do_not_lengthen_the_first_wait() -> None:
    """Only waits in a row do."""
    rebooted = (finished(Outcome(Kind.REBOOTED)) for _ in range(3))
    assert decide(after(*rebooted, finished(OVERLOAD)), facts(9, wall=100)) == WaitStarted(Why.TRANSIENT, 105, "529")


def test_no_iteration_is_spent_on_limits_and_overloads() -> None:
    """The number stays, the tries are counted, the money too."""
    state = after(finished(LIMIT), WaitEnded(Why.USAGE_LIMIT), finished(OVERLOAD), WaitEnded(Why.TRANSIENT))
    assert (state.iterations, state.streaks.retries, state.breaker.failures, state.cost_usd) == (0, 2, 0, 1.0)
    assert decide(state, facts(9)) == Begin(1)
    done = reduce(state, Entry(9, 0, 9, finished(Outcome(Kind.OK))))
    assert (done.iterations, done.streaks.retries, done.waiting.waits, done.waiting.waited) == (1, 0, 0, 0.0)


def test_work_that_is_done_before_the_limit_is_done() -> None:
    """A fresh `complete: true` is proven, whatever came after it, and the iteration counts."""
    state = after(finished(LIMIT, status=Status(True)))
    assert decide(state, facts(0, checks=("true",))) == Verify(1)
    assert state.iterations == 1


@pytest.mark.setting("limits.max_wait")
def test_all_waits_in_a_row_are_bounded_together() -> None:
    """The second wait is cut to what is left; then the run ends. Work and down-time between them are no waiting."""
    state = after(
        finished(LIMIT), WaitStarted(Why.USAGE_LIMIT, 600.0), WaitEnded(Why.USAGE_LIMIT), finished(LIMIT), at=500
    )
    verdict = decide(state, facts(0, wall=900, max_wait=200))
    assert isinstance(verdict, WaitStarted)
    assert verdict.until == 1000
    for most in (100, 100.09):  # a moment is not worth a wait
        over = decide(state, facts(0, wall=900, max_wait=most))
        assert isinstance(over, Finish)
        assert over.reason == "usage_limit"


def test_a_wait_that_the_user_ends_begins_a_new_count() -> None:
    """What was planned and not waited does not use up `max_wait`."""
    events = (
        finished(LIMIT),
        WaitStarted(Why.USAGE_LIMIT, 600.0),
        WaitEnded(Why.USAGE_LIMIT, "retry"),
        finished(LIMIT),
    )
    verdict = decide(after(*events, at=500), facts(0, wall=900, max_wait=100))
    assert isinstance(verdict, WaitStarted)
    assert verdict.until == 1000


def test_overloads_back_off_and_end_as_a_failure() -> None:
    """5 s, 10 s; and when `max_wait` is over: agent_failed."""
    first = decide(after(finished(OVERLOAD)), facts(0, wall=100))
    assert first == WaitStarted(Why.TRANSIENT, 105, "529")
    twice = after(
        finished(OVERLOAD), WaitStarted(Why.TRANSIENT, 105), WaitEnded(Why.TRANSIENT), finished(OVERLOAD), at=100
    )
    second = decide(twice, facts(0, wall=200))
    assert isinstance(second, WaitStarted)
    assert second.until == 210
    over = decide(twice, facts(0, wall=200, max_wait=5))
    assert isinstance(over, Finish)
    assert over.reason == "agent_failed"


def test_a_reserve_is_kept() -> None:
    """Less left than is to be kept: stop, or wait for the reset; a window that was reset since is forgotten."""
    state = after(LimitReported("allowed", "five_hour", 2000.0, 0.9))
    stop = decide(state, facts(0, wall=1000, reserve={"five_hour": 20}))
    assert isinstance(stop, Finish)
    assert stop.reason == "reserve"
    wait = decide(state, facts(0, wall=1000, reserve={"five_hour": 20}, on_reserve="wait"))
    assert isinstance(wait, WaitStarted)
    assert wait.until == 2060
    assert decide(state, facts(0, wall=1000, reserve={"five_hour": 5})) == Begin(1)
    assert decide(state, facts(0, wall=3000, reserve={"five_hour": 20})) == Begin(1)
    killed = RunStarted("b", "w", "loop", 9, 1, "h", "0", ("c",), resumed=resume_from("a", state, 0))
    assert decide(after(killed), facts(0, wall=1000, reserve={"five_hour": 20})) == stop


def test_a_reset_in_ten_years_is_not_waited_for() -> None:
    """Nobody knows when this window is reset: the reserve ends the run."""
    state = after(LimitReported("allowed", "five_hour", 1000.0 + 10 * 365 * 86400, 0.9))
    verdict = decide(state, facts(0, wall=1000, reserve={"five_hour": 20}, on_reserve="wait"))
    assert isinstance(verdict, Finish)


def test_a_stop_beats_a_wait() -> None:
    """Whoever wants to leave may."""
    state = after(finished(LIMIT), WaitStarted(Why.USAGE_LIMIT, 1060.0), StopRequested("stop"))
    verdict = decide(state, facts(0, wall=900))
    assert isinstance(verdict, Finish)
    assert verdict.reason == "stopped"


def test_a_pause_holds_until_it_is_lifted() -> None:
    """No new iteration meanwhile."""
    state = after(Requested(Verb.PAUSE))
    assert decide(state, facts(0)) == Wait(float("inf"))
    assert decide(reduce(state, Entry(2, 0, 2, Requested(Verb.RESUME))), facts(0)) == Begin(1)


def test_a_killed_run_hands_on_its_whole_standing() -> None:
    """Number, streaks, money (of the call under way too, as far as it was told), findings, the wait."""
    started = RunStarted("r1", "w", "loop", 9, 1, "h", "0", ("c",), carried=Carried(4, 1.0, 2))
    wait = WaitStarted(Why.USAGE_LIMIT, 1060.0)
    killed = after(
        started,
        finished(Outcome(Kind.OK)),
        finished(Outcome(Kind.CRASH, "bang"), 2),
        IterationStarted(3),
        ResultReported(cost_usd=0.25),
        wait,
    )
    resumed = resume_from("r1", killed, 100.0)
    again = RunStarted("r2", "w", "loop", 9, 1, "h", "0", ("c",), carried=killed.run.carried, resumed=resumed)
    state = after(again)
    assert (state.iterations, state.breaker.failures, state.cost_usd, state.wait) == (2, 1, 1.25, wait)
    assert state.total_cost_usd == 2.25
    assert state.total_iterations == 6
    assert state.elapsed_before == 100.0
    known = facts(1, wall=2000, max_duration=101)
    verdict = decide(state, known)
    assert isinstance(verdict, Finish)
    assert verdict.reason == "duration"


@pytest.mark.setting("limits.calls_per_hour")
def test_a_pace_is_kept() -> None:
    """No more calls within any hour than are allowed, of reviews either; a `retry` begins a new count."""
    calls = [Entry(number, at, 0.0, AgentStarted(number)) for number, at in enumerate((1000.0, 2000.0, 3000.0), 1)]
    state = fold(calls)
    assert decide(state, facts(9, wall=3100, calls_per_hour=4)) == Begin(1)
    assert decide(state, facts(9, wall=3100, calls_per_hour=3)) == WaitStarted(Why.PACE, 4600, "3 calls within an hour")
    assert decide(state, facts(9, wall=3100, calls_per_hour=2)) == WaitStarted(Why.PACE, 5600, "2 calls within an hour")
    assert decide(state, facts(9, wall=4600, calls_per_hour=3)) == Begin(1)
    claim = reduce(state, Entry(4, 3100, 9, finished(Outcome(Kind.OK), status=Status(True))))
    checked, reviewed = (facts(9, wall=3100, calls_per_hour=3, checks=("true",), auto_verify=r) for r in (False, True))
    assert decide(claim, checked) == Verify(1)
    assert decide(claim, reviewed) == Verify(1)
    green = reduce(claim, Entry(5, 3100, 9, ChecksPassed(digest(("true",)))))
    assert isinstance(decide(green, reviewed), WaitStarted)
    waiting = reduce(state, Entry(4, 3100, 9, WaitStarted(Why.PACE, 4600)))
    assert (waiting.waiting.waits, waiting.waiting.waited) == (0, 0.0)
    assert isinstance(decide(waiting, facts(9, wall=3100, calls_per_hour=3)), Wait)
    ended = reduce(waiting, Entry(5, 3200, 9, WaitEnded(Why.PACE, "retry")))
    assert decide(ended, facts(9, wall=3200, calls_per_hour=3)) == Begin(1)


def test_a_clock_that_is_set_back_does_not_slow_the_pace() -> None:
    """Calls of the future are an hour away at most."""
    state = fold([Entry(1, 9e9, 0.0, AgentStarted(1))])
    assert decide(state, facts(9, wall=1000, calls_per_hour=1)) == WaitStarted(Why.PACE, 4600, "1 call within an hour")


def test_a_limit_of_another_run_is_waited_for_once() -> None:
    """Until its moment and no longer, with its words; with `on_usage_limit = stop` the run ends; any end of the wait is
    the end of it."""
    state = after(HeldBack("other", 900.0, "limit"))
    wait = WaitStarted(Why.USAGE_LIMIT, 900.0, "other met the usage limit: limit")
    assert decide(state, facts(5, wall=600)) == wait
    assert decide(state, facts(5, wall=900)) == Begin(1)
    stops = decide(state, facts(5, wall=600, on_usage_limit="stop"))
    assert isinstance(stops, Finish)
    assert stops.reason == "usage_limit"
    over = after(HeldBack("other", 900.0), wait, WaitEnded(Why.USAGE_LIMIT, "retry"))
    assert decide(over, facts(5, wall=600)) == Begin(1)


LOST = Outcome(Kind.AUTH, "401", "Log in")
AWAY = Outcome(Kind.AWAY, "401", "Log in")


def ended(number: int, outcome: Outcome, status: Status | None = None) -> list[Event]:
    return [IterationStarted(number), IterationFinished(number, outcome, status)]


GOOD = ended(1, Outcome(Kind.OK))


def test_what_never_worked_ends_the_run_at_once() -> None:
    """A skipped or failed iteration is no sign that Claude works."""
    for before in ([], ended(1, Outcome(Kind.SKIPPED)), ended(1, Outcome(Kind.CRASH))):
        assert retry_if_temporary(LOST, after(*before)) == LOST
    verdict = decide(after(*ended(1, LOST)), facts(0))
    assert verdict == Finish("agent_failed", "401", "Log in")


def test_what_worked_is_tried_again_for_a_minute() -> None:
    """With growing pauses, under the same number; then it ends as ever."""
    story: list[Event] = [*GOOD]
    planned = 0.0
    for pause in AWAY_PAUSES:
        assert retry_if_temporary(LOST, after(*story)) == AWAY
        story += ended(2, AWAY)
        wait = decide(after(*story), facts(9, wall=500.0))
        assert wait == WaitStarted(Why.AWAY, 500.0 + pause, "401")
        planned += pause
        story += [wait, WaitEnded(Why.AWAY)]
        assert decide(after(*story), facts(99, wall=600.0)) == Begin(2)
    assert planned == 60.0
    assert retry_if_temporary(LOST, after(*story)) == LOST
    assert decide(after(*story, *ended(2, LOST)), facts(9)) == Finish("agent_failed", "401", "Log in")
    assert after(*story).iterations == 1


def test_a_good_iteration_begins_a_new_minute() -> None:
    """Each absence is judged by itself."""
    story = [*GOOD, *(event for _ in AWAY_PAUSES for event in ended(2, AWAY)), *ended(2, Outcome(Kind.OK))]
    assert after(*story).streaks.absences == 0
    assert retry_if_temporary(LOST, after(*story)).kind == Kind.AWAY


def test_earlier_waits_for_a_limit_do_not_count() -> None:
    """A night of waiting takes nothing from the minute."""
    limits = [event for _ in range(9) for event in (*ended(2, Outcome(Kind.USAGE_LIMIT)), *waited(Why.USAGE_LIMIT))]
    story = [*GOOD, *limits, *ended(2, AWAY)]
    assert decide(after(*story), facts(9, wall=500.0)) == WaitStarted(Why.AWAY, 505.0, "401")


def waited(why: Why) -> list[Event]:
    return [WaitStarted(why, 900.0), WaitEnded(why)]


def test_the_user_bounds_all_waits() -> None:
    """`limits.max_wait` holds here, too, and the end is that of a failure."""
    verdict = decide(after(*GOOD, *ended(2, AWAY)), facts(9, wall=500.0, max_wait=0.0))
    assert isinstance(verdict, Finish)
    assert verdict.reason == "agent_failed"


def test_a_review_is_tried_again_as_well() -> None:
    """The claim waits meanwhile, and counts once the review was held."""
    claim = ended(1, Outcome(Kind.OK), Status(True))
    story = [*claim, ReviewStarted("quick"), ReviewFinished("unheld", outcome=AWAY)]
    wanted = facts(9, wall=500.0, auto_verify=True)
    wait = decide(after(*story), wanted)
    assert wait == WaitStarted(Why.AWAY, 505.0, "401")
    held = after(*story, wait, WaitEnded(Why.AWAY), ReviewStarted("quick"), ReviewFinished("incomplete"))
    assert held.streaks.absences == 0
