"""The instructions of a workspace: read before they are replaced, written with a backup, announced when complete."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import count

from claude_iterate.errors import ExpectedError, WorkspaceProblem
from claude_iterate.workspace import metadata
from claude_iterate.workspace.files import atomic
from claude_iterate.workspace.files.folders import writing
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.lifecycle import summary
from claude_iterate.workspace.lifecycle.project import Project
from claude_iterate.workspace.running import run_lock


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


def move_folder_away(layout: Layout) -> None:
    """A folder in the place of the instructions, which an agent may have made, gets the first free name beside it."""
    path = layout.instructions
    if path.is_dir() and not path.is_symlink():
        names = (path.with_name(f"{path.name}.folder{'' if number == 1 else f'-{number}'}") for number in count(1))
        path.rename(next(name for name in names if not name.exists()))


def write(project: Project, layout: Layout | None, name: str, mode: str | None, text: bytes) -> Layout:
    """Write them; a workspace that does not exist is made. The old ones are kept as INSTRUCTIONS.md.bak."""
    if layout is None:
        layout = project.create(name, mode, instructions=text)
        mode = None
    with run_lock.hold(layout.lock, name, "setup"), writing(name, layout.folder):
        move_folder_away(layout)
        if layout.instructions.exists() and layout.instructions.read_bytes() != text:
            atomic.write_bytes(layout.folder / "INSTRUCTIONS.md.bak", layout.instructions.read_bytes())
        atomic.write_bytes(layout.instructions, text)
        summary.note_new_task(layout)
        if mode is not None:
            summary.set_mode(layout, mode)
    return layout


def announce(project: Project, layout: Layout, warn: Callable[[str], None]) -> None:
    """Send the notification `setup_complete`, if the settings want it. It takes seconds at most and never fails."""
    try:
        settings = project.settings_for(layout).settings
    except ExpectedError as problem:
        warn(f"No notification is sent: {problem.message}")
        return
    if not settings.notify.url:
        return
    from claude_iterate.sinks.notifications import notices
    from claude_iterate.sinks.notifications.notification_sink import Notifier

    notifier = Notifier(settings, project.environ, warn)
    notifier.post(notices.setup_complete(layout.name, project.root.name, str(layout.instructions), time.time()))
    notifier.close()
