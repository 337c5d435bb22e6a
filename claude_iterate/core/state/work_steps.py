"""Steps of the fold about measured work, and what counts as progress."""

from __future__ import annotations

from claude_iterate.core.events import Changes, SnapshotTaken, TestCounts, WorkMeasured
from claude_iterate.core.events.vocabulary import Kind
from claude_iterate.core.state.run_state import RunState

NOT_TO_BLAME = frozenset({Kind.SKIPPED, Kind.REBOOTED, Kind.INTERRUPTED, Kind.DENIED})
"""Outcomes after which it says nothing of the agent that nothing moved."""


def measured(state: RunState, event: SnapshotTaken | WorkMeasured) -> RunState:
    """A look at the project. What is not known neither begins nor ends a streak."""
    work = state.work
    if isinstance(event, SnapshotTaken):
        return state._replace(work=work._replace(snapshot=event))
    changes = event.changes or Changes()
    work = work._replace(
        last_measure=event,
        measured=event.number,
        files_changed=work.files_changed + changes.number_of_files,
        commits=work.commits + changes.commits,
    )
    return state._replace(work=work, streaks=state.streaks._replace(unmoved=_unmoved(state, event)))


def _unmoved(state: RunState, event: WorkMeasured) -> int:
    if event.progress:
        return 0
    excused = state.last_outcome is not None and state.last_outcome.kind in NOT_TO_BLAME
    return state.streaks.unmoved + (event.changes is not None and not excused)


def moved(state: RunState, changes: Changes | None, tests: TestCounts | None) -> tuple[str, ...]:
    """What moved in the iteration that just ended. Fewer red tests are progress only if more are green: a deleted test
    is none."""
    changes = changes or Changes()
    before = state.work.last_measure.tests if state.work.last_measure else None
    better = (
        before is not None
        and tests is not None
        and tests.failed + tests.errors < before.failed + before.errors
        and tests.passed > before.passed
    )
    facts = {
        "commits": changes.commits > 0,
        "files": changes.number_of_files > 0,
        "items": _items(state) > 0,
        "tests": better,
    }
    return tuple(name for name, is_so in facts.items() if is_so)


def _items(state: RunState) -> int:
    """How many more items are done than before the iteration."""
    now = state.last_status.completed if state.last_status is not None else None
    before = state.status_before.completed if state.status_before is not None else None
    return (now or 0) - (before or 0)
