"""Iterations without a report: what the next prompt says, and what they mean for a run that stagnates."""

from __future__ import annotations

import pytest

from claude_iterate.core.events import Changes, Event, IterationFinished, Outcome, WorkMeasured
from claude_iterate.core.events.enums import Kind
from claude_iterate.core.reports.status import Status
from claude_iterate.core.state.fold import fold
from claude_iterate.core.state.run_state import RunState
from tests.core.building import entries

BOXES = Status(False, 1, 2, source="boxes")


Ended = tuple[Event, ...]


def after(*finished: Ended) -> RunState:
    return fold(entries(*(event for events in finished for event in events)))


def ended(kind: Kind = Kind.OK, status: Status | None = None) -> Ended:
    """An iteration and its measure; one that is done again is not measured."""
    finished = IterationFinished(1, Outcome(kind, "words"), status)
    return (finished,) if kind == Kind.TRANSIENT else (finished, WorkMeasured(1, Changes()))


IDLE = Status(False, worked=False)


@pytest.mark.parametrize(
    ("last", "idle"),
    [
        (ended(status=IDLE), 2),
        (ended(Kind.CRASH, IDLE), 2),
        (ended(status=Status(False, worked=True)), 0),
        (ended(status=Status(False)), 0),
        (ended(status=BOXES), 0),
        (ended(), 0),
        (ended(Kind.CRASH), 0),
        (ended(Kind.SKIPPED), 0),
        (ended(Kind.TRANSIENT), 1),
    ],
)
def test_only_reports_of_no_work_are_counted_in_a_row(last: Ended, idle: int) -> None:
    """`worked: false`, and nothing else: silence is a matter of the breaker. What is done again has not happened."""
    assert after(ended(status=IDLE), last).streaks.idle_iterations == idle


def test_the_next_prompt_says_that_the_report_is_missing() -> None:
    """And why it did not count. A failure is told instead; a report leaves nothing to say."""
    assert after(ended()).findings.startswith("You wrote no report. ")
    torn = IterationFinished(1, Outcome(Kind.OK), BOXES, ("it is torn", "it is odd"))
    assert after((torn,)).findings.startswith("You wrote no report that counts: it is torn; it is odd. ")
    assert after(ended(Kind.CRASH)).findings == "words"
    assert after(ended(status=Status(False))).findings == ""
