"""Steps of the fold about measured work, and what counts as progress."""

from __future__ import annotations

from msgspec.structs import replace

from claude_iterate.core.events import Changes, SnapshotTaken, TestCounts, WorkMeasured
from claude_iterate.core.events.enums import Kind
from claude_iterate.core.reports.status import Status
from claude_iterate.core.state.plan_steps import moved_on
from claude_iterate.core.state.run_state import RunState

NOT_TO_BLAME = frozenset({Kind.SKIPPED, Kind.REBOOTED, Kind.INTERRUPTED, Kind.DENIED})
"""Outcomes after which it says nothing of the agent that nothing moved."""


def measured(state: RunState, event: SnapshotTaken | WorkMeasured) -> RunState:
    """A look at the project. What is not known neither begins nor ends a streak."""
    work = state.work
    if isinstance(event, SnapshotTaken):
        return replace(state, work=replace(work, snapshot=event))
    changes = event.changes or Changes()
    work = replace(
        work,
        last_measure=event,
        measured=event.number,
        files_changed=work.files_changed + changes.number_of_files,
        commits=work.commits + changes.commits,
    )
    kind = state.last_outcome.kind if state.last_outcome is not None else None
    still = event.changes is not None and kind not in NOT_TO_BLAME
    unmoved = 0 if event.progress else state.streaks.unmoved + still
    return replace(state, work=work, streaks=replace(state.streaks, unmoved=unmoved))


def moved(state: RunState, changes: Changes | None, tests: TestCounts | None) -> tuple[str, ...]:
    """What moved in the iteration that just ended, as we measured it: what the agent counts as done is its word. Fewer
    red tests are progress only if more are green: a deleted test is none."""
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
    if not did and not measure.notes and (status.worked or counts_more(state.status_before, status)):
        return "the report says that work was done, but nothing in the project changed."
    return ""


def counts_more(before: Status | None, now: Status) -> bool:
    """The report calls more items done than the one before the iteration. What the first report of a run counts may
    have been done earlier."""
    return before is not None and (now.completed or 0) > (before.completed or 0)
