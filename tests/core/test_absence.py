"""A Claude that worked and cannot be called now is tried again for a minute; one that never worked is not."""

from __future__ import annotations

from claude_iterate.core.events import (
    Entry,
    Event,
    IterationFinished,
    IterationStarted,
    Outcome,
    ReviewFinished,
    ReviewStarted,
    WaitEnded,
    WaitStarted,
)
from claude_iterate.core.events.enums import Kind, Why
from claude_iterate.core.reports.status import Status
from claude_iterate.core.rules.between import decide
from claude_iterate.core.rules.verdicts import Begin, Finish
from claude_iterate.core.rules.waits import AWAY_PAUSES, retry_if_temporary
from claude_iterate.core.state.fold import fold
from claude_iterate.core.state.run_state import RunState
from tests.core.building import facts

LOST = Outcome(Kind.AUTH, "401", "Log in")
AWAY = Outcome(Kind.AWAY, "401", "Log in")


def after(*events: Event) -> RunState:
    return fold(Entry(number, 500.0, float(number), event) for number, event in enumerate(events, 1))


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
    for attempt, pause in enumerate(AWAY_PAUSES, 1):
        assert retry_if_temporary(LOST, after(*story)) == AWAY
        story += ended(2, AWAY)
        wait = decide(after(*story), facts(9, wall=500.0))
        assert wait == WaitStarted(Why.AWAY, 500.0 + pause, "401", "", attempt)
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
    assert decide(after(*story), facts(9, wall=500.0)) == WaitStarted(Why.AWAY, 505.0, "401", "", 1)


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
    assert wait == WaitStarted(Why.AWAY, 505.0, "401", "", 1)
    held = after(*story, wait, WaitEnded(Why.AWAY), ReviewStarted("quick"), ReviewFinished("incomplete"))
    assert held.streaks.absences == 0
