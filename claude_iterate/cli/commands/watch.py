"""`watch [NAME]`: what runs do, live: on a full screen, or as a plain line for each change."""

from __future__ import annotations

from collections.abc import Sequence

import click

from claude_iterate.cli import options
from claude_iterate.cli.invocation import Invocation
from claude_iterate.cli.watched import watch
from claude_iterate.workspace.layout import Layout


@click.command("watch")
@options.name_argument_of("workspace", required=False)
@options.flag("--plain", help="One line for each change, also on a terminal.")
@click.pass_obj
def command(invocation: Invocation, workspace: str | None, plain: bool) -> None:
    """Watch the runs of all workspaces, or of one. Keys steer a run as the commands do; q leaves, the run goes on.

    Where there is no terminal, it prints a line for each change and ends with the run that it watches; without a
    WORKSPACE it ends when nothing runs.
    """
    project = invocation.project
    chosen = project.layout(workspace) if workspace is not None else None

    def layouts() -> Sequence[Layout]:
        return [chosen] if chosen is not None else [project.layout(name) for name in project.workspaces()]

    watch(layouts, only=chosen is not None, plain=plain)
