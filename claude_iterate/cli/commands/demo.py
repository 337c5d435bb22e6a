"""`demo`: a temporary project, a real run against the built-in fake Claude, and what to try next."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Mapping
from pathlib import Path

import click

from claude_iterate.cli import options, output
from claude_iterate.cli.invocation import Invocation
from claude_iterate.core.settings.declared import catalogue
from claude_iterate.system import temporary_files
from claude_iterate.workspace.lifecycle.project import Project

_INSTRUCTIONS = b"""# Task

Write three short poems, each in a file of its own: `spring.txt`, `summer.txt`, `autumn.txt`.

## Done means

- [ ] spring.txt has four lines
- [ ] summer.txt has four lines
- [ ] autumn.txt has four lines
"""


@click.command("demo")
@click.pass_obj
def command(invocation: Invocation) -> int:
    """Show a whole run in a temporary project. Claude is not called and nothing is spent."""
    from claude_iterate.cli.terminal.terminal_user import TerminalUser
    from claude_iterate.core.rules.next_steps import CommandLine
    from claude_iterate.operations.launch import launch
    from claude_iterate.operations.run_options import Options

    temporary_files.refuse_if_impossible()
    folder = Path(tempfile.mkdtemp(prefix="claude-iterate-demo-"))
    project = Project(folder, _untouched(invocation.environ, folder))
    layout = project.create("demo", instructions=_INSTRUCTIONS)
    where = shlex.quote(str(folder))
    output.note(f"A project for you to look at: {folder}")
    output.note(f"Now: claude-iterate -C {where} run demo --dry-run --no-delay\n")
    again = CommandLine(("claude-iterate", "-C", str(folder)), (("--dry-run",), ("--no-delay",)))
    asked = Options(
        options.layer_from_options({"delay": 0.0}), dry_run=True, color=invocation.color, command_line=again
    )
    code = launch(project, layout, asked, TerminalUser()).exit_code
    output.note("\nThat was the real loop with a stand-in for Claude. Look around:")
    output.result(f"claude-iterate -C {where} show demo")
    output.result(f"claude-iterate -C {where} logs demo")
    output.note("\nIt stays there until you delete it. Then, in a project of your own:")
    output.result("claude-iterate doctor")
    output.result("claude-iterate setup my-task")
    output.result("claude-iterate run my-task")
    return code


def _untouched(environ: Mapping[str, str], folder: Path) -> dict[str, str]:
    """An environment in which no setting of the user's leads out of the demo's folder."""
    ours = {setting.variable for setting in catalogue().values()}
    kept = {name: value for name, value in environ.items() if name not in ours}
    return kept | {"CLAUDE_ITERATE_CONFIG_DIR": str(folder / "no-user-settings")}
