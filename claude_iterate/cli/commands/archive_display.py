"""`archive list` and `archive show`. They look and change nothing."""

from __future__ import annotations

from typing import Any

import click

from claude_iterate.cli import output
from claude_iterate.cli.invocation import Invocation
from claude_iterate.cli.options import json_option
from claude_iterate.cli.output import printable
from claude_iterate.core.formats import counted, moment, size
from claude_iterate.workspace.archives import archive_list, restoration
from claude_iterate.workspace.archives.archive_creation import Saved


def _checked(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    return archive_list.checked(value)


archive_argument = click.argument("archive_name", metavar="ARCHIVE", callback=_checked)
"""The name of an archive, with or without `.tar.gz`; a bad one is refused before the command begins."""


@click.command("list")
@json_option
@click.pass_obj
def listing(invocation: Invocation, as_json: bool) -> None:
    """List the archives of this project, newest first."""
    folder = invocation.project.archive_folder
    rows = [_row(archive) for archive in archive_list.archives(folder)]
    if as_json:
        output.document({"folder": str(folder), "archives": rows})
    elif not rows:
        output.note(f"No archives in {folder}. Make one: claude-iterate archive save NAME")
    else:
        output.table([_line(row) for row in rows], ("NAME", "WORKSPACE", "ARCHIVED", "SIZE"))
    for row in rows:
        if row["problem"]:
            output.warn(printable(row["problem"]))


@click.command("show")
@archive_argument
@json_option
@click.pass_obj
def show(invocation: Invocation, archive_name: str, as_json: bool) -> None:
    """Show what is in ARCHIVE, having read all of it."""
    archive = archive_list.find(invocation.project.archive_folder, archive_name)
    inside = restoration.contents(archive)
    found = _row(archive) | {
        "archivedFrom": archive.manifest.get("archivedFrom"),
        "files": inside.files,
        "links": inside.links,
        "contentSize": inside.size,
        "outsideLinks": inside.outside_links,
        "mode": inside.metadata.get("mode"),
        "status": inside.metadata.get("status"),
        "iterations": inside.metadata.get("executionIterations"),
    }
    if as_json:
        output.document(found)
    else:
        _print(found)


def _row(archive: archive_list.Archive) -> dict[str, Any]:
    return {
        "name": archive.name,
        "workspace": archive.workspace,
        "archivedAt": moment(archive.moment.timestamp()),
        "kind": "folder" if archive.is_folder else "tar",
        "size": archive.size,
        "path": str(archive.path),
        "problem": archive.problem or None,
    }


def _line(row: dict[str, Any]) -> tuple[str, ...]:
    amount = "folder" if row["kind"] == "folder" else size(row["size"] or 0)
    return row["name"], printable(row["workspace"]), row["archivedAt"], "damaged" if row["problem"] else amount


def _print(found: dict[str, Any]) -> None:
    output.result(output.heading(found["name"]))
    output.result(f"Workspace: {printable(found['workspace'])}")
    output.result(f"Archived: {found['archivedAt']}")
    if found["archivedFrom"]:
        output.result(f"From: {printable(found['archivedFrom'])}")
    packed = "" if found["size"] is None else f" ({size(found['size'])} packed)"
    things = f"{counted(found['files'], 'file')}, {counted(found['links'], 'link')}"
    output.result(f"Holds: {things}, {size(found['contentSize'])}{packed}")
    if found["mode"]:
        before = f"Was: mode {found['mode']}, {found['status']}, {found['iterations'] or 0} iterations"
        output.result(printable(before))
    output.result(f"Path: {found['path']}")
    if found["outsideLinks"]:
        links = ", ".join(printable(link) for link in found["outsideLinks"][:3])
        output.warn(f"Holds links that lead outside ({links}); `restore` needs --outside-links.")
    output.note(f"Bring it back: claude-iterate archive restore {found['name']}")


def warn_about(saved: Saved) -> None:
    """Warnings that belong to a new archive."""
    if saved.outside_links:
        count = len(saved.outside_links)
        links = f"a link that leads outside ({saved.outside_links[0]})"
        if count > 1:
            links = f"{count} links that lead outside ({saved.outside_links[0]}, ...)"
        output.warn(f"The archive holds {links}. To restore it, add --outside-links.")
    if saved.left_out:
        output.warn(
            f"Not archived, because pipes, sockets and devices have no content: {', '.join(saved.left_out[:5])}"
        )
