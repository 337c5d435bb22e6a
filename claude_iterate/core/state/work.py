"""Steps of the fold about work: what was measured, what counts as progress, what the breaker counts."""

from __future__ import annotations

from msgspec.structs import replace

from claude_iterate.core import events
from claude_iterate.core.events import Changes, TestCounts
from claude_iterate.core.events.enums import Kind
from claude_iterate.core.events.run import Breaker, Streaks
from claude_iterate.core.outcomes import denials
from claude_iterate.core.outcomes.classes import COUNTED_FAILURES, WELL
from claude_iterate.core.reports.status import Status
from claude_iterate.core.settings.modes import MODES
from claude_iterate.core.state.run_state import RunState

NOT_TO_BLAME = frozenset({Kind.SKIPPED, Kind.REBOOTED, Kind.INTERRUPTED, Kind.DENIED})
"""Outcomes after which it says nothing of the agent that nothing moved."""


def on_work_measured(state: RunState, event: events.WorkMeasured, _entry: events.Entry) -> RunState:
    """Progress clears failures and denials, also after a time-out or a crash. What is not known neither begins nor ends
    a streak; then an iteration that went well is no failure."""
    changes, now = event.changes or Changes(), state.breaker
    work = replace(
        state.work,
        last_measure=event,
        measured=event.number,
        files_changed=state.work.files_changed + changes.number_of_files,
        commits=state.work.commits + changes.commits,
    )
    kind = state.last_outcome.kind if state.last_outcome is not None else Kind.OK
    still = event.changes is not None and kind not in NOT_TO_BLAME
    now = replace(now, unmoved=0 if event.progress else now.unmoved + still)
    if event.tests is not None:
        now = replace(now, red=now.red + 1 if event.tests.is_red else 0)
    if event.progress:
        now = replace(now, failures=0, trip=None)
        state = replace(state, streaks=replace(state.streaks, denials=0))
    elif event.changes is None and kind in WELL:
        now = replace(now, failures=0)
    return replace(state, work=work, breaker=now)


def streaks_after(state: RunState, event: events.IterationFinished, again: bool) -> Streaks:
    """The streaks after an iteration; `again`: it will be repeated."""
    if again:
        return streaks_after_retry(state.streaks, event.outcome)
    idle = event.status is not None and event.status.worked is False
    denied = "\n".join(denials.missing_permissions(event.denials)) if event.denials else ""
    return Streaks(state.streaks.idle_iterations + 1 if idle else 0, denied, _denials_after(state, event, denied))


def breaker_after(state: RunState, event: events.IterationFinished, again: bool) -> Breaker:
    """What the breaker counts after an iteration, before its work is measured. A user's `skip` and a denial change
    nothing."""
    now, kind = state.breaker, event.outcome.kind
    if again or kind in NOT_TO_BLAME:
        return now
    failures = now.failures + (kind in COUNTED_FAILURES)
    if kind in WELL and not state.run.measures:
        failures = 0  # nothing better is known
    errors = (now.errors if event.error == now.error else 0) + 1 if event.error else 0
    return replace(now, failures=failures, errors=errors, error=event.error, error_said=event.error_said)


def streaks_after_retry(streaks: Streaks, outcome: events.Outcome) -> Streaks:
    """The same call is made again."""
    away = outcome.kind == Kind.AWAY
    return replace(streaks, retries=streaks.retries + 1, absences=streaks.absences + away)


def _denials_after(state: RunState, event: events.IterationFinished, denied: str) -> int:
    """How many iterations in a row were denied the same and made no progress. No report means no progress."""
    status = event.status
    if not denied:
        return 0
    if status is not None and (status.complete or status.worked or counts_more(state.status_before, status)):
        return 0
    return state.streaks.denials + 1 if _programs(denied) == _programs(state.streaks.denied) else 1


def _programs(denied: str) -> set[str]:
    """The tools and programs: another argument does not make it another denial."""
    return {need.split(" ")[0].partition(":")[0].rstrip(")") for need in denied.splitlines()}


def find_progress(state: RunState, changes: Changes | None, tests: TestCounts | None) -> tuple[str, ...]:
    """What moved in the iteration that just ended, as we measured it: what the agent counts as done is its word. Fewer
    failing tests are progress only if more pass: a deleted test is none. In plan mode another plan is progress."""
    changes = changes or Changes()
    before = state.work.last_measure.tests if state.work.last_measure else None
    better = (
        before is not None
        and tests is not None
        and tests.failed + tests.errors < before.failed + before.errors
        and tests.passed > before.passed
    )
    mode = MODES.get(state.run.mode)
    plan = state.plans.now.fingerprint if state.plans.now is not None else ""
    facts = {
        "commits": changes.commits > 0,
        "files": changes.number_of_files > 0,
        "tests": better,
        "plan": mode is not None and mode.makes_plan and plan != state.plans.before,
    }
    return tuple(name for name, is_so in facts.items() if is_so)


def find_contradiction(state: RunState) -> str:
    """How the agent's report and what was measured last disagree; empty when they do not."""
    measure, status = state.work.last_measure, state.last_status
    if measure is None or measure.changes is None or status is None or status.source == "boxes":
        return ""
    if status.worked is False and measure.progress:
        return "the report says that there was no work to do, but the project changed."
    if not measure.progress and (status.worked or counts_more(state.status_before, status)):
        return "the report says that work was done, but nothing in the project changed."
    return ""


def counts_more(before: Status | None, now: Status) -> bool:
    """The report calls more items done than the one before the iteration. What the first report of a run counts may
    have been done earlier."""
    return before is not None and (now.completed or 0) > (before.completed or 0)
