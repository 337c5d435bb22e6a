"""A claim that did not count is nowhere in the state as if it had: the last report before it stands."""

from __future__ import annotations

import pytest
from msgspec import structs

from claude_iterate.core.events import (
    Entry,
    Event,
    IterationFinished,
    IterationStarted,
    Outcome,
    Resumed,
    RunFinished,
    RunStarted,
    StatusChanged,
    VerificationFinished,
)
from claude_iterate.core.events.enums import Kind, Reason
from claude_iterate.core.reports.status import Change, Status
from claude_iterate.core.state.carry_over import carry_over
from claude_iterate.core.state.fold import fold
from claude_iterate.core.state.run_state import RunState

MORE, CLAIM = Status(False, 1, 2), Status(True, 2, 2)
STARTED = RunStarted("r", "w", "loop", 5, 1, "h", "0", ("claude",))


def told(*events: Event) -> Status | None:
    """The report that the state tells after these events."""
    return fold_of(*events).status


def fold_of(*events: Event) -> RunState:
    return fold(Entry(number, 0.0, 0.0, event) for number, event in enumerate(events, 1))


def iteration(number: int, status: Status | None, *between: Event) -> list[Event]:
    return [IterationStarted(number), *between, IterationFinished(number, Outcome(Kind.OK), status)]


def test_a_refuted_claim_is_not_told() -> None:
    """What was reported before it is; nothing, if it was the first report, or the claim before it was refuted, too."""
    before, claim = iteration(1, MORE), iteration(2, CLAIM)
    assert told(*before, *claim) == CLAIM
    assert told(*before, *claim, VerificationFinished(1, passed=True)) == CLAIM
    assert told(*before, *claim, VerificationFinished(1, passed=False)) == MORE
    assert told(*claim, VerificationFinished(1, passed=False)) is None
    twice = [*claim, VerificationFinished(1, passed=False), *iteration(3, CLAIM), VerificationFinished(2, passed=False)]
    assert told(*before, *twice) == MORE
    later = Status(False, 8, 12)
    seen = [StatusChanged(later, Change()), StatusChanged(CLAIM, Change())]
    assert told(*before, *iteration(2, CLAIM, *seen), VerificationFinished(1, passed=False)) == later


def test_a_claim_that_was_withdrawn_is_not_told() -> None:
    """It was seen during the iteration; at its end there was no report, or one that cannot be read."""
    seen = StatusChanged(CLAIM, Change())
    assert told(*iteration(1, MORE), *iteration(2, None, seen)) == MORE
    further = Status(False, 2, 3)
    assert told(*iteration(1, MORE), *iteration(2, None, StatusChanged(further, Change()))) == further


@pytest.mark.parametrize(
    ("reason", "status"), [("completed", CLAIM), ("interrupted", MORE), ("budget", MORE), ("max_iterations", MORE)]
)
def test_at_the_end_only_a_completed_run_tells_a_claim(reason: Reason, status: Status) -> None:
    """One that was still open when the run was stopped is not progress."""
    assert told(*iteration(1, MORE), *iteration(2, CLAIM), RunFinished(reason)) == status


def test_the_next_run_begins_with_the_work_as_it_stands() -> None:
    """Before its first report, and after a claim that failed; nothing is left of a task that is done."""
    refuted = [*iteration(1, MORE), *iteration(2, CLAIM), VerificationFinished(1, passed=False)]
    for run in ([*iteration(1, MORE)], refuted, [*refuted, RunFinished("verification_failed")]):
        carried = carry_over(fold_of(STARTED, *run))
        again = structs.replace(STARTED, carried=carried)
        assert told(again) == told(again, IterationStarted(1)) == MORE
        assert told(again, *iteration(1, CLAIM), VerificationFinished(1, passed=False)) == MORE
    assert (
        carry_over(fold_of(STARTED, *iteration(1, MORE), *iteration(2, CLAIM), RunFinished("completed"))).report is None
    )


def test_a_claim_that_a_run_takes_over_is_told_while_it_stands() -> None:
    """The killed run had it, and its proof is still to come."""
    resumed = RunStarted("r", "w", "loop", 5, 1, "h", "0", ("claude",), resumed=Resumed("q", last_status=CLAIM))
    assert told(STARTED) is None
    assert told(resumed) == CLAIM
    assert told(resumed, VerificationFinished(1, passed=False)) is None
