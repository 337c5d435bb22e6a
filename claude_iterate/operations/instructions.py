"""The instructions of a workspace: read before they are replaced, written with a backup, announced when complete."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from claude_iterate.errors import ExpectedError, WorkspaceProblem
from claude_iterate.progress.git_commands import Git, GitProblem
from claude_iterate.sinks.notifications import notices
from claude_iterate.sinks.notifications.notification_sink import Notifier
from claude_iterate.workspace import metadata, metadata_updates
from claude_iterate.workspace.files import atomic
from claude_iterate.workspace.files.folders import writing
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project
from claude_iterate.workspace.run_folder import run_lock
from claude_iterate.workspace.settings_files import settings_writer


def present(layout: Layout, replaces: bool = False) -> bytes | None:
    """The instructions as they are now; None when there are none, and with `replaces` also for a folder in their
    place."""
    if layout.metadata.exists():  # `setup` makes it where there is none
        metadata.read(layout.metadata)  # a damaged workspace must be fixed first
    try:
        return layout.instructions.read_bytes()
    except FileNotFoundError:
        return None
    except IsADirectoryError:
        if replaces:
            return None
        raise WorkspaceProblem(
            f"{layout.instructions} is a folder.",
            f"Put instructions in its place; the folder is kept: claude-iterate setup {layout.name} --force",
        ) from None
    except OSError as error:
        raise WorkspaceProblem(
            f"{layout.instructions} cannot be read: {error.strerror}.", "Move it away, or check its permissions."
        ) from None


def how_to_commit(project: Project, layout: Layout) -> str:
    """The command that adds the workspace to git. Empty when git has its instructions or ignores them, and where there
    is no repository."""
    try:
        git = Git(str(layout.folder), project.environ)
        if not git.line("ls-files", "-o", "--exclude-standard", "--", layout.instructions.name):
            return ""
    except GitProblem:
        return ""
    here = Path.cwd().is_relative_to(project.root)
    call = "git" if here else f"git -C {shlex.quote(str(project.root))}"
    folder = shlex.quote(os.path.relpath(layout.folder) if here else str(layout.folder))
    return f"{call} add {folder} && {call} commit -m {shlex.quote(f'Task {layout.name}')} -- {folder}"


def move_folder_away(layout: Layout) -> None:
    """A folder in the place of the instructions, which an agent may have made, gets the first free name beside it."""
    path = layout.instructions
    if path.is_dir() and not path.is_symlink():
        names = (path.with_name(f"{path.name}.folder{'' if number == 1 else f'-{number}'}") for number in count(1))
        path.rename(next(name for name in names if not name.exists()))


def write(
    project: Project, layout: Layout | None, name: str, mode: str | None, text: bytes, settings: Mapping[str, Any]
) -> Layout:
    """Write them; a workspace that does not exist is made. The old ones are kept as INSTRUCTIONS.md.bak."""
    if layout is None:
        layout = project.create(name, mode, settings, instructions=text)
        mode, settings = None, {}
    with run_lock.hold(layout.lock, name, "setup"), writing(name, layout.folder):
        move_folder_away(layout)
        if layout.instructions.exists() and layout.instructions.read_bytes() != text:
            atomic.write_bytes(layout.folder / "INSTRUCTIONS.md.bak", layout.instructions.read_bytes())
        atomic.write_bytes(layout.instructions, text)
        metadata_updates.note_new_task(layout)
        _change(layout, mode, settings)
    return layout


def change_workspace(layout: Layout, mode: str | None, settings: Mapping[str, Any]) -> None:
    """The mode decides which prompts Claude gets, so it changes before Claude is called."""
    with run_lock.hold(layout.lock, layout.name, "setup"):
        _change(layout, mode, settings)


def _change(layout: Layout, mode: str | None, settings: Mapping[str, Any]) -> None:
    for key, value in settings.items():
        settings_writer.set_value(layout.metadata, key, value)
    if mode is not None:
        about = metadata.read(layout.metadata)
        about.document["mode"] = mode
        metadata.write(layout.metadata, about)


def announce(project: Project, layout: Layout, warn: Callable[[str], None]) -> None:
    """Send the notification `setup_complete`, if the settings want it. It takes seconds at most and never fails."""
    try:
        settings = project.settings_for(layout).settings
    except ExpectedError as problem:
        warn(f"No notification is sent: {problem.message}")
        return
    if not settings.notify.url:
        return
    notifier = Notifier(settings, project.environ, warn)
    notifier.post(notices.setup_complete(layout.name, project.root.name, str(layout.instructions), time.time()))
    notifier.close()
