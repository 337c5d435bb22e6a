"""A run that another process shows: which one it is, what its journal adds, whether it goes on, requests to it.

Nothing is changed by looking. A request is a file as any command writes it, and its answer is taken away again.
"""

from __future__ import annotations

import time

import msgspec

from claude_iterate.core.events import RunFinished, RunStarted
from claude_iterate.core.events.run import JOURNAL_FORMAT
from claude_iterate.core.state.run_state import RunState
from claude_iterate.errors import WorkspaceProblem
from claude_iterate.operations.playback import ConsolePlayback
from claude_iterate.sinks.console.console import Console
from claude_iterate.workspace import metadata
from claude_iterate.workspace.journal import reader
from claude_iterate.workspace.journal.reader import JournalFollower
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.run_folder import control, run_lock, runner
from claude_iterate.workspace.run_folder.runner import LIVES

WHOLE = 1024 * 1024
"""Bytes at the end of a long journal that are shown whole; of the rest, what the run itself did."""
_PATIENCE = 30.0
_MOMENT = 3.0
_POLL = 0.05


class ShownRun(msgspec.Struct, frozen=True):
    """The run of a workspace that can be shown: the one under way, else the last one."""

    run: str
    started: RunStarted
    is_alive: bool


def find_run(layout: Layout) -> ShownRun:
    """The run to show; one that is about to begin is waited for. A WorkspaceProblem when there is none."""
    deadline = time.monotonic() + _PATIENCE
    while (holder := run_lock.holder(layout.lock)) is not None:
        run = str(holder.get("run", ""))
        started = reader.beginning(layout.journal(run)) if run else None
        if started is not None:
            _refuse_newer(layout)
            return ShownRun(run, started, is_alive=True)
        if time.monotonic() > deadline:
            raise WorkspaceProblem(
                f"The workspace {layout.name!r} is busy ({run or 'unknown'}), but no run has begun.",
                f"Try again in a moment, or see: claude-iterate show {layout.name}",
            )
        time.sleep(_POLL)
    _refuse_newer(layout)
    run = next(reader.newest_runs(layout), "")
    started = reader.beginning(layout.journal(run)) if run else None
    if started is None:
        raise _no_run(layout)
    return ShownRun(run, started, is_alive=False)


def _refuse_newer(layout: Layout) -> None:
    run, form = reader.newest_format(layout)
    metadata.refuse_newer(form, JOURNAL_FORMAT, f"The journal of run {run}")


def _no_run(layout: Layout) -> WorkspaceProblem:
    name = layout.name
    if torn := [run for run in layout.run_ids() if layout.journal(run).is_file()]:
        said = f"Nothing runs in {name}, and the journal of its last run, {torn[-1]}, has lost its beginning."
        return WorkspaceProblem(said, f"Its log may be whole: claude-iterate logs {name} --run {torn[-1]}")
    return WorkspaceProblem(f"{name} has no run yet.", f"Begin one: claude-iterate run {name} --detach")


class AttachedRun:
    """A run under way on a console of ours."""

    def __init__(self, layout: Layout, run: str, console: Console) -> None:
        self._layout = layout
        self._run = run
        self._console = console
        self._journal = JournalFollower(layout.journal(run), WHOLE)
        self._playback = ConsolePlayback(console)
        self._open: list[str] = []

    @property
    def state(self) -> RunState:
        """What its entries come to so far."""
        return self._playback.state

    @property
    def finished(self) -> RunFinished | None:
        """How it ended, once it has."""
        return self.state.finished

    def catch_up(self) -> None:
        """Show what happened before; the live line stands for now only."""
        self._console.behind = True
        self._playback.show(self._journal.entries())
        self._console.behind = False

    def look(self, live: bool = True) -> bool:
        """Show what is new. False when nothing more can come: it has ended, or it was killed. `live`: the live line is
        drawn, too."""
        alive = self._holds()  # asked before reading, so that the last entries are not missed
        self._console.behind = not live
        self._playback.show(self._journal.entries())
        self._take_answers()
        last = self._playback.last
        if live and last is not None and self.finished is None:
            self._console.tick(last.elapsed + max(0.0, time.time() - last.at))
        return alive and self.finished is None

    def ask(self, verb: str, now: bool = False) -> None:
        """Make a request. What the run says to it comes by its journal."""
        self._open.append(control.post(self._layout, self._run, verb, now))

    def close(self) -> None:
        """Leave the terminal clean, and no file of ours. A request stays only if the run is suspended: it finds it."""
        deadline = time.monotonic() + _MOMENT
        while self._open and self._holds() and time.monotonic() < deadline:
            self._take_answers()
            time.sleep(_POLL)
        for identity in self._open if self._open and not self._holds() else ():
            control.withdraw(self._layout, identity)
            control.take_answer(self._layout, identity)
        self._console.close()

    def await_release(self) -> None:
        """After its end: until its process has put everything away, so that the next command finds it so."""
        deadline = time.monotonic() + _PATIENCE
        while self._holds() and time.monotonic() < deadline:
            time.sleep(_POLL)

    def _take_answers(self) -> None:
        for identity in [known for known in self._open if control.is_taken(self._layout, known)]:
            control.take_answer(self._layout, identity)
            self._open.remove(identity)

    def _holds(self) -> bool:
        holder = run_lock.holder(self._layout.lock)
        if holder is None and self.state.started is not None:
            # Its folder, lock or journal may have been deleted: it puts them back when Claude has ended.
            started = self.state.started
            return self.finished is None and runner.fate(started.pid, started.host, started.birth) == LIVES
        return holder is not None and holder.get("run", self._run) == self._run
