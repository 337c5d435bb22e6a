"""`show NAME`: one workspace: progress, its last run or the one under way, counters, settings, files."""

from __future__ import annotations

import shlex
import time

from claude_iterate.cli import options, output
from claude_iterate.cli.invocation import Invocation
from claude_iterate.views.workspace_lines import workspace_lines
from claude_iterate.views.workspace_view import workspace_view


@options.command("show")
def command(invocation: Invocation, name: str, as_json: bool) -> None:
    """Show the workspace NAME."""
    project = invocation.project
    now = time.time()
    view = workspace_view(project, project.layout(name), now)
    if as_json:
        output.view(view)
    else:
        output.lines(workspace_lines(view, now, shlex.join(invocation.program), output.make_pasteable))
