"""`clean NAME`: archive a workspace, then delete it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import click

from claude_iterate.cli import output
from claude_iterate.cli.invocation import Invocation, on_terminal
from claude_iterate.cli.options import json_option, name_argument
from claude_iterate.errors import UsageProblem, WorkspaceProblem
from claude_iterate.workspace import archive, lock
from claude_iterate.workspace.layout import Layout


@click.command("clean")
@name_argument
@click.option("-f", "--force", is_flag=True, help="Do not ask.")
@click.option("--no-archive", is_flag=True, help="Delete without keeping an archive.")
@json_option
@click.pass_obj
def command(invocation: Invocation, name: str, force: bool, no_archive: bool, as_json: bool) -> int:
    """Archive the workspace NAME, then delete it. Refused while it runs."""
    project = invocation.project
    layout = project.layout(name)
    if not force and not _agreed(layout, no_archive):
        output.note("Nothing was deleted.")
        return 1
    saved: Path | None = None
    with lock.hold(layout.lock, name, "clean"):
        if not no_archive:
            saved = archive.save(layout, project.archive_folder)
        _delete(layout)
    if as_json:
        output.document({"name": name, "deleted": str(layout.folder), "archive": str(saved) if saved else None})
    elif saved:
        output.done(f"Deleted {name}; its archive is {saved}")
    else:
        output.done(f"Deleted {name}, without an archive.")
    return 0


def _agreed(layout: Layout, no_archive: bool) -> bool:
    if not on_terminal():
        raise UsageProblem(
            f"Deleting {layout.name} must be confirmed, and there is no terminal to ask on.",
            f"If you are sure: claude-iterate clean {layout.name} --force",
        )
    question = f"Archive and delete {layout.folder}?"
    if no_archive:
        runs, logs = len(layout.run_ids()), len(layout.logs())
        output.warn(f"Without an archive its instructions, {runs} runs and {logs} logs are lost for good.")
        question = f"Delete {layout.folder}?"
    return click.confirm(question, err=True)


def _delete(layout: Layout) -> None:
    """Out of sight in one step, then away: a failure half-way leaves no half workspace in the list."""
    here = layout.folder
    # Renamed within its folder: a read-only folder may not be moved into another one.
    doomed = here.with_name(f".{layout.name}.deleted.{os.getpid()}")
    try:
        if here.is_symlink():
            here.unlink()
            return
        here = here.rename(doomed)
        shutil.rmtree(doomed)
    except OSError as error:
        raise WorkspaceProblem(
            f"{here} could not be deleted: {error.strerror}.",
            f"Check the permissions of {here.parent} and what is in it, then delete {here} by hand.",
        ) from None
