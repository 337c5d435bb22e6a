"""`run` for several workspaces: their lines while they run, the table at the end, one exit code."""

from __future__ import annotations

import contextlib
import shutil
import sys
import time
from collections.abc import Sequence

from claude_iterate.cli import output
from claude_iterate.core import formats
from claude_iterate.core.rules.next_steps import CommandLine
from claude_iterate.core.state.condition import condition, items_done
from claude_iterate.core.tones import UNPROVEN, state_words
from claude_iterate.engine.run_request import RunRequest
from claude_iterate.errors import ExpectedError, UsageProblem
from claude_iterate.operations import run_checks
from claude_iterate.operations.run_processes import ManyRuns, Noted, OneRun, Refused
from claude_iterate.system import terminals
from claude_iterate.text import local_times
from claude_iterate.text.proof_lines import claim_remarks
from claude_iterate.text.run_lines import WAITS, worktree_left
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
    layouts = [project.layout(name) for name in names]  # a wrong name is reported before anything is started
    screen = _Screen([layout.name for layout in layouts], quiet)
    many = ManyRuns(project, layouts, request, parallel, screen.show)
    screen.runs = many.runs
    if not quiet and parallel != 1:
        _warn_of_sharing(project, layouts, request)
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


def _warn_of_sharing(project: Project, layouts: Sequence[Layout], request: RunRequest) -> None:
    """Several that work in the project itself; a completed task is left as it is."""
    sharing = []
    for layout in () if request.dry_run else layouts:
        with contextlib.suppress(ExpectedError):  # its run will say what is wrong
            in_project = request.settings_for(project, layout).worktree is None
            if in_project and run_checks.find_to_leave(project, layout, request) is None:
                sharing.append(layout.name)
    if len(sharing) > 1:
        output.warn(
            f"{formats.join_names(sharing)} work in one folder at the same time: their changes can get mixed up.\n"
            f"  Give each a checkout of its own: claude-iterate run {' '.join(sharing)} --worktree"
        )


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
        state, left = run.state, run.state.worktree.left
        if (refused := _refusal(run, typed)) is not None:
            output.warn(f"{run.name}: {refused[0]}" + (f"\n  {refused[1]}" if refused[1] else ""))
        for remark in claim_remarks(state.finished, state) if state.finished is not None else ():
            output.warn(f"{run.name}: {remark}")
        if left is not None and (left.commits or left.trouble or not left.clean):
            for line in worktree_left(state):
                output.note(f"{run.name}: {line.strip()}")
        for said in run.process.answers if run.process is not None else ():
            if isinstance(said, Noted) and said.warning:
                output.warn(f"{run.name}: {said.text}")


def _row(run: OneRun) -> tuple[str, ...]:
    finished = run.state.finished
    if finished is None:
        word = "not started" if run.ended is None else "failed" if isinstance(run.ended, Refused) else _before(run)
        return run.name, word, "", "", "", ""
    cost = formats.cost(finished.cost_usd, finished.cost_is_lower_bound) if finished.cost_usd else ""
    ended = state_words(finished.reason, finished.known_by)
    return run.name, ended, str(run.state.iterations), formats.duration(finished.duration), cost, finished.next


def _before(run: OneRun) -> str:
    """Of a completed task that was left as it is: `was completed before (not proven)`."""
    done = run_checks.find_completed(run.layout)
    unproven = UNPROVEN.get(done.known_by or "", "") if done is not None else ""
    return f"was completed before ({unproven})" if unproven else "was completed before"


def _activity(run: OneRun, at: float) -> str:
    """What it does, in a few words: `iteration 3 of 50`, `waiting until 19:42: Usage limit reached`."""
    state = run.state
    if run.process is None:
        return "waits for its turn"
    if isinstance(run.ended, Refused):
        return f"failed: {run.ended.message}"
    if run.ended is not None and not run.run:
        return _before(run)
    if state.started is None:
        return "starting"
    if state.wait is not None:
        until = local_times.day_and_time(formats.moment(state.wait.until), at)
        return f"waiting until {until}: {WAITS.get(state.wait.why, state.wait.why)}"
    word = condition(state)
    if not state.iteration:
        return word.replace("_", " ")
    most = f" of {state.started.max_iterations}" if state.started.max_iterations else ""
    return f"iteration {state.iteration}{most}" + ("" if word == "running" else f", {word}")


def _line(run: OneRun, at: float, width: int) -> str:
    """The line of one run on the terminal."""
    state = run.state
    items = items_done(state)
    parts = (
        _activity(run, at),
        f"{items.completed}/{items.total} items" if items is not None else "",
        formats.duration(max(0.0, at - state.started_at)) if state.started_at else "",
        formats.cost(state.cost_usd + state.spending.cost_usd, state.cost_is_lower_bound) if state.cost_usd else "",
    )
    return f"{run.name.ljust(width)}  {' · '.join(part for part in parts if part)}"


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
        if self._live and not self._quiet:
            self._draw()
        for run in () if self._live or self._quiet else news:
            now = _activity(run, time.time())
            if self._said.get(run.name) != now:
                self._said[run.name] = now
                output.note(f"{run.name}: {now}")

    def clear(self) -> None:
        """Before the table."""
        if self._drawn and terminals.accepts_output(sys.stderr.fileno()):
            sys.stderr.write(f"\x1b[{self._drawn}F\x1b[J")
            sys.stderr.flush()
        self._drawn = 0

    def _draw(self) -> None:
        now = time.monotonic()
        if now < self._next or not terminals.accepts_output(sys.stderr.fileno()):
            return
        self._next = now + _BETWEEN
        size = shutil.get_terminal_size()
        shown = self.runs[: max(1, size.lines - 2)]
        lines = [_line(run, time.time(), self._width) for run in shown]
        if len(shown) < len(self.runs):
            lines[-1] = f"... and {len(self.runs) - len(shown) + 1} more"
        text = "".join(f"{formats.clip(output.sanitize(one), size.columns - 1)}\x1b[K\n" for one in lines)
        sys.stderr.write((f"\x1b[{self._drawn}F" if self._drawn else "") + text)
        sys.stderr.flush()
        self._drawn = len(lines)
