"""The points at which a run calls hooks."""

from __future__ import annotations

from collections.abc import Callable

from claude_iterate.core.events import Warned
from claude_iterate.core.events.enums import Point
from claude_iterate.core.rules.verdicts import Finish
from claude_iterate.engine.hooks.hook_runs import Hooks
from claude_iterate.engine.recorder import Recorder
from claude_iterate.engine.run_spec import RunSpec
from claude_iterate.engine.supervisor import Supervisor
from claude_iterate.workspace.run_folder import hook_files


class HookPoints:
    """`points` are those that have a hook. They are looked for once, before the first call: Claude could write one, and
    that must not run."""

    def __init__(self, plan: RunSpec, recorder: Recorder, flush: Callable[[], None]) -> None:
        self._hooks: Hooks | None = None
        self._flush = flush
        self.points: tuple[Point, ...] = ()
        self.warnings: tuple[Warned, ...] = ()
        if hook_files.may_have_hooks(plan.layout):
            self._hooks = Hooks(plan, recorder)
            self.points, self.warnings = self._hooks.points, tuple(self._hooks.warnings)

    def run(self, supervisor: Supervisor, point: Point, number: int, ending: Finish | None = None) -> None:
        """Run the hooks of this point, if there are any."""
        if self._hooks is not None and point in self.points:
            self._hooks.run(supervisor, point, number, ending)
            self._flush()
