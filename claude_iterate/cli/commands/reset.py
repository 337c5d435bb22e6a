"""`reset NAME`: counters to 0, a stale claim of completion out of the way."""

from __future__ import annotations

import click

from claude_iterate.cli import output
from claude_iterate.cli.invocation import Invocation
from claude_iterate.cli.options import json_option, name_argument
from claude_iterate.workspace.lifecycle import summary


@click.command("reset")
@name_argument
@json_option
@click.pass_obj
def command(invocation: Invocation, name: str, as_json: bool) -> None:
    """Set NAME's counters to 0 and its old status report aside. Logs, runs and money spent stay."""
    changes = summary.reset(invocation.project.layout(name))
    if as_json:
        output.document({"name": name, "done": changes})
        return
    output.done(f"Reset {name}: {', '.join(changes)}.")
    output.note(f"Next: claude-iterate run {name}")
