"""`init NAME`: make a workspace, or with --force fix one whose metadata is damaged."""

from __future__ import annotations

from typing import Any

import click

from claude_iterate.cli import output
from claude_iterate.cli.invocation import Invocation
from claude_iterate.cli.options import json_option, layer_from_options, mode_option, name_argument, setting_option


@click.command("init")
@name_argument
@mode_option
@setting_option("max_iterations", "-m", "--max-iterations")
@setting_option("delay", "-d", "--delay", metavar="TIME", more="0 means none.")
@setting_option("stagnation_threshold", "--stagnation-threshold")
@setting_option("notify.url", "--notify-url", metavar="URL")
@setting_option("notify.events", "--notify-events", metavar="A,B")
@click.option("--force", is_flag=True, help="Fix a damaged workspace; all its files are kept.")
@json_option
@click.pass_obj
def command(invocation: Invocation, /, name: str, mode: str | None, force: bool, as_json: bool, **given: Any) -> None:
    """Make the workspace NAME."""
    project = invocation.project
    fixing = force and project.exists(name)
    layout = project.create(name, mode, layer_from_options(given).values, force=force)
    if as_json:
        output.document({"name": name, "path": str(layout.folder), "fixed": fixing})
        return
    output.done(f"{'Fixed' if fixing else 'Made'} the workspace {name}: {layout.folder}")
    if layout.instructions.exists():
        output.note(f"Next: claude-iterate run {name}")
    else:
        output.note(f"Next: claude-iterate setup {name}")
