"""`edit NAME`: improve the instructions with Claude, in a conversation or from a goal."""

from __future__ import annotations

import difflib

import click

from claude_iterate.cli import options, output
from claude_iterate.cli.invocation import Invocation, has_whole_terminal
from claude_iterate.cli.terminal_user import TerminalUser
from claude_iterate.core.formats import plural
from claude_iterate.engine.prompt_texts import read_instructions
from claude_iterate.errors import UsageProblem, WorkspaceProblem
from claude_iterate.operations import instructions


@options.command("edit")
@click.option("--goal", metavar="TEXT", help="What should change; Claude then works without a conversation.")
@options.dry_run_option
def command(invocation: Invocation, name: str, goal: str | None, dry_run: bool) -> int:
    """Improve the instructions of the workspace NAME together with Claude.

    The old text is kept as INSTRUCTIONS.md.bak. To change it yourself, edit the file.

    \b
    Examples:
      claude-iterate edit my-task                                talk it over with Claude
      claude-iterate edit my-task --goal 'Leave the docs alone'  without a conversation
    """
    layout = invocation.project.layout(name)
    read_instructions(layout)
    if goal is not None and not goal.strip():
        raise UsageProblem("The goal is empty.", "Say what should change.")
    if goal is None and (output.wants_json() or not has_whole_terminal()):
        why = "cannot be shown as JSON" if output.wants_json() else "needs a terminal"
        raise UsageProblem(
            f"A conversation with Claude {why}.",
            f"Say what should change: claude-iterate edit {name} --goal TEXT",
        )
    asked = options.run_request(invocation, "edit", dry_run=dry_run)
    composed = instructions.compose(invocation.project, layout, asked, goal, TerminalUser())
    if composed.exit_code:
        return composed.exit_code
    if composed.problem:
        raise WorkspaceProblem(f"Claude {composed.problem}.{composed.quote}", "The old instructions were restored.")
    before, after = composed.texts
    added, removed = _differences(before, after)
    figures, figured = f"{plural(added, 'line')} added, {removed} removed", {"added": added, "removed": removed}
    changed = before != after
    if output.wants_json():
        output.document({"name": name, "path": str(layout.instructions), "changed": changed} | figured)
    elif not changed:
        output.result("The instructions were left as they were.")
    elif dry_run:
        output.result(f"Dry run: the change ({figures}) was discarded.")
    else:
        output.success(f"Changed {layout.instructions}: {figures}. The old text: INSTRUCTIONS.md.bak")
        output.note(f"Next: claude-iterate validate {name}")
    return 0


def _differences(before: bytes, after: bytes) -> tuple[int, int]:
    """How many lines came and how many went."""
    old, new = (data.decode("utf-8", "replace").splitlines() for data in (before, after))
    lines = list(difflib.unified_diff(old, new, n=0, lineterm=""))[2:]
    return sum(line.startswith("+") for line in lines), sum(line.startswith("-") for line in lines)
