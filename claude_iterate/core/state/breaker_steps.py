"""Steps of the fold about the breaker: what it counts, what clears it, and what the next run gets of it."""

from __future__ import annotations

from msgspec.structs import replace

from claude_iterate.core import events
from claude_iterate.core.events.enums import Kind
from claude_iterate.core.events.groups import Breaker, Streaks
from claude_iterate.core.outcomes.classes import COUNTED_FAILURES, WELL
from claude_iterate.core.state import work_steps
from claude_iterate.core.state.run_state import RunState
from claude_iterate.core.state.work_steps import NOT_TO_BLAME

_CALLS_KEPT = 1000
_HOUR = 3600.0


def begun(state: RunState, started: events.RunStarted) -> RunState:
    """A run goes on counting where the last one ended, however that was. A dry run counts for itself."""
    if started.dry_run:
        return state
    before = started.carried.breaker
    streaks = replace(state.streaks, **{name: getattr(before, name) for name in _COUNTED})
    waiting = replace(state.waiting, calls=started.carried.calls)
    return replace(state, streaks=streaks, breaker=Breaker(before.trip), waiting=waiting)


_COUNTED = ("unmoved", "failures", "errors", "error", "error_said", "red")
"""Streaks that go on in the next run. The others are about calls of one run."""


def handed_on(state: RunState) -> events.Standing:
    """What the next run has to know, after any end. A task that is done leaves nothing."""
    if state.task_is_done:
        return events.Standing()
    trip, ended = state.breaker.trip, state.finished
    known = ended.task if ended is not None else state.started.task if state.started is not None else ""
    task = (known if state.iterations else "") or state.carried.breaker.task
    if ended is not None and ended.tripped:
        run = state.started.run if state.started is not None else ""
        trip = events.Trip(ended.reason, ended.tripped, run, state.last_at)
    counted = {name: getattr(state.streaks, name) for name in _COUNTED}
    return events.Standing(**counted, trip=trip, task=task)


def recent_calls(state: RunState) -> tuple[float, ...]:
    """The calls that the pace of the next run has to count."""
    return tuple([at for at in state.waiting.calls[-_CALLS_KEPT:] if at > state.last_at - _HOUR])


def reset(state: RunState) -> RunState:
    """All counters begin again."""
    streaks = replace(state.streaks, **{name: getattr(_NONE, name) for name in _COUNTED})
    return replace(state, streaks=streaks, breaker=Breaker())


_NONE = Streaks()


def looked(
    state: RunState, event: events.SnapshotTaken | events.WorkMeasured | events.PatternSeen | events.StopScriptsRun
) -> RunState:
    """What was looked at or looked for around an iteration."""
    match event:
        case events.SnapshotTaken():
            return work_steps.measured(state, event)
        case events.WorkMeasured():
            return after_measure(work_steps.measured(state, event), event)
        case events.PatternSeen():
            return replace(state, breaker=replace(state.breaker, pattern=event))
        case events.StopScriptsRun():
            return replace(state, breaker=replace(state.breaker, scripts=event))


def after_iteration(state: RunState, event: events.IterationFinished, now: Streaks) -> Streaks:
    """The streaks after an iteration, with what the breaker counts, before its work is measured. A user's `skip` and a
    denial leave that as it is."""
    before, kind = state.streaks, event.outcome.kind
    now = replace(now, **{name: getattr(before, name) for name in _COUNTED})
    if kind in NOT_TO_BLAME:
        return now
    failures = before.failures + 1 if kind in COUNTED_FAILURES else before.failures
    if kind in WELL and not (state.started is not None and state.started.measures):
        failures = 0  # nothing better is known
    errors = before.errors + 1 if event.error == before.error else 1
    return replace(
        now,
        failures=failures,
        errors=errors if event.error else 0,
        error=event.error,
        error_said=event.error_said,
    )


def after_measure(state: RunState, event: events.WorkMeasured) -> RunState:
    """Progress clears failures and denials, also after a time-out or a crash. Where nothing is known, an iteration that
    went well is no failure."""
    now, kind = state.streaks, state.last_outcome.kind if state.last_outcome is not None else Kind.OK
    if event.tests is not None:
        now = replace(now, red=now.red + 1 if event.tests.is_red else 0)
    if event.progress:
        now = replace(now, failures=0, denials=0)
        return replace(state, streaks=now, breaker=replace(state.breaker, trip=None))
    if event.changes is None and kind in WELL:
        now = replace(now, failures=0)
    return replace(state, streaks=now)
