"""Events about the plan of the modes plan and build."""

from __future__ import annotations

import msgspec


class PlanRead(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """The plan before an iteration, or what an iteration left of it, when it is not as it was last read: how many tasks
    are open, under way and done, how many name no specification, and a checksum of the text, empty for no plan.
    `problem` says why it cannot be used."""

    open: int = 0
    doing: int = 0
    done: int = 0
    without_refs: int = 0
    fingerprint: str = ""
    problem: str = ""

    @property
    def tasks(self) -> int:
        """All tasks."""
        return self.open + self.doing + self.done

    @property
    def left(self) -> int:
        """Tasks that are not done."""
        return self.open + self.doing


class PlanFinished(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """Nothing in the plan is open any more: a claim of completion. `task` is the identity of the instructions that it
    is about."""

    tasks: int
    task: str = ""
