"""The public Python interface: start runs, follow them, steer them, read what came of them. No click.

Semantic versioning applies to every name in `__all__`, to what these classes offer without a leading underscore, and to
the fields of the views and events that they return. All other modules of the package are internal.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from claude_iterate.core import events
from claude_iterate.core.events import Entry
from claude_iterate.core.events.enums import exit_code
from claude_iterate.core.rules.next_steps import CommandLine
from claude_iterate.core.settings.layers import layer_from_document
from claude_iterate.core.settings.modes import MODES
from claude_iterate.engine.run_request import RunRequest
from claude_iterate.errors import ExpectedError, UsageProblem, WorkspaceProblem
from claude_iterate.operations import steering
from claude_iterate.operations.run_processes import Began, Noted, Refused, RunProcess
from claude_iterate.operations.steering import Reply
from claude_iterate.views import history_view, run_view, workspace_view
from claude_iterate.views.history_view import HistoryView
from claude_iterate.views.run_view import RunsView, RunView
from claude_iterate.views.story import RunRecords
from claude_iterate.views.workspace_view import ListingView, WorkspaceView
from claude_iterate.workspace import project as projects
from claude_iterate.workspace.journal_reader import JournalFollower
from claude_iterate.workspace.layout import Layout, project_root
from claude_iterate.workspace.run_folder import control, notes, run_lock

__all__ = [
    "Entry",
    "ExpectedError",
    "HistoryView",
    "ListingView",
    "Project",
    "Reply",
    "Run",
    "RunView",
    "RunsView",
    "Workspace",
    "WorkspaceView",
    "events",
]

_POLL = 0.1


class Project:
    """A project: the nearest folder, from `folder` upwards, that has workspaces or settings of claude-iterate; else
    `folder` itself. `environ` takes the place of this process's environment."""

    def __init__(self, folder: str | os.PathLike[str] = ".", environ: Mapping[str, str] | None = None) -> None:
        self._environ = dict(os.environ if environ is None else environ)
        self._project = projects.Project(project_root(Path(folder)), self._environ)

    @property
    def root(self) -> Path:
        """The project's folder."""
        return self._project.root

    def workspaces(self) -> list[str]:
        """The names of all workspaces, sorted."""
        return self._project.workspaces()

    def workspace(self, name: str) -> Workspace:
        """A workspace that exists."""
        return Workspace(self._project, self._project.layout(name))

    def create(
        self, name: str, instructions: str, mode: str = "loop", settings: Mapping[str, Any] | None = None
    ) -> Workspace:
        """Make a workspace with these instructions. `settings` are its own, by dotted key."""
        own = layer_from_document("workspace", "settings", settings or {}).values
        if mode not in MODES:
            raise UsageProblem(f"There is no mode {mode!r}.", f"Modes: {', '.join(MODES)}")
        return Workspace(self._project, self._project.create(name, mode, own, instructions=instructions.encode()))

    def listing(self) -> ListingView:
        """All workspaces at a glance, as `list --json` prints it."""
        return workspace_view.listing(self.root, self._project.workspaces_folder, self.workspaces())


