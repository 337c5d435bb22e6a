"""Runs the commands of `stop.scripts` after an iteration: one that ends with 0 says that the run is to end."""

from __future__ import annotations

from claude_iterate.core.events import ScriptResult, StopScriptsRun, Warned
from claude_iterate.core.events.enums import Cause
from claude_iterate.core.formats import one_line, shorten
from claude_iterate.core.rules.during import decide_check
from claude_iterate.engine.recorder import Recorder
from claude_iterate.engine.shell_command import Ended, Program, ShellCommand, shell_line

_TAIL = 1000
_SHOWN = 200
_CANNOT_RUN = {126: "it cannot be executed", 127: "it was not found"}
"""What a shell's own exit codes mean."""


class StopScripts:
    """The stop scripts of a run. What is wrong with one is told once."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._told: set[str] = set()

    def run(self, shell: ShellCommand, lines: tuple[str, ...], number: int) -> None:
        """All of them, up to the first that says stop; then `StopScriptsRun`."""
        results = []
        for line in lines:
            variables = {"CLAUDE_ITERATE_ITERATION": str(number)}
            ended = shell.run(
                Program(shell_line(line, "stop-script"), "The shell", variables, tail=_TAIL), decide_check
            )
            cut = ended.cut.cause if ended.cut else ""
            output = ended.problem or ended.output
            results.append(ScriptResult(line, ended.code, ended.duration, output, cut))
            self._warn(line, ended)
            if ended.code == 0 or cut in {Cause.STOPPED, Cause.DURATION}:
                break
        self._recorder.record(StopScriptsRun(number, tuple(results)))

    def _warn(self, line: str, ended: Ended) -> None:
        why = _CANNOT_RUN.get(ended.code or 0) or (ended.how if self._failed(ended) else "")
        if not why or line in self._told:
            return
        self._told.add(line)
        said = shorten(one_line(ended.output), _SHOWN)
        text = f"The stop script `{line}` decides nothing: {why}{f' ({said})' if said else ''}."
        self._recorder.record(Warned(text, "Correct it in `stop.scripts`; the run goes on."))

    def _failed(self, ended: Ended) -> bool:
        """It was not started, or took too long. A stop of the run is not its fault."""
        return bool(ended.problem) or (ended.cut is not None and ended.cut.cause == Cause.TIMEOUT)
