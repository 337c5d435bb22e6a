"""Measured work in the state: totals, the streak of iterations that moved nothing, and what counts as progress."""

from __future__ import annotations

import pytest

from claude_iterate.core.events import (
    Changes,
    Event,
    IterationFinished,
    IterationStarted,
    Outcome,
    SnapshotTaken,
    StatusChanged,
    TestCounts,
    WorkMeasured,
)
from claude_iterate.core.events.enums import Kind
from claude_iterate.core.reports.status import Change, Status
from claude_iterate.core.state.fold import fold
from claude_iterate.core.state.run_state import RunState
from claude_iterate.core.state.work import find_contradiction, find_progress
from tests.core.building import entries


def iteration(number: int, *after: Event, kind: Kind = Kind.OK, status: Status | None = None) -> list[Event]:
    return [IterationStarted(number), IterationFinished(number, Outcome(kind), status), *after]


def state_of(*events: Event) -> RunState:
    return fold(entries(*events))


NOTHING = Changes(how="git")
FILES = Changes(1, 2, 3, how="git")


def unmoved(*measures: tuple[Kind, WorkMeasured]) -> int:
    events = [event for kind, measure in measures for event in iteration(measure.number, measure, kind=kind)]
    return state_of(*events).breaker.unmoved


def test_the_totals_are_those_of_all_iterations() -> None:
    """Files of each iteration, commits, and the number of the last iteration that was measured."""
    work = state_of(
        *iteration(1, WorkMeasured(1, FILES, progress=("files",))),
        *iteration(2, WorkMeasured(2, Changes(modified=1, commits=2), progress=("commits", "files"))),
        *iteration(3, WorkMeasured(3)),
    ).work
    assert (work.files_changed, work.commits, work.measured) == (7, 2, 3)
    assert work.last_measure == WorkMeasured(3)


def test_the_last_snapshot_is_what_the_next_is_compared_with() -> None:
    """Number 0 is the one from before the first iteration; it measures nothing."""
    work = state_of(SnapshotTaken(0, "a"), SnapshotTaken(1, "b")).work
    assert (work.snapshot, work.measured, work.last_measure) == (SnapshotTaken(1, "b"), 0, None)


def test_iterations_without_progress_are_counted_in_a_row() -> None:
    """Until something moves."""
    still = [(Kind.OK, WorkMeasured(number, NOTHING)) for number in (1, 2, 3)]
    assert unmoved(*still) == 3
    assert unmoved(*still, (Kind.OK, WorkMeasured(4, FILES, progress=("files",)))) == 0


@pytest.mark.parametrize(
    ("kind", "last", "streak"),
    [
        (Kind.OK, WorkMeasured(2), 1),
        (Kind.OK, WorkMeasured(2, None, progress=("plan",)), 0),
        (Kind.SKIPPED, WorkMeasured(2, NOTHING), 1),
        (Kind.DENIED, WorkMeasured(2, NOTHING), 1),
        (Kind.INTERRUPTED, WorkMeasured(2, NOTHING), 1),
        (Kind.CRASH, WorkMeasured(2, NOTHING), 2),
        (Kind.TIMEOUT, WorkMeasured(2, NOTHING), 2),
        (Kind.SKIPPED, WorkMeasured(2, FILES, progress=("files",)), 0),
    ],
)
def test_what_is_not_known_or_not_the_agents_doing_leaves_the_streak_alone(
    kind: Kind, last: WorkMeasured, streak: int
) -> None:
    """A skip, a denial and a project that could not be looked at say nothing of the agent; progress always counts."""
    assert unmoved((Kind.OK, WorkMeasured(1, NOTHING)), (kind, last)) == streak


def test_a_further_iteration_keeps_the_streak_until_it_is_measured() -> None:
    """Its end alone says nothing of its work."""
    assert state_of(*iteration(1, WorkMeasured(1, NOTHING)), *iteration(2)).breaker.unmoved == 1


RED, GREEN, FEWER = TestCounts(1, 2), TestCounts(3, 0), TestCounts(1, 1)


@pytest.mark.parametrize(
    ("changes", "tests", "before", "what"),
    [
        (None, None, None, ()),
        (NOTHING, None, None, ()),
        (FILES, None, None, ("files",)),
        (Changes(commits=1), None, None, ("commits",)),
        (Changes(deleted=1, commits=1), None, None, ("commits", "files")),
        (NOTHING, GREEN, RED, ("tests",)),
        (NOTHING, GREEN, None, ()),
        (NOTHING, RED, GREEN, ()),
        (NOTHING, FEWER, RED, ()),
        (NOTHING, None, RED, ()),
    ],
)
def test_what_counts_as_progress(
    changes: Changes | None, tests: TestCounts | None, before: TestCounts | None, what: tuple[str, ...]
) -> None:
    """Commits, files, and tests that became green. Without the counts of before, or by fewer tests, none did."""
    state = state_of(*iteration(1, WorkMeasured(1, NOTHING, before)), *iteration(2))
    assert find_progress(state, changes, tests) == what


@pytest.mark.parametrize("complete", [False, True])
def test_items_that_are_only_claimed_are_no_progress(complete: bool) -> None:
    """However many more the report counts than ever before, also in the first iteration of a run."""
    told: list[Event] = []
    for number in range(1, 7):
        report = Status(complete, 10 * number, 60)
        change = StatusChanged(report, Change())
        told += [IterationStarted(number), change, IterationFinished(number, Outcome(Kind.OK), report)]
        assert find_progress(state_of(*told), NOTHING, None) == ()
        told.append(WorkMeasured(number, NOTHING))
    assert state_of(*told).breaker.unmoved == 6


@pytest.mark.parametrize(
    ("before", "now", "says"),
    [
        (Status(False, 2, 9), Status(False, 3, 9), True),
        (Status(False, 3, 9), Status(False, 3, 9), False),
        (Status(False, 3, 9), Status(False, 2, 9), False),
        (None, Status(False, 3, 9), False),
        (None, Status(False, worked=True), True),
    ],
)
def test_a_report_of_work_without_a_change_is_a_contradiction(before: Status | None, now: Status, says: bool) -> None:
    """What the first report of a run counts may have been done before the run: that is the base line."""
    first = iteration(1, status=before) if before is not None else []
    state = state_of(*first, *iteration(2, WorkMeasured(2, NOTHING), status=now))
    assert bool(find_contradiction(state)) == says