class Workspace:
    """A workspace: a task, its runs and their results. Get one from a Project."""

    def __init__(self, project: projects.Project, layout: Layout) -> None:
        self._project = project
        self._layout = layout

    @property
    def name(self) -> str:
        """Its name."""
        return self._layout.name

    @property
    def folder(self) -> Path:
        """Its folder."""
        return self._layout.folder

    def start(
        self,
        settings: Mapping[str, Any] | None = None,
        *,
        allow: tuple[str, ...] = (),
        skip_permissions: bool = False,
        dry_run: bool = False,
        again: bool = False,
        accept_changes: bool = False,
        reset: bool = False,
        outlives: bool = False,
    ) -> Run | None:
        """Start a run in a process of its own and return as soon as it holds the lock of the workspace.

        `settings` by dotted key win over all files and variables, as options of `run` do. What makes the run impossible
        is an ExpectedError, and nothing was written. None: the task is completed, and `again` was not given. The run
        ends with this program, however that ends, unless it `outlives` it.
        """
        request = RunRequest(
            settings=layer_from_document("flag", "settings", settings or {}).values,
            allow=allow,
            skip_permissions=skip_permissions,
            dry_run=dry_run,
            detailed=True,
            again=again,
            accept_changes=accept_changes,
            reset=reset,
            command_line=CommandLine(("claude-iterate", "-C", str(self._project.root))),
        )
        process = RunProcess(self._project, self.name, request, outlives)
        begun = process.await_beginning()
        if isinstance(begun, Began):
            return Run(self, begun.run, process)
        process.wait()
        if isinstance(begun, Refused):
            raise _problem(begun)
        return None

    def run(self, identity: str | None = None) -> Run:
        """A run that was started anywhere: by its id, else the one under way, else the last one."""
        known = self._layout.run_ids()
        found = identity if identity is not None else self._running() or run_view.last_run(self._layout)
        if found is None or found not in known:
            which = f"no run {identity}" if identity is not None else "no runs yet"
            raise WorkspaceProblem(f"{self.name} has {which}.", f"See: claude-iterate logs {self.name} --list")
        return Run(self, found)

    def ask(self, verb: str, *, now: bool = False) -> Reply:
        """Ask the run under way to `pause`, `resume`, `stop` (with `now`: at once), `skip`, `reboot` or `retry`; its
        answer."""
        if verb not in control.VERBS:
            raise UsageProblem(f"A run cannot be asked to {verb!r}.", f"It can {', '.join(control.VERBS)}.")
        return steering.ask(self._layout, verb, now)

    def note(self, text: str) -> str:
        """Leave a note for the next iteration; its name."""
        return notes.add(self._layout, text)

    def view(self) -> WorkspaceView:
        """Everything about it at this moment, as `show --json` prints it."""
        return workspace_view.workspace_view(self._project, self._layout, time.time())

    def runs(self) -> RunsView:
        """All its runs, oldest first, as `logs --list --json` prints it."""
        return run_view.runs(self._layout)

    def history(self, *, every: bool = False) -> HistoryView:
        """What each iteration of the last run took, or of every run, as `history --json` prints it."""
        found = history_view.all_runs(self._layout) if every else history_view.last_runs(RunRecords(self._layout))
        return HistoryView(self.name, tuple(found), history_view.total(found))

    def _running(self, run: str = "") -> str:
        holder = run_lock.holder(self._layout.lock)
        held = (holder.run or run) if holder is not None else ""
        return held if held in self._layout.run_ids() else ""


class Run:
    """One run. As a context manager it is stopped at the end of the block, if it was started here and still runs."""

    def __init__(self, workspace: Workspace, identity: str, process: RunProcess | None = None) -> None:
        self.workspace = workspace
        self.id = identity
        self._process = process

    def events(self) -> Iterator[Entry]:
        """The entries of its journal from the beginning, as they are written, until the run is over."""
        journal = JournalFollower(self.workspace._layout.journal(self.id))
        while True:
            over = not self.is_running  # asked before reading, so that the last entries are not missed
            yield from journal.entries()
            if over:
                return
            time.sleep(_POLL)

    @property
    def is_running(self) -> bool:
        """True until its end."""
        if self._process is not None:
            return self._process.result() is None
        return self.workspace._running(self.id) == self.id

    def wait(self, timeout: float | None = None) -> int | None:
        """Wait for its end; its exit code as with `--detailed-exit-code`. None: not within `timeout` seconds. A run
        that was started elsewhere has the code of its reason to end; 1 if it was killed."""
        if self._process is None:
            return self._wait_for_another(timeout)
        ended = self._process.wait(timeout)
        if isinstance(ended, Refused):
            raise _problem(ended)
        return None if ended is None else ended.exit_code

    def ask(self, verb: str, *, now: bool = False) -> Reply:
        """As `Workspace.ask`, for this run and no other."""
        if not self.is_running:
            raise WorkspaceProblem(f"The run {self.id} of {self.workspace.name} is over.", "Start another one.")
        return self.workspace.ask(verb, now=now)

    def view(self) -> RunView:
        """What it is, what it does, and its result."""
        layout = self.workspace._layout
        at = time.time() if self.is_running else None
        story = RunRecords(layout).story(self.id)
        if story.started is None:
            raise WorkspaceProblem(f"The run {self.id} of {layout.name} has recorded nothing yet.", "Try again.")
        return run_view.run_view(layout, story, at)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What went wrong around it and is not in its journal."""
        heard = self._process.answers if self._process is not None else []
        return tuple(said.text for said in heard if isinstance(said, Noted) and said.warning)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None and self._process.result() is None:
            self._process.send("SIGTERM")
            self._process.wait()

    def _wait_for_another(self, timeout: float | None) -> int | None:
        until = None if timeout is None else time.monotonic() + timeout
        while self.is_running:
            if until is not None and time.monotonic() >= until:
                return None
            time.sleep(_POLL)
        view = self.view()
        return exit_code(view.reason, True, view.known_by) if view.reason is not None else 1


def _problem(refused: Refused) -> ExpectedError:
    problem = ExpectedError(refused.message, refused.hint)
    problem.exit_code = refused.exit_code
    return problem
