"""What happens next, rule by rule."""

from __future__ import annotations

import pytest

from claude_iterate.core.call import Call
from claude_iterate.core.decide import BETWEEN_RULES, decide
from claude_iterate.core.events import Outcome, ResultReported, StopRequested
from claude_iterate.core.running import RUNNING_RULES, decide_running
from claude_iterate.core.state import RunState
from claude_iterate.core.status import Status
from claude_iterate.core.verdicts import Begin, Cut, Facts, Finish, Wait


def test_a_fresh_run_begins_with_iteration_1() -> None:
    """Without a pause before it."""
    assert decide(RunState(), Facts(0.0, delay=60)) == Begin(1)


@pytest.mark.parametrize(
    ("state", "facts", "reason"),
    [
        (RunState(last_status=Status(True)), Facts(0), "completed"),
        (RunState(stop=StopRequested("SIGINT")), Facts(0), "interrupted"),
        (RunState(stop=StopRequested("SIGHUP", True)), Facts(0), "terminated"),
        (RunState(last_status=Status(False, blocked="help")), Facts(0), "blocked"),
        (RunState(last_outcome=Outcome("auth")), Facts(0), "agent_failed"),
        (RunState(last_outcome=Outcome("usage_limit")), Facts(0, wait_for_limits=False), "usage_limit"),
        (RunState(last_outcome=Outcome("budget")), Facts(0), "budget"),
        (RunState(last_outcome=Outcome("crash"), failures=3), Facts(0, failures_allowed=3), "agent_failed"),
        (RunState(idle_iterations=2), Facts(0, stagnates=True, stagnation_threshold=2), "stagnation"),
        (RunState(cost_usd=1.0), Facts(0, max_cost_usd=1.0), "budget"),
        (RunState(), Facts(10, max_duration=10), "duration"),
        (RunState(iterations=3), Facts(0, max_iterations=3), "max_iterations"),
    ],
)
def test_each_reason_to_finish(state: RunState, facts: Facts, reason: str) -> None:
    """One rule each."""
    verdict = decide(state, facts)
    assert isinstance(verdict, Finish)
    assert verdict.reason == reason


def test_completion_beats_every_other_reason() -> None:
    """Work that is done is done, even if the money is spent and somebody pressed Ctrl-C."""
    state = RunState(last_status=Status(True), stop=StopRequested("SIGINT"), iterations=9, last_outcome=Outcome("auth"))
    assert decide(state, Facts(99, max_iterations=1, max_duration=1)) == Finish("completed", "")


@pytest.mark.parametrize(
    ("state", "facts"),
    [
        (RunState(idle_iterations=9), Facts(0, stagnates=True, stagnation_threshold=0)),
        (RunState(idle_iterations=9), Facts(0, stagnates=False, stagnation_threshold=2)),
        (RunState(last_outcome=Outcome("crash"), failures=9), Facts(0, failures_allowed=0)),
        (RunState(iterations=999), Facts(0, max_iterations=0)),
        (RunState(last_outcome=Outcome("max_turns")), Facts(0)),
    ],
)
def test_0_means_never(state: RunState, facts: Facts) -> None:
    """And the turn limit is a normal end."""
    assert isinstance(decide(state, facts), Begin)


def test_the_pause_is_counted_from_the_end_of_the_last_iteration() -> None:
    """A wait until then, and not a moment longer."""
    state = RunState(iterations=1, last_ended=10.0)
    assert decide(state, Facts(11.0, delay=2)) == Wait(12.0)
    assert decide(state, Facts(12.0, delay=2)) == Begin(2)


def test_while_claude_works_the_earliest_limit_is_awaited() -> None:
    """Silence, length and lingering each name their moment."""
    state = RunState(call=Call(1, started=0.0))
    assert decide_running(state, Facts(1, idle_timeout=5, iteration_timeout=9, last_heard=1)) == Wait(6)
    assert decide_running(state, Facts(6, idle_timeout=5, iteration_timeout=9, last_heard=1)) == Cut("idle", 5)
    assert decide_running(state, Facts(9, idle_timeout=5, iteration_timeout=9, last_heard=8)) == Cut("timeout", 9)


def test_lingering_is_counted_from_the_result_and_only_without_open_tasks() -> None:
    """An open background task holds the grace back."""
    lingering = Call(1, 0.0, result=ResultReported(), result_at=3.0)
    assert decide_running(RunState(call=lingering), Facts(8, result_grace=5, last_heard=3)) == Cut("lingering", 5)
    busy = Call(1, 0.0, result=ResultReported(), result_at=3.0, open_tasks=frozenset({"t"}))
    assert isinstance(decide_running(RunState(call=busy), Facts(8, result_grace=5, last_heard=3)), Wait)


def test_an_urgent_stop_cuts_at_once_and_a_patient_one_does_not() -> None:
    """First Ctrl-C waits for the iteration."""
    now = Call(1, 0.0)
    assert decide_running(RunState(call=now, stop=StopRequested("SIGINT", True)), Facts(0)) == Cut("stopped")
    assert isinstance(decide_running(RunState(call=now, stop=StopRequested("SIGINT")), Facts(0)), Wait)


def test_every_rule_explains_itself() -> None:
    """The documentation's tables are made of these sentences."""
    assert all(rule.__doc__ for rule in (*BETWEEN_RULES, *RUNNING_RULES))
