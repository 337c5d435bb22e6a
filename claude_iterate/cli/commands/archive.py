"""`archive save|list|show|restore|delete`: put workspaces away and bring them back."""

from __future__ import annotations

import click

from claude_iterate.cli import output
from claude_iterate.cli.commands import archive_display
from claude_iterate.cli.commands.archive_display import archive_argument, warn_about
from claude_iterate.cli.group import group
from claude_iterate.cli.invocation import Invocation
from claude_iterate.cli.options import json_option, name_argument, name_argument_of
from claude_iterate.cli.terminal import confirmation
from claude_iterate.workspace.archives import archive_creation, archive_list, restoration
from claude_iterate.workspace.files.folders import remove
from claude_iterate.workspace.running import run_lock


@click.command("save")
@name_argument
@click.option("--keep", is_flag=True, help="Keep the workspace as well.")
@json_option
@click.pass_obj
def save(invocation: Invocation, name: str, keep: bool, as_json: bool) -> None:
    """Archive the workspace NAME and delete it. Refused while it runs.

    It is deleted only after the archive was read back from the disk and found whole.
    """
    project = invocation.project
    layout = project.layout(name)
    with run_lock.hold(layout.lock, name, "archive"):
        saved = archive_creation.save(layout, project.archive_folder)
        if not keep:
            remove(layout.folder)
    if as_json:
        output.document(
            {
                "name": saved.path.name.removesuffix(archive_creation.ENDING),
                "workspace": name,
                "path": str(saved.path),
                "kept": keep,
                "outsideLinks": saved.outside_links,
                "leftOut": saved.left_out,
            }
        )
    else:
        output.done(f"Archived {name}: {saved.path}" + ("" if keep else "; the workspace is deleted"))
    warn_about(saved)


@click.command("restore")
@archive_argument
@name_argument_of("workspace", "workspace", required=False)
@click.option(
    "--outside-links",
    is_flag=True,
    help="Also restore symlinks that lead out of the workspace. Only for archives of your own.",
)
@json_option
@click.pass_obj
def restore(
    invocation: Invocation, archive_name: str, workspace: str | None, outside_links: bool, as_json: bool
) -> None:
    """Bring the workspace in ARCHIVE back, as WORKSPACE.

    Without WORKSPACE it is called as it was. The archive stays.
    """
    project = invocation.project
    found = archive_list.find(project.archive_folder, archive_name)
    name = restoration.target_name(found, workspace)
    folder = project.workspaces_folder / name
    warning = restoration.restore(found, folder, outside_links)
    if as_json:
        output.document({"name": name, "path": str(folder), "archive": str(found.path)})
    else:
        output.done(f"Restored the workspace {name}: {folder}")
        output.note(f"Next: claude-iterate show {name}")
    if warning:
        output.warn(warning)


@click.command("delete")
@archive_argument
@click.option("-f", "--force", is_flag=True, help="Do not ask.")
@json_option
@click.pass_obj
def delete(invocation: Invocation, archive_name: str, force: bool, as_json: bool) -> int:
    """Delete ARCHIVE for good."""
    found = archive_list.find(invocation.project.archive_folder, archive_name)
    again = f"claude-iterate archive delete {found.path.name} --force"
    if not force and not confirmation.confirmed(found.path.name, f"Delete {found.path} for good?", again):
        output.note("Nothing was deleted.")
        return 1
    remove(found.path)
    if as_json:
        output.document({"name": found.name, "deleted": str(found.path)})
    else:
        output.done(f"Deleted the archive {found.path}")
    return 0


command = group(
    "archive",
    "Put workspaces away as compressed files, and bring them back.",
    (save, archive_display.listing, archive_display.show, restore, delete),
)
