"""Shows a run on a console, as the run itself did, while it runs in another process (`attach`).

It is found, followed by its journal, and asked for what the user wants. Nothing is changed by watching. Memory does not
grow with the number of entries.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping
from typing import Any, TextIO

import msgspec

from claude_iterate.core.events import Entry, RunStarted
from claude_iterate.core.settings.declared import Settings
from claude_iterate.core.settings.modes import stop_settings
from claude_iterate.core.state.condition import recorded_settings
from claude_iterate.core.state.fold import reduce
from claude_iterate.core.state.run_state import RunState
from claude_iterate.errors import WorkspaceProblem
from claude_iterate.sinks.console import Console
from claude_iterate.system import untrusted_files
from claude_iterate.system.files import near
from claude_iterate.views.run_view import nothing_to_show
from claude_iterate.workspace import journal_reader
from claude_iterate.workspace.journal_reader import WHOLE, JournalFollower
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.run_folder import control, run_lock
from claude_iterate.workspace.run_folder.run_lock import LIVES

_PATIENCE = 30.0
_POLL = 0.05


def console_for(
    settings: Settings, mode: str, out: TextIO, err: TextIO, environ: Mapping[str, str] = os.environ, **more: Any
) -> Console:
    """The console of a run with these settings. `more` goes to `Console`, and wins."""
    usual: dict[str, Any] = {
        "level": settings.output,
        # In attended mode the live line would cover the question.
        "live": environ.get("TERM") != "dumb" and not settings.attended,
        "attended": settings.attended,
        "clock": not err.isatty(),
        "columns": lambda: shutil.get_terminal_size().columns,
        "place": lambda path: near(path) if os.path.isfile(path) else "",  # noqa: PTH113 - Path may raise
        "stop": stop_settings(settings, mode),
    }
    return Console(out, err, **(usual | more))


def recorded_console(
    started: RunStarted, out: TextIO, err: TextIO, level: str = "", color: bool = True, **more: Any
) -> Console:
    """The console that a recorded run had. `level`: another one than it was started with."""
    settings = recorded_settings(started)
    level, color = level or settings.output, color and settings.colors
    return console_for(settings, started.mode, out, err, level=level, color=color, **more)


class ShownRun(msgspec.Struct, frozen=True):
    """The run of a workspace that can be shown: the one under way, else the last one."""

    run: str
    started: RunStarted
    is_alive: bool


def recorded_beginning(layout: Layout, run: str) -> RunStarted:
    """How a recorded run began; a WorkspaceProblem where that cannot be read."""
    path = layout.journal(run)
    if untrusted_files.is_file(path):
        journal_reader.refuse_newer(layout, run)
        if (started := journal_reader.beginning(path)) is not None:
            return started
    why = "has no beginning that can be read" if untrusted_files.is_file(path) else "is missing"
    other = f"Choose another run: claude-iterate logs {layout.name} --list"
    raise WorkspaceProblem(f"The journal of run {run} {why}: {path}", other)


def find_run(layout: Layout) -> ShownRun:
    """The run to show; one that is about to begin is waited for. A WorkspaceProblem when there is none."""
    deadline = time.monotonic() + _PATIENCE
    while (holder := run_lock.holder(layout.lock)) is not None:
        run = holder.run
        started = journal_reader.beginning(layout.journal(run)) if run else None
        if started is not None:
            journal_reader.refuse_newer_journals(layout)
            return ShownRun(run, started, is_alive=True)
        if time.monotonic() > deadline:
            raise WorkspaceProblem(
                f"The workspace {layout.name!r} is busy ({run or 'unknown'}), but no run has begun.",
                f"Try again in a moment, or see: claude-iterate show {layout.name}",
            )
        time.sleep(_POLL)
    journal_reader.refuse_newer_journals(layout)
    run = next(journal_reader.newest_runs(layout), "")
    started = journal_reader.beginning(layout.journal(run)) if run else None
    if started is not None:
        return ShownRun(run, started, is_alive=False)
    raise nothing_to_show(layout)


class AttachedRun:
    """A run under way on a console of ours."""

    def __init__(self, layout: Layout, run: str, console: Console) -> None:
        self._layout = layout
        self._run = run
        self._console = console
        self._journal = JournalFollower(layout.journal(run), WHOLE)
        self._last: Entry | None = None
        self._asked: list[str] = []
        self.state = RunState()
        """What its entries come to so far."""

    def catch_up(self) -> None:
        """Show what happened before; the live line stands for now only."""
        self._console.behind = True
        self._show_news()
        self._console.behind = False

    def look(self, live: bool = True) -> bool:
        """Show what is new. False when nothing more can come: it has ended, or it was killed. `live`: the live line is
        drawn, too."""
        alive = self._holds()  # asked before reading, so that the last entries are not missed
        self._console.behind = not live
        self._show_news()
        if live and self._last is not None and self.state.finished is None:
            self._console.tick(self._last.elapsed + max(0.0, time.time() - self._last.at))
        return alive and self.state.finished is None

    def _show_news(self) -> None:
        for entry in self._journal.entries():
            self.state, self._last = reduce(self.state, entry), entry
            self._console(entry, self.state)

    def ask(self, verb: str, now: bool = False) -> None:
        """Make a request. What the run says to it comes by its journal."""
        self._asked.append(control.post(self._layout, self._run, verb, now))

    def close(self) -> None:
        """Leave the terminal clean, and no request that nobody will find."""
        is_over = bool(self._asked) and not self._holds()
        for identity in self._asked:
            if is_over:
                control.withdraw(self._layout, identity)
            control.take_answer(self._layout, identity)
        self._console.close()

    def await_release(self) -> None:
        """After its end: until its process has put everything away, so that the next command finds it so."""
        deadline = time.monotonic() + _PATIENCE
        while self._holds() and time.monotonic() < deadline:
            time.sleep(_POLL)

    def _holds(self) -> bool:
        holder = run_lock.holder(self._layout.lock)
        if holder is None and self.state.started is not None:
            # Its folder, lock or journal may have been deleted: it puts them back when Claude has ended.
            started = self.state.started
            return self.state.finished is None and run_lock.fate(started) == LIVES
        return holder is not None and holder.runs(self._run)
