"""Steps of the fold about the plan of the modes plan and build."""

from __future__ import annotations

from msgspec.structs import replace

from claude_iterate.core.events.call import PlanFinished, PlanRead
from claude_iterate.core.reports.status import Status
from claude_iterate.core.settings.modes import MODES
from claude_iterate.core.state.run_state import RunState


def planned(state: RunState, event: PlanRead | PlanFinished) -> RunState:
    """The plan was read, or all of it is done: then the report counts as a claim, whatever it says of completion."""
    if isinstance(event, PlanRead):
        return replace(state, plans=replace(state.plans, now=event))
    status = replace(
        state.last_status or Status(False), complete=True, completed=event.tasks, total=event.tasks, source="plan"
    )
    claim = replace(state.claim, proof=None, checked=None, flaky=(), task=event.task)
    return replace(state, last_status=status, status=status, claim=claim)


def moved_on(state: RunState) -> bool:
    """In plan mode: the last iteration left another plan than it found."""
    mode = MODES.get(state.started.mode) if state.started is not None else None
    now = state.plans.now.fingerprint if state.plans.now is not None else ""
    return mode is not None and mode.makes_plan and now != state.plans.before
