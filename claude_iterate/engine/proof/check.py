"""A check of the user's: a shell command in the project root that must succeed before a claim of completion counts."""

from __future__ import annotations

import msgspec

from claude_iterate.core.events import CheckFinished
from claude_iterate.core.formats import listed
from claude_iterate.core.rules.during import decide_check
from claude_iterate.core.rules.proving import Finding, last_words
from claude_iterate.engine.recorder import Recorder
from claude_iterate.engine.shell_command import Ended, Program, ShellCommand, shell_line


class Check(msgspec.Struct):
    """Runs one check. It is red unless it is known to have ended with 0."""

    _shell: ShellCommand
    _recorder: Recorder
    _line: str
    _project: str
    _gone: tuple[str, ...] = ()
    found: Finding | None = None
    """What it found; None when it is green."""
    finished: CheckFinished = CheckFinished("", None)

    def run(self) -> None:
        """From its start to `CheckFinished`."""
        ended = self._shell.run(Program(shell_line(self._line, "check"), "The shell"), decide_check)
        cut = ended.cut.cause if ended.cut else ""
        output = ended.problem or ended.output
        self.finished = CheckFinished(self._line, ended.code, ended.duration, output, cut, self._project, self._gone)
        self._recorder.record(self.finished)
        self.found = None if ended.code == 0 else self._finding(ended)

    def _finding(self, ended: Ended) -> Finding:
        if ended.problem:
            return Finding(f"The check `{self._line}` {ended.how}")
        gone = f" It uses {listed(self._gone)}: there when the run began, gone now." if self._gone else ""
        said = f"The check `{self._line}` {ended.how}.{gone} The end of its output:\n{ended.output}"
        return Finding(said, last_words(ended.output))
