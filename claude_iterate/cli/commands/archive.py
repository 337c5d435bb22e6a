"""`archive save|list|show|restore|delete`, and `clean`: archive workspaces, delete them, restore them."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import click

from claude_iterate.cli import completion, options, output
from claude_iterate.cli.command_table import group
from claude_iterate.cli.invocation import Invocation, on_terminal
from claude_iterate.cli.output import printable
from claude_iterate.core import names
from claude_iterate.core.formats import moment, plural, size
from claude_iterate.core.tones import state_words
from claude_iterate.project.worktrees import Remains, remains_of
from claude_iterate.system.untrusted_files import remove
from claude_iterate.text import local_times
from claude_iterate.workspace import archives, journal_reader
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project
from claude_iterate.workspace.run_folder import run_lock


def _archives(context: click.Context) -> Iterable[str]:
    """Each archive, and each workspace that has one: its newest is meant then."""
    found = archives.list_names(completion.project_of(context).archive_folder)
    return dict.fromkeys([*map(archives.named_after, found), *found])


archive_argument = click.argument("archive_name", metavar="ARCHIVE", shell_complete=completion.words(_archives))
"""The name of an archive, with or without `.tar.gz`."""


@options.command("save", name_required=True)
@options.flag("--keep", help="Keep the workspace, too.")
@options.force_option
def save(invocation: Invocation, name: str, keep: bool, force: bool) -> None:
    """Archive the workspace NAME and delete it. Asks on a terminal. Refused while it runs.

    It is deleted only after the archive has been read back from the disk and found complete.
    """
    project = invocation.project
    layout = project.layout(name)
    if on_terminal() and not (keep or force):
        options.confirm_deletion(name, f"Archive and delete {layout.folder}? (--keep does not delete it)", "")
    left = _worktree_left(project, layout)
    with run_lock.hold(layout.lock, name, "archive"):
        saved = archives.save(layout, project.archive_folder)
        if not keep:
            remove(layout.folder)
    document = {
        "name": saved.path.name.removesuffix(archives.ENDING),
        "workspace": name,
        "path": str(saved.path),
        "kept": keep,
        "outsideLinks": saved.outside_links,
    }
    said = f"Archived {name}: {saved.path}{'' if keep else '; the workspace is deleted'}"
    _answer(document, said, saved, "Not in the archive", left)


@options.command("clean", name_required=True)
@options.force_option
@options.flag("--no-archive", help="Delete without keeping an archive.")
def clean(invocation: Invocation, name: str, force: bool, no_archive: bool) -> None:
    """Archive the workspace NAME, then delete it. Refused while it runs."""
    project = invocation.project
    layout = project.layout(name)
    if not force:
        question = f"{'Delete' if no_archive else 'Archive and delete'} {layout.folder}?"
        lost = f"its instructions, {len(layout.run_ids())} runs and {len(layout.logs())} logs are lost for good."
        warning = f"Without an archive {lost}" if no_archive else ""
        options.confirm_deletion(name, question, f"claude-iterate clean {name} --force", warning)
    left = _worktree_left(project, layout)
    with run_lock.hold(layout.lock, name, "clean"):
        saved = None if no_archive else archives.save(layout, project.archive_folder)
        remove(layout.folder)
    document = {"name": name, "deleted": str(layout.folder), "archive": str(saved.path) if saved else None}
    kept = f"; its archive is {saved.path}" if saved else ", without an archive."
    _answer(document, f"Deleted {name}{kept}", saved, "What stays", left)


@options.command("list", workspace=False)
def listing(invocation: Invocation) -> None:
    """List the archives of this project, newest first."""
    folder = invocation.project.archive_folder
    rows = [_row(archive) for archive in archives.list_archives(folder)]
    if output.wants_json():
        output.document({"folder": str(folder), "archives": rows})
    elif not rows:
        output.note(f"No archives in {folder}. Make one: claude-iterate archive save NAME")
    else:
        now = time.time()
        output.table([_line(row, now) for row in rows], ("NAME", "WORKSPACE", "ARCHIVED", "SIZE"))
    for row in rows:
        if row["problem"]:
            output.warn(row["problem"])


@options.command("show", workspace=False)
@archive_argument
def show(invocation: Invocation, archive_name: str) -> None:
    """Show what is in ARCHIVE, after checking all of it.

    If ARCHIVE is the name of a workspace, its newest archive is shown.
    """
    archive = archives.find(invocation.project.archive_folder, archive_name, or_newest=True)
    inside = archives.contents(archive)
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
    if output.wants_json():
        output.document(found)
    else:
        _print(found)


@options.command("restore", workspace=False)
@archive_argument
@options.name_argument_of("workspace", required=False)
@options.flag(
    "--outside-links", help="Also restore symlinks that lead out of the workspace. Only for your own archives."
)
def restore(invocation: Invocation, archive_name: str, workspace: str | None, outside_links: bool) -> None:
    """Restore the workspace in ARCHIVE, or as WORKSPACE.

    If ARCHIVE is the name of a workspace, its newest archive is restored. The archive stays.

    \b
    Examples:
      claude-iterate archive restore my-task           its newest archive
      claude-iterate archive restore my-task another   the same, beside the workspace of today
    """
    project = invocation.project
    found = archives.find(project.archive_folder, archive_name, or_newest=True)
    name = names.check_name(workspace or found.workspace)
    folder = project.workspaces_folder / name
    archives.restore(found, folder, outside_links)
    document = {"name": name, "path": str(folder), "archive": str(found.path)}
    said = f"Restored the workspace {name} from {found.name}: {folder}"
    output.answer(document, said, f"Next: claude-iterate show {name}")


@options.command("delete", workspace=False)
@archive_argument
@options.force_option
def delete(invocation: Invocation, archive_name: str, force: bool) -> None:
    """Delete ARCHIVE for good."""
    found = archives.find(invocation.project.archive_folder, archive_name)
    again = f"claude-iterate archive delete {found.path.name} --force"
    if not force:
        options.confirm_deletion(found.path.name, f"Delete {found.path} for good?", again)
    remove(found.path)
    document = {"name": found.name, "deleted": str(found.path)}
    output.answer(document, f"Deleted the archive {found.path}")


def _row(archive: archives.Archive) -> dict[str, Any]:
    return {
        "name": archive.name,
        "workspace": archive.workspace,
        "archivedAt": moment(archive.moment.timestamp()),
        "kind": "folder" if archive.is_folder else "tar",
        "size": archive.size,
        "path": str(archive.path),
        "problem": archive.problem or None,
    }


def _line(row: dict[str, Any], now: float) -> tuple[str, ...]:
    held = "damaged" if row["problem"] else "folder" if row["kind"] == "folder" else size(row["size"] or 0)
    return row["name"], printable(row["workspace"]), local_times.when(row["archivedAt"], now), held


def _print(found: dict[str, Any]) -> None:
    packed = "" if found["size"] is None else f" ({size(found['size'])} packed)"
    things = f"{plural(found['files'], 'file')}, {plural(found['links'], 'link')}"
    iterations = plural(found["iterations"] or 0, "iteration")
    before = f"mode {found['mode']}, {state_words(str(found['status'] or 'new'))}, {iterations}"
    output.result(output.heading(found["name"]))
    for label, text in (
        ("Workspace", found["workspace"]),
        ("Archived", local_times.when(found["archivedAt"], time.time())),
        ("From", found["archivedFrom"]),
        ("Holds", f"{things}, {size(found['contentSize'])}{packed}"),
        ("Was", before if found["mode"] else ""),
        ("Path", found["path"]),
    ):
        if text:
            output.result(f"{label}: {printable(text)}")
    _warn_about(found["outsideLinks"])
    output.note(f"Restore it: claude-iterate archive restore {found['name']}")


def _worktree_left(project: Project, layout: Layout) -> Remains | None:
    """What will stay of the worktree of a workspace that is deleted."""
    last = journal_reader.last_run(layout, ("run",))
    return remains_of(project.root, layout.name, last[1].worktree.made if last is not None else None, project.environ)


def _answer(document: dict[str, Any], said: str, saved: archives.Saved | None, what: str, left: Remains | None) -> None:
    """What was done, the warning that belongs to a new archive, and the commands that merge and remove what is left."""
    steps = {"merge": left.merge or None, "remove": left.remove or None} if left else {"merge": None, "remove": None}
    output.answer(document | steps, said)
    _warn_about(saved.outside_links if saved is not None else [])
    if left is not None:
        output.note(f"{what}: {left.description}. {left.steps}")


def _warn_about(links: list[str]) -> None:
    if links:
        named = f"{', '.join(links[:3])}{', ...' if len(links) > 3 else ''}"
        output.warn(f"The archive holds links that lead outside ({named}). To restore it, add --outside-links.")


archive = group(
    "archive",
    "Archive workspaces as compressed files, and restore them.",
    (save, listing, show, restore, delete),
)
commands = {"archive": archive, "clean": clean}
