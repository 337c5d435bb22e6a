"""Steps of the fold about measured work, and what counts as progress."""

from __future__ import annotations

from claude_iterate.core.events import Changes, SnapshotTaken, TestCounts, WorkMeasured
from claude_iterate.core.events.vocabulary import Kind
from claude_iterate.core.outcomes.classes import WELL
from claude_iterate.core.state.plan_steps import moved_on
from claude_iterate.core.state.run_state import RunState, Streaks

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
        most_items=max(work.most_items, _done(state)),
    )
    return state._replace(work=work, streaks=_streaks(state, event))


def _streaks(state: RunState, event: WorkMeasured) -> Streaks:
    kind = state.last_outcome.kind if state.last_outcome is not None else None
    still = event.changes is not None and not event.progress
    now = state.streaks
    now = now._replace(unmoved=0 if event.progress else now.unmoved + (still and kind not in NOT_TO_BLAME))
    reported = state.last_status is not None and state.last_status.source != "boxes"
    if reported or kind not in WELL | {Kind.DENIED}:
        return now
    if not still or event.notes:
        return now._replace(silent_iterations=0, idle_iterations=0)
    return now._replace(silent_iterations=now.silent_iterations + 1, idle_iterations=now.idle_iterations + 1)


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
        "plan": moved_on(state),
    }
    return tuple(name for name, is_so in facts.items() if is_so)


def contradiction(state: RunState) -> str:
    """How the agent's report and what was measured last disagree; empty when they do not."""
    measure, status = state.work.last_measure, state.last_status
    if measure is None or measure.changes is None or status is None or status.source == "boxes":
        return ""
    did = {"commits", "files", "tests"} & set(measure.progress)
    if status.worked is False and did:
        return "the report says that there was no work to do, but the project changed."
    if not did and not measure.notes and (status.worked or "items" in measure.progress):
        return "the report says that work was done, but nothing in the project changed."
    return ""


def _items(state: RunState) -> int:
    """How many more items are done than before the iteration, and than ever in this run: what goes up and down gets
    nowhere."""
    before = state.status_before.completed if state.status_before is not None else None
    return _done(state) - max(before or 0, state.work.most_items)


def _done(state: RunState) -> int:
    """The items that the last report calls done. A claim of an iteration that was cut off does not count."""
    status = state.last_status
    return 0 if status is None or (status.complete and not state.claim.sound) else status.completed or 0
