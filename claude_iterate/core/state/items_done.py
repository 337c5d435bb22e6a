"""How far the work is, in one number for every reader: tasks of the plan where the run has one, else items of the
report."""

from __future__ import annotations

import msgspec

from claude_iterate.core.events.call import PlanRead
from claude_iterate.core.reports.status import Status
from claude_iterate.core.state.run_state import RunState


class Items(msgspec.Struct, frozen=True):
    """So many of so many; `of_plan`: they are tasks of the plan."""

    done: int
    total: int
    of_plan: bool = False


def items_done(state: RunState) -> Items | None:
    """As the run has it now; None when nothing is counted."""
    return counted_items(state.status, state.plans.now)


def counted_items(status: Status | None, plan: PlanRead | None) -> Items | None:
    """What plan or report count."""
    if plan is not None and plan.tasks:
        return Items(plan.done, plan.tasks, True)
    return Items(status.completed or 0, status.total) if status is not None and status.total else None
