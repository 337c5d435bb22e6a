"""Events about hooks: programs of the user that a run calls at certain points."""

from __future__ import annotations

import msgspec

from claude_iterate.core.events.vocabulary import Meaning, Point


class HookStarted(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """A hook is about to be started. `scope` is project or workspace, `number` the iteration that it is about.
    `again`: it was started before, and the run was killed before it ended."""

    point: Point
    path: str
    scope: str
    number: int = 0
    again: bool = False


class HookFinished(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """A hook has ended: its exit code (None: not started, too slow or stopped), the end of its output, and what that
    means for the run. `left` counts the hooks of this point that are still to run; `problem` says why it was not
    started."""

    point: Point
    path: str
    scope: str
    code: int | None
    means: Meaning
    number: int = 0
    duration: float = 0.0
    output: str = ""
    cut: str = ""
    problem: str = ""
    left: int = 0
