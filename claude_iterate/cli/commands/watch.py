"""`watch [NAME]`: what runs do, live: on a full screen, or as a plain line for each change."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence

import click

from claude_iterate.cli import options, output
from claude_iterate.cli.invocation import Invocation
from claude_iterate.errors import ExpectedError
from claude_iterate.views import watched_workspace
from claude_iterate.views.watched_workspace import Seen, WatchedWorkspace
from claude_iterate.workspace.layout import Layout

_PAUSE = 0.5


@options.command("watch", workspace=False, json="")
@options.name_argument_of("workspace", required=False)
@options.flag("--plain", help="One line for each change, also on a terminal.")
def command(invocation: Invocation, workspace: str | None, plain: bool) -> None:
    """Watch the runs of all workspaces, or of one. Keys steer a run as the commands do; q leaves; the run continues.

    Without a terminal it prints a line for each change, and ends when no run is left.
    """
    project = invocation.project
    chosen = project.layout(workspace) if workspace is not None else None

    def layouts() -> Sequence[Layout]:
        return [chosen] if chosen is not None else [project.layout(name) for name in project.workspaces()]

    watch_runs(layouts, only=chosen is not None, plain=plain)


def watch_runs(layouts: Callable[[], Sequence[Layout]], only: bool, plain: bool = False, asks: bool = False) -> None:
    """Until the user leaves; without a terminal until nothing runs. `only`: one workspace. `asks`: Ctrl-C asks whether
    to leave or to stop the run."""
    small = os.environ.get("TERM") == "dumb" or not (output.is_terminal(sys.stdout) and output.is_terminal(sys.stdin))
    if plain or small:
        _print_changes(layouts)
        return
    try:
        from claude_iterate.operations.watch_screen import WatchScreen
    except ImportError as missing:
        raise ExpectedError(f"The full screen needs {missing.name}.", "pip install textual, or use --plain") from None
    if click.get_current_context().color is False:
        os.environ["NO_COLOR"] = "1"  # Textual looks there
    WatchScreen(layouts, only, asks).run()


def _print_changes(layouts: Callable[[], Sequence[Layout]]) -> None:
    """A line when the state, the iteration or the progress of a workspace changes, until nothing runs."""
    watched: dict[str, WatchedWorkspace] = {}
    shown: dict[str, tuple[str, ...]] = {}
    while True:
        running = False
        for layout in layouts():
            found = watched.setdefault(layout.name, WatchedWorkspace(layout)).look()
            running = running or found.alive
            line = _line(found)
            if shown.get(layout.name) != line:
                shown[layout.name] = line
                output.result(output.sanitize(" · ".join(part for part in line if part)))
                sys.stdout.flush()
        if not shown:
            output.note("There is no workspace here yet. Make one: claude-iterate setup NAME")
        if not running:
            return
        time.sleep(_PAUSE)


def _line(seen: Seen) -> tuple[str, ...]:
    """What a line tells: nothing that changes every second."""
    name, state, _, items, number, *_ = watched_workspace.row(seen, 0.0)
    cause, step = watched_workspace.ending(seen)
    killed = seen.story is not None and seen.story.state.finished is None
    cause = f"next: {step}" if step and killed else cause
    return name, state, f"iteration {number}" if number else "", items, cause
