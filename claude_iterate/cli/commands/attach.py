"""`attach NAME`: a run that goes on elsewhere, on this terminal: the same lines, the same keys."""

from __future__ import annotations

import click

from claude_iterate.cli import options
from claude_iterate.cli.invocation import Invocation
from claude_iterate.cli.terminal.attached_terminal import AttachedTerminal


@click.command("attach")
@options.named_workspace
@options.verbose_option
@options.flag("-q", "--quiet", help="Show errors only.")
@options.flag("--detailed-exit-code", help="A different exit code for each group of reasons to end.")
@click.pass_obj
def command(invocation: Invocation, name: str, verbose: bool, quiet: bool, detailed_exit_code: bool) -> int:
    """Show the run of NAME as the terminal does that it was started on, wherever that was; keys steer it.

    Ctrl-C asks whether to leave, and then the run goes on, or to stop it. Without a terminal it prints plain lines
    until the end. Of a run that is over it shows how it ended. The exit code is that of the run, 0 when you leave.
    """
    level = options.output_level(verbose, quiet) or ""
    layout = invocation.project.layout(name)
    return AttachedTerminal(layout, invocation.program, level, invocation.color, detailed_exit_code).show()
