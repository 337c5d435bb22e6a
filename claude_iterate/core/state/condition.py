"""What a run is doing, in one word, and how far it is: `list`, `show`, JSON and every other view take it from here.

The word is a condition below until the run ends, `killed` if its process is gone, and at its end the reason.
"""

from __future__ import annotations

import msgspec

from claude_iterate.core.events import PlanRead, RunStarted
from claude_iterate.core.events.enums import Purpose
from claude_iterate.core.reports.status import Status
from claude_iterate.core.settings.declared import Settings
from claude_iterate.core.settings.layers import layer_from_document, resolve
from claude_iterate.core.state.claims import claim_is_open
from claude_iterate.core.state.run_state import RunState
from claude_iterate.errors import SettingsProblem

KILLED = "killed"
"""The journal has no end, and no process runs the run."""

CONDITIONS = {
    "starting": "The run has begun. Claude has not been called yet.",
    "running": "An iteration is under way, or the next one is about to begin.",
    "verifying": "A claim of completion is being proven, or `verify` runs: checks, then the review.",
    "waiting": "The run waits: for a usage limit, an overload, a reserve, its pace or its hours, for Claude that is"
    " away, or after a failure.",
    "paused": "The user said `pause`, and nothing is under way.",
    "stopping": "The run is about to end, after what is under way or at once.",
}
"""What a run can be doing until it ends. Beside these: `killed`, and the reasons."""


def condition(state: RunState, *, alive: bool = True) -> str:
    """The one word. `alive`: a process runs the run; a journal alone cannot know it."""
    if state.reason is not None:
        return state.reason
    if not alive:
        return KILLED
    if state.stop is not None:
        return "stopping"
    if state.wait is not None:
        return "waiting"
    purpose = state.run.purpose
    proves = purpose in {Purpose.RUN, Purpose.VERIFY}
    if state.call is not None:
        return "verifying" if proves and not state.call.number else "running"
    if purpose == Purpose.VERIFY or claim_is_open(state):
        return "verifying"
    if state.paused:
        return "paused"
    begun = state.iterations or state.streaks.retries or state.one_off is not None
    return "running" if begun else "starting"


class Progress(msgspec.Struct, frozen=True):
    """How many items of the task are done, as the report says; in the modes plan and build, tasks of the plan."""

    completed: int
    total: int


def items_done(state: RunState) -> Progress | None:
    """As the run has it now; None when nothing is counted."""
    return counted_items(state.status, state.plans.now)


def counted_items(status: Status | None, plan: PlanRead | None = None) -> Progress | None:
    """What plan or report count."""
    if plan is not None and plan.tasks:
        return Progress(plan.done, plan.tasks)
    return Progress(status.completed or 0, status.total) if status is not None and status.total else None


_WITHOUT_SECRETS = ("output", "colors", "attended", "exit_codes", "stop.")
"""Settings that readers of a run depend on; their values hold no secrets, so the journal has them as they were."""


def recorded_settings(started: RunStarted) -> Settings:
    """What the run's settings say about its console and its breaker; the defaults if this version cannot read them."""
    known = {key: value for key, value in started.settings.items() if key.startswith(_WITHOUT_SECRETS)}
    try:
        return resolve([layer_from_document("journal", "journal", known)]).settings
    except SettingsProblem:
        return Settings()
