"""The execution modes: what differs between them, in one table."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from claude_iterate.core.settings.declared import Settings, StopSettings

_NO_PROGRESS = 3


class Mode(msgspec.Struct, frozen=True):
    """A way of working: how many iterations it gets by default, whether idle iterations end it, and what says that the
    work is done. `judged_by`: status is the agent's report; plan means that no task of the plan is open.
    `makes_plan`: the plan is the result, so a report counts only if there is one."""

    name: str
    max_iterations: int
    stagnates: bool
    summary: str
    judged_by: str = "status"
    makes_plan: bool = False

    @property
    def reads_plan(self) -> bool:
        """The plan matters to the run."""
        return self.makes_plan or self.judged_by == "plan"


MODES: dict[str, Mode] = {
    "loop": Mode("loop", 50, False, "one item per iteration, progress counted as completed/total"),
    "iterative": Mode("iterative", 20, True, "as many items per iteration as possible, `worked` says if any"),
    "plan": Mode("plan", 5, False, "makes or updates IMPLEMENTATION_PLAN.md", makes_plan=True),
    "build": Mode("build", 50, False, "one task of IMPLEMENTATION_PLAN.md per iteration", judged_by="plan"),
}


def most_unmoved(settings: Settings, stagnates: bool) -> int:
    """`stop.no_progress`. Unset it is 3; 0 where `stagnation_threshold = 0` trusts Claude in a mode that stagnates."""
    if settings.stop.no_progress is not None:
        return settings.stop.no_progress
    return 0 if stagnates and not settings.stagnation_threshold else _NO_PROGRESS


def stop_settings(settings: Settings, mode: str) -> StopSettings:
    """`stop`, where `no_progress` is what it is in this mode."""
    known = MODES.get(mode)
    return replace(settings.stop, no_progress=most_unmoved(settings, known is not None and known.stagnates))
