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
from claude_iterate.core.state.work import find_contradiction, find_progress
from tests.core.building import after


def iteration(number: int, *then: Event, kind: Kind = Kind.OK, status: Status | None = None) -> list[Event]:
    return [IterationStarted(number), IterationFinished(number, Outcome(kind), status), *then]


NOTHING = Changes(how="git")
FILES = Changes(1, 2, 3, how="git")


def unmoved(*measures: tuple[Kind, WorkMeasured]) -> int:
    events = [event for kind, measure in measures for event in iteration(measure.number, measure, kind=kind)]
    return after(*events).breaker.unmoved


def test_the_totals_are_those_of_all_iterations() -> None:
    """Files of each iteration, commits, and the number of the last iteration that was measured."""
    work = after(
        *iteration(1, WorkMeasured(1, FILES, progress=("files",))),
        *iteration(2, WorkMeasured(2, Changes(modified=1, commits=2), progress=("commits", "files"))),
        *iteration(3, WorkMeasured(3)),
    ).work
    assert (work.files_changed, work.commits, work.measured) == (7, 2, 3)
    assert work.last_measure == WorkMeasured(3)


def test_the_last_snapshot_is_what_the_next_is_compared_with() -> None:
    """Number 0 is the one from before the first iteration; it measures nothing."""
    work = after(SnapshotTaken(0, "a"), SnapshotTaken(1, "b")).work
    assert (work.snapshot, work.measured, work.last_measure) == (SnapshotTaken(1, "b"), 0, None)


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
    assert after(*iteration(1, WorkMeasured(1, NOTHING)), *iteration(2)).breaker.unmoved == 1


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
    state = after(*iteration(1, WorkMeasured(1, NOTHING, before)), *iteration(2))
    assert find_progress(state, changes, tests) == what


@pytest.mark.parametrize("complete", [False, True])
def test_items_that_are_only_claimed_are_no_progress(complete: bool) -> None:
    """However many more the report counts than ever before, also in the first iteration of a run."""
    told: list[Event] = []
    for number in range(1, 7):
        report = Status(complete, 10 * number, 60)
        change = StatusChanged(report, Change())
        told += [IterationStarted(number), change, IterationFinished(number, Outcome(Kind.OK), report)]
        assert find_progress(after(*told), NOTHING, None) == ()
        told.append(WorkMeasured(number, NOTHING))
    assert after(*told).breaker.unmoved == 6


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
    state = after(*first, *iteration(2, WorkMeasured(2, NOTHING), status=now))
    assert bool(find_contradiction(state)) == says


BOXES = Status(False, 1, 2, source="boxes")


def ended(kind: Kind = Kind.OK, status: Status | None = None) -> tuple[Event, ...]:
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
def test_only_reports_of_no_work_are_counted_in_a_row(last: tuple[Event, ...], idle: int) -> None:
    """`worked: false`, and nothing else: silence is a matter of the breaker. What is done again has not happened."""
    assert after(*ended(status=IDLE), *last).streaks.idle_iterations == idle


def test_the_next_prompt_says_that_the_report_is_missing() -> None:
    """And why it did not count. A failure is told instead; a report leaves nothing to say."""
    assert after(*ended()).findings.startswith("You wrote no report. ")
    torn = IterationFinished(1, Outcome(Kind.OK), BOXES, ("it is torn", "it is odd"))
    assert after(torn).findings.startswith("You wrote no report that counts: it is torn; it is odd. ")
    assert after(*ended(Kind.CRASH)).findings == "words"
    assert after(*ended(status=Status(False))).findings == ""
