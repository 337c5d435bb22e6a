"""`reset NAME` or `reset --all`: counters to 0, a stale claim of completion out of the way."""

from __future__ import annotations

from typing import Any

from claude_iterate.cli import options, output
from claude_iterate.cli.invocation import Invocation
from claude_iterate.errors import ExpectedError, UsageProblem
from claude_iterate.workspace import metadata_updates


@options.command("reset", workspace=False)
@options.name_argument_of("workspace", required=False)
@options.flag("--all", "every", help="Reset all workspaces of the project.")
def command(invocation: Invocation, workspace: str | None, every: bool) -> int:
    """Set the counters of a workspace to 0, and move its old status report aside. Logs, runs and money spent stay."""
    if every == (workspace is not None):
        raise UsageProblem(
            "Name one workspace, or give --all.", "For example: claude-iterate reset my-task. See: claude-iterate list"
        )
    if workspace is not None:
        changes = metadata_updates.reset(invocation.project.layout(workspace))
        said = f"Reset {workspace}: {', '.join(changes)}."
        output.answer({"name": workspace, "done": changes}, said, f"Next: claude-iterate run {workspace}")
        return 0
    project = invocation.project
    rows: list[dict[str, Any]] = []
    for name in project.workspaces():
        # One that cannot be reset, for example because it runs, does not keep the others from it.
        try:
            rows.append({"name": name, "done": metadata_updates.reset(project.layout(name)), "problem": None})
        except ExpectedError as problem:
            rows.append({"name": name, "done": [], "problem": problem.message})
            output.warn(f"{name} was not reset: {problem.message} {problem.hint}".rstrip())
    if output.wants_json():
        output.document({"workspaces": rows})
    elif not rows:
        output.note(f"No workspaces in {project.root}. Make one: claude-iterate setup NAME")
    else:
        for row in rows:
            if row["problem"] is None:
                output.success(f"Reset {row['name']}: {', '.join(row['done'])}.")
    return 1 if any(row["problem"] is not None for row in rows) else 0
