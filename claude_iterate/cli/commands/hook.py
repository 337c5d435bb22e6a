"""`hook list` and `hook test`: which programs a run would call, and what one of them does."""

from __future__ import annotations

from typing import Any

import click

from claude_iterate.cli import options, output
from claude_iterate.cli.command_table import group
from claude_iterate.cli.invocation import Invocation
from claude_iterate.core.events import HookFinished
from claude_iterate.core.events.enums import Meaning, Point
from claude_iterate.core.formats import duration
from claude_iterate.errors import WorkspaceProblem
from claude_iterate.operations.hooks import try_hook
from claude_iterate.workspace.run_folder import hook_files
from claude_iterate.workspace.run_folder.hook_files import HookFile

_POINTS = [str(point) for point in hook_files.POINTS]
_MEANS = {
    Meaning.GO_ON: "The run would continue.",
    Meaning.SKIP: "The iteration would be skipped.",
    Meaning.ABORT: "The run would end with hook_abort.",
    Meaning.FAILED: "The run would warn and continue.",
}
_HELP = "The workspace; its own hooks run after the project's."


@options.command("list", workspace=False)
@options.workspace_option(help=_HELP)
def list_(invocation: Invocation, workspace: str | None) -> None:
    """List the hooks that a run would call, in order, and files that only look like hooks."""
    project = invocation.project
    settings, own = project.resolved.settings, None
    if workspace is not None:
        layout = project.layout(workspace)
        settings, own = project.settings_for(layout).settings, layout.folder
    found = hook_files.find(project.root, own)
    if output.wants_json():
        output.document({"enabled": settings.hooks.enabled, "hooks": [_document(file) for file in found]})
        return
    if found:
        rows = [(file.point, file.scope, file.shown, file.problem or "runs") for file in found]
        output.table(rows, ("POINT", "OF", "FILE", ""))
        for file in found:
            if file.problem:
                output.warn(f"{file.shown}: {file.fix}")
    else:
        places = " or ".join(str(folder) for _, folder in hook_files.folders(project.root, own))
        output.note(f"No hooks. A hook is an executable file named {' or '.join(_POINTS)} in {places}.")
    if not settings.hooks.enabled:
        output.warn("Hooks are off. Turn them on: claude-iterate config hooks.enabled true")


def _document(file: HookFile) -> dict[str, Any]:
    return {
        "point": str(file.point),
        "scope": file.scope,
        "path": str(file.path),
        "runs": not file.problem,
        "problem": file.problem or None,
    }


@options.command("test", workspace=False)
@click.argument("point", type=click.Choice(_POINTS))
@options.workspace_option(help=_HELP, required=True)
def test(invocation: Invocation, point: str, workspace: str) -> int:
    """Call the hooks of a point now, as after the last run. Exit code 1 if one of them fails or would end the run.

    \b
    Example:
      claude-iterate hook test finished -w my-task
    """
    project = invocation.project
    layout = project.layout(workspace)
    settings = project.settings_for(layout).settings
    found = [file for file in hook_files.find(project.root, layout.folder) if file.point == Point(point)]
    if not found:
        raise WorkspaceProblem(f"There is no hook {point}.", f"See: claude-iterate hook list -w {workspace}")
    rows: list[dict[str, Any]] = []
    for file in found:
        if file.problem:
            raise WorkspaceProblem(f"{file.shown} is not run: {file.problem}.", file.fix)
        done = try_hook(project, layout, settings, file)
        rows.append({**_document(file), "code": done.code, "means": str(done.means), "output": done.output})
        rows[-1] |= {"seconds": round(done.duration, 3), "problem": done.problem or None}
        if not output.wants_json():
            _tell(file, done)
        if done.means not in {Meaning.GO_ON, Meaning.FAILED}:
            break
    if output.wants_json():
        output.document({"hooks": rows})
    return 1 if any(row["means"] in {Meaning.FAILED, Meaning.ABORT} or row["code"] is None for row in rows) else 0


def _tell(file: HookFile, done: HookFinished) -> None:
    if done.output.strip():
        output.result(output.sanitize(done.output.rstrip()))
    not_ended = f"could not be started: {done.problem}" if done.problem else "did not end in time"
    how = f"exit code {done.code}" if done.code is not None else not_ended
    means = _MEANS.get(done.means, "")
    if file.point == Point.FINISHED and done.means == Meaning.FAILED:
        means = "The run would warn; it is over by then."
    output.note(f"{file.shown}: {how} ({duration(done.duration)}). {means}".rstrip())


command = group("hook", "List and test your hooks.", [list_, test])
