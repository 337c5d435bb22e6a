"""`list`: every workspace in one line each."""

from __future__ import annotations

from typing import Any

import click

from claude_iterate.cli import output
from claude_iterate.cli.invocation import Invocation
from claude_iterate.cli.options import json_option
from claude_iterate.views import listing_view


@click.command("list")
@click.option("--status", type=click.Choice(listing_view.CONDITIONS), help="Only workspaces in this state.")
@json_option
@click.pass_obj
def command(invocation: Invocation, status: str | None, as_json: bool) -> None:
    """List the workspaces of this project."""
    project = invocation.project
    rows = listing_view.rows(project.workspaces_folder, project.workspaces())
    chosen = [row for row in rows if status is None or row["status"] == status]
    if as_json:
        output.document({"root": str(project.root), "workspaces": chosen})
    elif chosen:
        output.table([_line(row) for row in chosen], ("NAME", "STATUS", "MODE", "ITERATIONS", "PROGRESS", "LAST RUN"))
        if any(row["status"] == "damaged" for row in chosen):
            output.warn("A damaged workspace is mended with: claude-iterate init NAME --force")
    elif rows:
        output.note(f"No workspace is {status}.")
    else:
        output.note(f"No workspaces in {project.root}. Make one: claude-iterate init NAME")


def _line(row: dict[str, Any]) -> tuple[str, ...]:
    if row["status"] == "damaged":
        return row["name"], "damaged", "", "", "", ""
    return (
        row["name"],
        row["status"],
        str(row["mode"]),
        str(row["iterations"]),
        progress(row["progress"]),
        str(row["lastRun"] or "never"),
    )


def progress(value: Any) -> str:
    """`3/7`, or nothing where nothing is counted."""
    return f"{value.get('completed')}/{value.get('total')}" if isinstance(value, dict) else ""
