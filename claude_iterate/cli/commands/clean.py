"""`clean NAME`: archive a workspace, then delete it."""

from __future__ import annotations

from claude_iterate.cli import options, output
from claude_iterate.cli.commands.archive import warn_about
from claude_iterate.cli.invocation import Invocation
from claude_iterate.cli.terminal import questions
from claude_iterate.project.worktrees import remains
from claude_iterate.workspace import archives
from claude_iterate.workspace.files.folders import remove
from claude_iterate.workspace.journal import reader
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.run_folder import run_lock


@options.command("clean", name_required=True)
@options.force_option
@options.flag("--no-archive", help="Delete without keeping an archive.")
def command(invocation: Invocation, name: str, force: bool, no_archive: bool, as_json: bool) -> None:
    """Archive the workspace NAME, then delete it. Refused while it runs."""
    project = invocation.project
    layout = project.layout(name)
    if not force:
        _confirm(layout, no_archive)
    last, saved = reader.last_run(layout, ("run",)), None
    with run_lock.hold(layout.lock, name, "clean"):
        if not no_archive:
            saved = archives.save(layout, project.archive_folder)
        remove(layout.folder)
    made = last[1].worktree.made if last is not None else None
    left = remains(project.root, made.path, made.branch, project.environ) if made is not None else None
    document = {"name": name, "deleted": str(layout.folder), "archive": str(saved.path) if saved else None}
    document["remove"] = left.remove or None if left is not None else None
    kept = f"; its archive is {saved.path}" if saved else ", without an archive."
    output.answer(as_json, document, f"Deleted {name}{kept}")
    if saved:
        warn_about(saved)
    if left is not None and left.remove:
        output.note(f"{left.described} Remove it: {left.remove}")


def _confirm(layout: Layout, no_archive: bool) -> None:
    runs, logs = len(layout.run_ids()), len(layout.logs())
    loss = f"Without an archive its instructions, {runs} runs and {logs} logs are lost for good." if no_archive else ""
    question = f"{'Delete' if no_archive else 'Archive and delete'} {layout.folder}?"
    questions.confirm_deletion(layout.name, question, f"claude-iterate clean {layout.name} --force", loss)
