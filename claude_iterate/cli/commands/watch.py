"""`watch [NAME]`: what runs do, live: on a full screen, or as a plain line for each change."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence

import click

from claude_iterate.cli import options, output
from claude_iterate.cli.invocation import Invocation
from claude_iterate.core.rules.endings import in_words
from claude_iterate.errors import ExpectedError
from claude_iterate.views.screen import glance
from claude_iterate.views.screen.watched_workspace import Seen, WatchedWorkspace
from claude_iterate.workspace.layout import Layout

_PAUSE = 0.5


@click.command("watch")
@options.name_argument_of("workspace", required=False)
@options.flag("--plain", help="One line for each change, also on a terminal.")
@click.pass_obj
def command(invocation: Invocation, workspace: str | None, plain: bool) -> None:
    """Watch the runs of all workspaces, or of one. Keys steer a run as the commands do; q leaves, the run goes on.

    Where there is no terminal, it prints a line for each change and ends with the run that it watches; without a
    WORKSPACE it ends when nothing runs.
    """
    project = invocation.project
    chosen = project.layout(workspace) if workspace is not None else None

    def layouts() -> Sequence[Layout]:
        return [chosen] if chosen is not None else [project.layout(name) for name in project.workspaces()]

    if plain or not (output.is_terminal(sys.stdout) and output.is_terminal(sys.stdin)):
        _print_changes(layouts)
        return
    try:
        from claude_iterate.operations.watching.watch_screen import WatchScreen
    except ImportError as missing:
        raise ExpectedError(f"The full screen needs {missing.name}.", "pip install textual, or use --plain") from None
    WatchScreen(layouts, only=chosen is not None).run()


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
                output.result(output.foreign(" · ".join(part for part in line if part)))
                sys.stdout.flush()
        if not shown:
            output.note("There is no workspace here yet. Make one: claude-iterate setup NAME")
        if not running:
            return
        time.sleep(_PAUSE)


def _line(seen: Seen) -> tuple[str, ...]:
    """What a line tells: nothing that changes every second."""
    row = glance.summary(seen, 0.0)
    state = seen.story.state if seen.story is not None and not seen.alive else None
    cause = in_words(state.finished, state).cause if state is not None and state.finished is not None else ""
    return row.name, row.condition.replace("_", " "), row.iteration, row.progress, cause
