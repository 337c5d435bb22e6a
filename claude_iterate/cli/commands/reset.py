"""`reset NAME`: counters to 0, a stale claim of completion out of the way."""

from __future__ import annotations

from claude_iterate.cli import options, output
from claude_iterate.cli.invocation import Invocation
from claude_iterate.workspace.lifecycle import summary


@options.command("reset")
def command(invocation: Invocation, name: str, as_json: bool) -> None:
    """Set NAME's counters to 0 and its old status report aside. Logs, runs and money spent stay."""
    changes = summary.reset(invocation.project.layout(name))
    said = f"Reset {name}: {', '.join(changes)}."
    output.answer(as_json, {"name": name, "done": changes}, said, f"Next: claude-iterate run {name}")
