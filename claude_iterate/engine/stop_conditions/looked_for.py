"""What is looked for around iterations: patterns while Claude works, scripts and hints afterwards."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from claude_iterate.core.events import Event, RunFinished
from claude_iterate.core.rules import hints
from claude_iterate.engine.recorder import Recorder
from claude_iterate.engine.run_spec import RunSpec
from claude_iterate.engine.shell_command import ShellCommand
from claude_iterate.engine.stop_conditions.stop_patterns import StopPatterns
from claude_iterate.engine.stop_conditions.stop_scripts import StopScripts
from claude_iterate.engine.supervisor import Supervisor
from claude_iterate.workspace import task_file


class StopConditions:
    """What the settings ask for: most runs have neither patterns nor scripts."""

    def __init__(self, plan: RunSpec, recorder: Recorder) -> None:
        self._plan = plan
        self._recorder = recorder
        self._patterns: StopPatterns | None = None
        self._scripts: StopScripts | None = None

    @contextlib.contextmanager
    def iteration(self) -> Iterator[Callable[[Sequence[Event]], None]]:
        """Around an iteration: what looks at what Claude prints, and afterwards the hints."""
        self._begin()
        before = self._recorder.state.hints
        yield self._look
        for warned in hints.told(before, self._recorder.state.hints, self._plan.layout.name):
            self._recorder.record(warned)

    def _begin(self) -> None:
        patterns = self._plan.settings.stop.patterns
        if patterns and self._patterns is None:
            self._patterns = StopPatterns(patterns, self._recorder)
        if self._patterns is not None:
            self._patterns.iteration_begins()

    def _look(self, printed: Sequence[Event]) -> None:
        if self._patterns is not None:
            self._patterns.look(printed)

    def run_scripts(self, supervisor: Supervisor, number: int) -> None:
        """After iteration `number`."""
        self._scripts = self._scripts or StopScripts(self._recorder)
        shell = ShellCommand(self._plan, self._recorder, supervisor)
        self._scripts.run(shell, self._plan.settings.stop.scripts, number)

    def with_task(self, ending: RunFinished) -> RunFinished:
        """The end of the run with the identity of the instructions: what it counted is about them, and so is a plan."""
        return replace(ending, task=task_file.current_identity(self._plan.layout.instructions))
