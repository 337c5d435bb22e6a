"""`build NAME`: work off the plan, task by task: `run` in build mode."""

from __future__ import annotations

from typing import Any

from claude_iterate.cli import options
from claude_iterate.cli.commands.run import JSON, OfARun, options_of_a_run, run_in_mode
from claude_iterate.cli.invocation import Invocation


@options.command("build", cls=OfARun, json=JSON)
@options_of_a_run
def command(invocation: Invocation, /, name: str, **given: Any) -> int:
    """Work off the plan of NAME, one task per iteration, until nothing in it is open.

    It is `run` in build mode. A finished plan is a claim: checks and review still prove it.

    \b
    Examples:
      claude-iterate build my-task             until every task is ticked
      claude-iterate build my-task -m 1        one task
      claude-iterate build my-task --dry-run   try it without Claude
    """
    return run_in_mode(invocation, name, "build", given)
