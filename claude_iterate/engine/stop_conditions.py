"""What the user looks for to end a run: patterns in what is said while Claude works, scripts after an iteration.

A pattern has a time limit for each look: one such as `(a+)+$` must not hold up the run.
"""

from __future__ import annotations

from collections.abc import Iterable

from claude_iterate.core.events import AssistantText, Event, PatternSeen, ScriptResult, StopScriptsRun, ToolResult
from claude_iterate.core.events.enums import Cause
from claude_iterate.core.formats import one_line, shorten
from claude_iterate.core.rules.proof import CANNOT_RUN
from claude_iterate.core.settings.declared import StopSettings
from claude_iterate.engine.recorder import Recorder
from claude_iterate.engine.shell_command import ProgramEnd, run_program, shell_program
from claude_iterate.engine.supervisor import Supervisor

_PATIENCE = 0.25
"""Seconds that one look may take; the engine does nothing else meanwhile."""
_AROUND = 60
_SHOWN = 200
_TAIL = 1000


class StopConditions:
    """The patterns and scripts of a run. What is wrong with one is told once; a pattern that takes too long is not
    looked for again."""

    def __init__(self, settings: StopSettings, recorder: Recorder) -> None:
        self._recorder = recorder
        self._scripts = settings.scripts
        self._patterns = list(dict.fromkeys(settings.patterns))

    def search(self, printed: Iterable[Event]) -> None:
        """Record the first match of an iteration."""
        for event in printed:
            if not isinstance(event, AssistantText | ToolResult) or not event.text:
                continue
            for pattern in tuple(self._patterns):
                if self._recorder.state.breaker.pattern is None and (found := self._find(pattern, event.text)):
                    self._recorder.record(PatternSeen(pattern, found))

    def _find(self, pattern: str, text: str) -> str:
        import regex

        try:
            found = regex.search(pattern, text, timeout=_PATIENCE)
        except TimeoutError:
            self._patterns.remove(pattern)
            hint = "It is no longer looked for in this run. Make it simpler: `stop.patterns`."
            self._recorder.warn_once(f"The stop pattern `{pattern}` takes too long.", hint)
            return ""
        if found is None:
            return ""
        start, end = found.span()
        return shorten(text[max(0, start - _AROUND) : end + _AROUND].strip(), _SHOWN)

    def run_scripts(self, supervisor: Supervisor, number: int) -> None:
        """After iteration `number`: all scripts up to the first that ends with 0, which says stop; then
        `StopScriptsRun`."""
        results = []
        for line in self._scripts:
            program = shell_program(line, "stop-script", {"CLAUDE_ITERATE_ITERATION": str(number)}, _TAIL)
            ended = run_program(supervisor, program)
            cut = ended.cut.cause if ended.cut else ""
            results.append(ScriptResult(line, ended.code, ended.duration, ended.problem or ended.output, cut))
            self._warn(line, ended)
            if ended.code == 0 or cut in {Cause.STOPPED, Cause.DURATION}:
                break
        self._recorder.record(StopScriptsRun(number, tuple(results)))

    def _warn(self, line: str, ended: ProgramEnd) -> None:
        # It was not started, or took too long. A stop of the run is not its fault.
        failed = bool(ended.problem) or (ended.cut is not None and ended.cut.cause == Cause.TIMEOUT)
        why = CANNOT_RUN.get(ended.code or 0) or (ended.how if failed else "")
        if why:
            said = shorten(one_line(ended.output), _SHOWN)
            text = f"The stop script `{line}` decides nothing: {why}{f' ({said})' if said else ''}."
            self._recorder.warn_once(
                text, "Correct it in `stop.scripts`; the run continues.", about=f"stop script {line}"
            )
