"""`trust NAME`: see what changed while Claude worked in a sandbox and decides about later runs, and accept it."""

from __future__ import annotations

import click

from claude_iterate.cli import options, output
from claude_iterate.cli.invocation import Invocation, on_terminal
from claude_iterate.core.formats import plural
from claude_iterate.engine import trust


@options.command("trust", name_required=True)
@options.force_option
def command(invocation: Invocation, name: str, force: bool) -> int:
    """Show which settings changed while Claude worked in a sandbox, and accept them.

    Until then no run of the project starts. To refuse a change, remove the file or restore it.
    """
    project = invocation.project
    layout = project.layout(name)
    changed = trust.changed_paths(project, layout)
    if not changed:
        output.answer({"changed": [], "accepted": False}, "There is nothing to accept.")
        return 0
    if not output.wants_json():
        for line in trust.show_changes(project, layout):
            output.result(line)
    accepted = force or (on_terminal() and click.confirm("Accept all of this?", err=True))
    if not accepted:
        output.note(f"Nothing was accepted. To accept it: claude-iterate trust {name} --force")
        return 1
    trust.accept(project)
    then = f"Next: claude-iterate run {name}"
    output.answer({"changed": changed, "accepted": True}, f"Accepted {plural(len(changed), 'change')}.", then)
    return 0
