"""What is said of a wait."""

from __future__ import annotations

import pytest

from claude_iterate.core.events import IterationFinished, Outcome, Requested, WaitEnded, WaitStarted
from claude_iterate.core.events.enums import Kind, Verb, Why
from claude_iterate.core.reports.status import Status
from claude_iterate.core.state.fold import fold
from claude_iterate.text import wait_lines
from tests.sinks.conftest import BEGAN, MakeEntry, MakeStarted


@pytest.mark.parametrize(
    ("why", "complete", "then"),
    [
        (Why.USAGE_LIMIT, False, "; then the iteration is repeated."),
        (Why.USAGE_LIMIT, True, "; then the review is repeated."),
        (Why.RESERVE, False, "."),
    ],
)
def test_what_comes_then_is_true(entry: MakeEntry, started: MakeStarted, why: Why, complete: bool, then: str) -> None:
    """A reserve repeats nothing; a review is not an iteration."""
    state = fold([entry(started()), entry(IterationFinished(1, Outcome(Kind.OK), Status(complete)))])
    line = wait_lines.wait_started(WaitStarted(why, BEGAN + 30), BEGAN, state)[1]
    assert line.endswith(f"(30s){then}")


def test_a_long_wait_comes_with_the_way_to_end_it(entry: MakeEntry, started: MakeStarted) -> None:
    """A short one is over before anybody could type."""
    state = fold([entry(started())])
    long, short = (
        wait_lines.wait_started(WaitStarted(Why.TRANSIENT, BEGAN + left), BEGAN, state)[1] for left in (300, 5)
    )
    assert long.endswith("To try now: claude-iterate retry my-task")
    assert "retry" not in short


def test_nothing_continues_while_the_run_is_paused(entry: MakeEntry, started: MakeStarted) -> None:
    """The wait is over, the pause is not."""
    assert fold([entry(started()), entry(Requested(Verb.PAUSE))]).paused
    assert wait_lines.wait_ended(WaitEnded(Why.USAGE_LIMIT, "retry"), paused=True) == []
    assert wait_lines.wait_ended(WaitEnded(Why.USAGE_LIMIT, "retry"), paused=False) == ["Going on (retry)."]
