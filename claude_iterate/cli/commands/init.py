"""`init NAME`: make a workspace, or with --force fix one whose metadata is damaged."""

from __future__ import annotations

from typing import Any

from claude_iterate.cli import options, output
from claude_iterate.cli.invocation import Invocation
from claude_iterate.cli.terminal_user import TerminalUser
from claude_iterate.operations import user
from claude_iterate.operations.project_commands import propose_commands
from claude_iterate.text.ending_lines import next_run
from claude_iterate.workspace import metadata


@options.command("init", name_required=True)
@options.mode_option
@options.setting_option("max_iterations", "-m", "--max-iterations")
@options.setting_option("delay", "-d", "--delay", metavar="TIME", more="0 means none.")
@options.setting_option("stagnation_threshold", "--stagnation-threshold")
@options.setting_option("notify.url", "--notify-url", metavar="URL")
@options.setting_option("notify.events", "--notify-events", metavar="A,B")
@options.check_option
@options.flag("--force", help="Fix a damaged workspace; all its files are kept.")
def command(invocation: Invocation, /, name: str, mode: str | None, force: bool, as_json: bool, **given: Any) -> None:
    """Make the workspace NAME. `setup` makes one too, and writes its instructions."""
    project = invocation.project
    fixing = force and project.exists(name)
    layout = project.create(name, mode, options.settings_from(given), force=force)
    commands, proposal = propose_commands(project)
    document = {"name": name, "path": str(layout.folder), "fixed": fixing, "commands": dict(commands)}
    output.answer(as_json, document, f"{'Fixed' if fixing else 'Made'} the workspace {name}: {layout.folder}", proposal)
    if not as_json:
        user.ask_or_advise(project, layout, TerminalUser(), asks=True)
        plan = next_run(metadata.read(layout.metadata).mode, project.settings_for(layout).settings)
        output.note(f"  {plan[:1].upper()}{plan[1:]}")
        output.note(f"Next: claude-iterate {'run' if layout.instructions.exists() else 'setup'} {name}")
