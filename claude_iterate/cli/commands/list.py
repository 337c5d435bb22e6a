"""`list`: every workspace in one line each."""

from __future__ import annotations

from datetime import datetime

import click
from msgspec.structs import replace

from claude_iterate.cli import options, output
from claude_iterate.cli.invocation import Invocation
from claude_iterate.views import listing_view
from claude_iterate.views.listing_view import WorkspaceRow

_WORDS = (*listing_view.STATUSES, *listing_view.STATES)


@options.command("list", workspace=False)
@click.option("--status", type=click.Choice(_WORDS), help="Only workspaces in this state.")
def command(invocation: Invocation, status: str | None, as_json: bool) -> None:
    """List the workspaces of this project."""
    project = invocation.project
    view = listing_view.listing(project.root, project.workspaces_folder, project.workspaces())
    chosen = tuple(row for row in view.workspaces if status is None or status in {row.status, row.state})
    if as_json:
        output.view(replace(view, workspaces=chosen))
    elif chosen:
        output.table([_line(row) for row in chosen], ("NAME", "STATUS", "MODE", "ITERATIONS", "PROGRESS", "LAST RUN"))
        if any(row.status == "damaged" for row in chosen):
            output.warn("Repair a damaged workspace with: claude-iterate init NAME --force")
    elif view.workspaces:
        output.note(f"No workspace is {status}.")
    else:
        output.note(f"No workspaces in {project.root}. Make one: claude-iterate init NAME")


def _line(row: WorkspaceRow) -> tuple[str, ...]:
    if row.status == "damaged":
        return row.name, "damaged", "", "", "", ""
    return (
        row.name,
        _state(row),
        row.mode or "",
        str(row.iterations),
        f"{row.progress.completed}/{row.progress.total}" if row.progress else "",
        row.last_run or "never",
    )


def _state(row: WorkspaceRow) -> str:
    """The state in words: `waiting until 19:42`, in local time."""
    state = f"waiting until {_clock(row.waiting.until)}" if row.waiting is not None else row.state
    return f"{state} (not proven)" if row.known_by == "report" else state


def _clock(moment: str) -> str:
    try:
        return datetime.fromisoformat(moment).astimezone().strftime("%H:%M")
    except (ValueError, OverflowError):  # a moment beyond the calendar
        return moment
