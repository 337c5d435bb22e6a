"""Runs the project's test command after an iteration and counts its tests. What cannot be read is not known: never a
success, and never "no failures"."""

from __future__ import annotations

import time
from pathlib import Path

from claude_iterate.core.events import TestCounts
from claude_iterate.core.formats import one_line, shorten
from claude_iterate.core.rules.during import decide_check
from claude_iterate.engine.shell_command import Ended, Program, ShellCommand, shell_line
from claude_iterate.engine.supervisor import Supervisor
from claude_iterate.project.junit_files import JunitProblem, find_written, read_junit_files
from claude_iterate.project.suite_results import Counts, read_summary

_TAIL = 2_000_000
"""Characters of the end of the output that summaries are looked for in."""
_COARSE = 50_000_000
"""Nanoseconds by which the clock of a file system may be behind."""
_LONGEST = 300


def count_tests(shell: ShellCommand, supervisor: Supervisor, root: Path, command: str) -> tuple[TestCounts | None, str]:
    """Run the command in the project root: the counts; or None, and why they are not known."""
    began = time.time_ns() - _COARSE
    ended = shell.run(Program(shell_line(command, "test"), "The shell", tail=_TAIL), decide_check)
    if ended.code is None:
        return None, f"`{command}` {ended.how}"
    try:
        found = supervisor.meanwhile(lambda: _read(root, command, ended, began))
    except JunitProblem as problem:
        return None, f"`{command}` {ended.how}, and its JUnit file cannot be used: {problem}"
    if found is None:
        return None, f"`{command}` {ended.how}, and no counts of tests are in its output"
    return _as_recorded(found, command, ended), ""


def _read(root: Path, command: str, ended: Ended, began: int) -> Counts | None:
    """JUnit files are exact; what is printed is for people."""
    return read_junit_files(find_written(command, root, began)) or read_summary(ended.output)


def _as_recorded(found: Counts, command: str, ended: Ended) -> TestCounts:
    red = tuple(shorten(one_line(name), _LONGEST) for name in found.red)
    errors = found.errors
    if ended.code and not found.failed + errors:
        # All that was counted is green, and the command says that something is not.
        errors, red = 1, (f"`{command}` {ended.how}",)
    return TestCounts(found.passed, found.failed, errors, found.skipped, found.how, red)
