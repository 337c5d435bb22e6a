"""`run` for several workspaces: their lines while they run, the table at the end, one exit code."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Sequence

from claude_iterate.cli import output
from claude_iterate.core import formats
from claude_iterate.core.rules.next_steps import CommandLine
from claude_iterate.core.state.condition import condition, items_done
from claude_iterate.core.state.run_state import RunState
from claude_iterate.core.tones import UNPROVEN, state_words
from claude_iterate.errors import ExpectedError, UsageProblem
from claude_iterate.operations import run_checks
from claude_iterate.operations.run_processes import ManyRuns, Noted, OneRun, Refused
from claude_iterate.operations.run_request import RunRequest
from claude_iterate.system import terminals
from claude_iterate.text import local_times
from claude_iterate.text.proof_lines import claim_remarks
from claude_iterate.text.run_lines import words_for, worktree_left
from claude_iterate.views.documents import ended_runs
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project

_SIGNALLED = {"SIGINT": 130, "SIGTERM": 143, "SIGHUP": 143}
_BETWEEN = 0.5
"""Seconds between two refreshed pictures."""


def run_many(project: Project, names: Sequence[str], request: RunRequest, parallel: int, quiet: bool) -> int:
    """All of them; 0 only if every run ended well."""
    if len(set(names)) != len(names):
        raise UsageProblem("A workspace is named twice.", "Name each one once.")
    layouts = [project.layout(name) for name in names]  # a wrong name is told before anything is started
    screen = _Screen([layout.name for layout in layouts], quiet)
    many = ManyRuns(project, layouts, request, parallel, screen.show)
    screen.runs = many.runs
    if not quiet and parallel != 1 and (sharing := _find_sharers(project, layouts, request)):
        output.warn(
            f"{formats.join_names(sharing)} work in one folder at the same time: what they change can be mixed up.\n"
            f"  Give each a checkout of its own: claude-iterate run {' '.join(sharing)} --worktree"
        )
    many.run()
    screen.clear()
    code = _SIGNALLED.get(many.stopped_by) or (0 if all(_exit_code(run) == 0 for run in many.runs) else 1)
    if request.as_json:
        line = request.command_line
        ended = [(one.layout, one.run, one.state, _exit_code(one), _refusal(one, line)) for one in many.runs]
        output.view(ended_runs(ended, code))
    elif code or not quiet:
        _print_table(many.runs, request.command_line)
    return code


def _exit_code(run: OneRun) -> int:
    return run.ended.exit_code if run.ended is not None else 1


def _refusal(run: OneRun, line: CommandLine) -> tuple[str, str] | None:
    """Why there was no run, or why it broke off."""
    if isinstance(run.ended, Refused):
        return run.ended.message, run.ended.hint
    words = [word for option in line.options for word in option]
    return ("It was not started.", line.command("run", run.name, *words)) if run.ended is None else None


def _print_table(runs: Sequence[OneRun], typed: CommandLine) -> None:
    output.table([_row(run) for run in runs], ("NAME", "ENDED", "ITERATIONS", "TIME", "COST", "NEXT"))
    for run in runs:
        refused = _refusal(run, typed)
        if refused is not None:
            output.warn(f"{run.name}: {refused[0]}" + (f"\n  {refused[1]}" if refused[1] else ""))
        for remark in claim_remarks(run.state.finished, run.state) if run.state.finished is not None else ():
            output.warn(f"{run.name}: {remark}")
        for line in worktree_left(run.state) if _left_something(run.state) else ():
            output.note(f"{run.name}: {line.strip()}")
        for said in run.process.answers if run.process is not None else ():
            if isinstance(said, Noted) and said.warning:
                output.warn(f"{run.name}: {said.text}")


def _find_sharers(project: Project, layouts: Sequence[Layout], request: RunRequest) -> list[str]:
    """Those that will work in the project itself beside another one; a completed task is left as it is."""
    if request.dry_run:
        return []
    here = [layout.name for layout in layouts if _works_in_project(project, layout, request)]
    return here if len(here) > 1 else []


def _works_in_project(project: Project, layout: Layout, request: RunRequest) -> bool:
    try:
        in_project = request.settings_for(project, layout).worktree is None
        return in_project and run_checks.find_to_leave(project, layout, request) is None
    except ExpectedError:  # its run will say what is wrong
        return False


def _left_something(state: RunState) -> bool:
    """There is something to merge, or the worktree stays."""
    left = state.worktree.left
    return left is not None and bool(left.commits or left.trouble or not left.clean)


def _row(run: OneRun) -> tuple[str, ...]:
    finished, state = run.state.finished, run.state
    if finished is None:
        word = "not started" if run.ended is None else "failed" if isinstance(run.ended, Refused) else _before(run)
        return run.name, word, "", "", "", ""
    cost = formats.cost(finished.cost_usd, finished.cost_is_lower_bound) if finished.cost_usd else ""
    took = formats.duration(finished.duration)
    ended = state_words(finished.reason, finished.known_by)
    return run.name, ended, str(state.iterations), took, cost, finished.next


def _before(run: OneRun) -> str:
    """Of a completed task that was left as it is: `was completed before (not proven)`."""
    done = run_checks.find_completed(run.layout)
    unproven = UNPROVEN.get(done.known_by or "", "") if done is not None else ""
    return f"was completed before ({unproven})" if unproven else "was completed before"


def _phrase(state: RunState, at: float) -> str:
    """What the run does, in a few words: `iteration 3 of 50`, `waiting until 19:42 (usage limit)`."""
    if state.started is None:
        return "starting"
    word = condition(state)
    most = f" of {state.started.max_iterations}" if state.started.max_iterations else ""
    if state.wait is not None:
        until = local_times.day_and_time(formats.moment(state.wait.until), at)
        return f"waiting until {until} ({words_for(state.wait.why).short})"
    if state.iteration:
        return f"iteration {state.iteration}{most}" + ("" if word == "running" else f", {word}")
    return word.replace("_", " ")


def _line(name: str, doing_now: str, state: RunState, at: float, width: int) -> str:
    """The line of one run on the terminal."""
    spent = formats.cost(state.cost_usd + state.spending.cost_usd, state.cost_is_lower_bound)
    took = formats.duration(max(0.0, at - state.started_at)) if state.started_at else ""
    items = items_done(state)
    done = f"{items.done}/{items.total} items" if items is not None else ""
    parts = [doing_now, done, took, spent if state.cost_usd else ""]
    return f"{name.ljust(width)}  {' · '.join(part for part in parts if part)}"


class _Screen:
    """A line for each run, drawn again and again on a terminal; elsewhere a line for each change."""

    def __init__(self, names: list[str], quiet: bool) -> None:
        self.runs: Sequence[OneRun] = ()
        self._width = max(map(len, names))
        self._quiet = quiet
        self._live = output.is_terminal(sys.stderr)
        self._said: dict[str, str] = {}
        self._drawn = 0
        self._next = 0.0

    def show(self, news: list[OneRun]) -> None:
        """Called after each look."""
        if self._quiet:
            return
        if self._live:
            self._draw()
            return
        for run in news:
            now = self._activity(run)
            if self._said.get(run.name) != now:
                self._said[run.name] = now
                output.note(f"{run.name}: {now}")

    def clear(self) -> None:
        """Before the table."""
        if self._drawn and terminals.accepts_output(sys.stderr.fileno()):
            sys.stderr.write(f"\x1b[{self._drawn}F\x1b[J")
            sys.stderr.flush()
        self._drawn = 0

    def _activity(self, run: OneRun) -> str:
        if run.process is None:
            return "waits for its turn"
        if isinstance(run.ended, Refused):
            return f"failed: {run.ended.message}"
        return _before(run) if run.ended is not None and not run.run else _phrase(run.state, time.time())

    def _draw(self) -> None:
        now = time.monotonic()
        if now < self._next or not terminals.accepts_output(sys.stderr.fileno()):
            return
        self._next = now + _BETWEEN
        size = shutil.get_terminal_size()
        shown = self.runs[: max(1, size.lines - 2)]
        lines = [_line(run.name, self._activity(run), run.state, time.time(), self._width) for run in shown]
        if len(shown) < len(self.runs):
            lines[-1] = f"... and {len(self.runs) - len(shown) + 1} more"
        text = "".join(f"{formats.clip(output.sanitize(one), size.columns - 1)}\x1b[K\n" for one in lines)
        sys.stderr.write((f"\x1b[{self._drawn}F" if self._drawn else "") + text)
        sys.stderr.flush()
        self._drawn = len(lines)
