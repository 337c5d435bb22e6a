"""`list`: every workspace in one line each; `show NAME`: one of them, its progress, runs, proof, settings, files."""

from __future__ import annotations

import shlex
import time

import click
from msgspec.structs import replace

from claude_iterate.cli import options, output
from claude_iterate.cli.invocation import Invocation
from claude_iterate.core.events.enums import ENDINGS
from claude_iterate.core.tones import state_words, tone
from claude_iterate.text import local_times
from claude_iterate.views.workspace_lines import workspace_lines
from claude_iterate.views.workspace_view import STATES, STATUSES, WorkspaceRow, listing, workspace_view

_WORDS = tuple(dict.fromkeys((*STATUSES, *STATES, *ENDINGS)))


@options.command("list", workspace=False)
@click.option("--status", metavar="STATE", type=click.Choice(_WORDS), help="Only workspaces in this state.")
def list_workspaces(invocation: Invocation, status: str | None) -> None:
    """List the workspaces of this project.

    \b
    STATE is one of these:
      not begun       new, new_task, planned
      under way       starting, running, verifying, waiting, paused, stopping
      over            completed, interrupted, unfinished, killed, error
      its last run    max_iterations, stagnation, no_progress, same_error,
      ended by        test_failures, pattern, script, blocked,
                      verification_failed, agent_failed, budget, duration,
                      usage_limit, reserve, hook_abort, stopped, terminated
      else            in_progress, copy, damaged
    """
    project = invocation.project
    view = listing(project.root, project.workspaces_folder, project.workspaces())
    chosen = tuple(row for row in view.workspaces if status is None or status in {row.status, row.state})
    if output.wants_json():
        output.view(replace(view, workspaces=chosen))
    elif chosen:
        now = time.time()
        head = ("NAME", "STATUS", "PROGRESS", "ITERATIONS", "MODE", "LAST RUN")
        output.table([_line(row, now) for row in chosen], head, 1, [tone(row.state, row.known_by) for row in chosen])
        for row in chosen:
            if row.branch:
                branch = output.sanitize(row.branch)
                output.result(f"The last run of {row.name} worked on the branch {branch}, in a worktree.")
        if any(row.status == "damaged" for row in chosen):
            output.warn("See how to repair what is damaged: claude-iterate doctor")
    elif view.workspaces:
        output.note(f"No workspace is {status}.")
    else:
        output.note(f"No workspaces in {project.root}. Make one: claude-iterate setup NAME")


@options.command("show")
def show(invocation: Invocation, name: str) -> None:
    """Show the workspace NAME: progress, its last run or the one under way, proof, settings, files."""
    project = invocation.project
    now = time.time()
    view = workspace_view(project, project.layout(name), now)
    if output.wants_json():
        output.view(view)
    else:
        output.lines(workspace_lines(view, now, shlex.join(invocation.program), output.make_pasteable))


commands = {"list": list_workspaces, "show": show}


def _line(row: WorkspaceRow, now: float) -> tuple[str, ...]:
    if row.status == "damaged":
        return row.name, "damaged", "", "", "", ""
    return (
        row.name,
        _state(row, now),
        _progress(row),
        str(row.iterations),
        _mode(row),
        local_times.when(row.last_run, now) if row.last_run and (row.state != "new" or row.reset) else "never",
    )


def _mode(row: WorkspaceRow) -> str:
    """The workspace's own, and that of the last run where it had another one."""
    own = row.mode or ""
    return f"{own} ({row.run_mode})" if row.run_mode and row.run_mode != own else own


def _progress(row: WorkspaceRow) -> str:
    """Tasks of the plan where there is one, else items of the report."""
    plan = row.plan
    if plan is not None and (total := plan.open + plan.doing + plan.done):
        return f"{plan.done}/{total}"
    return f"{row.progress.completed}/{row.progress.total}" if row.progress else ""


def _state(row: WorkspaceRow, now: float) -> str:
    """The state in words: `waiting until 19:42`, in local time."""
    if row.waiting is not None:
        return f"waiting until {local_times.day_and_time(row.waiting.until, now)}"
    return state_words(row.state, row.known_by)
