"""A dispatcher with nothing but the inbox and the recorder around it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

from claude_iterate.agent.processes.guardian import Guardian
from claude_iterate.core.events import Entry, Event, Requested, RunStarted
from claude_iterate.core.redact import Redactor
from claude_iterate.core.settings.declared import Settings
from claude_iterate.core.settings.modes import MODES
from claude_iterate.core.state.run_state import RunState
from claude_iterate.engine.mailbox import Dispatcher
from claude_iterate.engine.prompt_texts import TextSource
from claude_iterate.engine.recorder import Recorder, Sinks
from claude_iterate.engine.run_request import RunRequest
from claude_iterate.engine.run_spec import RunSpec, UserInput
from claude_iterate.engine.status_reports import StatusReports
from claude_iterate.engine.supervisor import Supervisor
from claude_iterate.system import processes
from claude_iterate.workspace.inheritance import Inheritance
from claude_iterate.workspace.journal_writer import JournalWriter
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project


class Nobody:
    """A journal and sinks that do nothing."""

    def __call__(self, entry: Entry, state: RunState) -> None: ...

    def append(self, *entries: Entry) -> None: ...

    def write_out(self) -> None: ...

    def sync(self) -> None: ...

    def secure(self) -> str:
        return ""

    def tick(self, now: float) -> None: ...

    def flush(self) -> None: ...


class Listener(Nobody):
    """Sinks that keep the events that they are shown."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def __call__(self, entry: Entry, state: RunState) -> None:
        self.events.append(entry.event)


def silent(_state: RunState) -> list[Requested]:
    return []


def recorder_with(sinks: Sinks, journal: JournalWriter | None = None) -> Recorder:
    return Recorder(journal or cast("JournalWriter", Nobody()), sinks, Redactor({}), [])


def plan_in(folder: Path, **other: Any) -> RunSpec:
    """The plan of a run in this folder. `other` are fields of it, of its request, or of what it takes over."""
    asked, taken_over = (
        {name: other.pop(name) for name in kind.__struct_fields__ if name in other and name not in {"mode", "settings"}}
        for kind in (RunRequest, Inheritance)
    )
    project, layout = Project(folder, {}), Layout(folder, folder)
    values: dict[str, Any] = {
        "project": project,
        "layout": layout,
        "request": RunRequest(**asked),
        "configured": Settings(),
        "settings": Settings(),
        "mode": MODES["loop"],
        "run": "r",
        "texts": TextSource(project, layout, Settings(), MODES["loop"]),
        "max_iterations": 9,
        "environ": {},
        "report": folder / "report.md",
        "log": folder / "log",
        "before": Inheritance(**taken_over),
    }
    return RunSpec(**values | other)


def made(
    folder: Path,
    journal: JournalWriter | None = None,
    listen: Callable[[RunState], list[Requested]] = silent,
    chores: Sequence[Callable[[], None]] = (),
    sinks: Sinks | None = None,
) -> tuple[Dispatcher, Recorder]:
    """The two, for a run that has just begun."""
    recorder = recorder_with(sinks or Nobody(), journal)
    plan = plan_in(folder, user=UserInput(listen=listen))
    recorder.record(RunStarted("r", "w", "loop", 9, 1, "h", "0", ("c",)))
    dispatcher = Dispatcher(plan, recorder, StatusReports(plan, recorder))
    dispatcher.chores = chores
    return dispatcher, recorder


class IdleGuardian(Guardian):
    """No process: nothing is to be ended should the tests be killed."""

    pid = 0

    def __init__(self) -> None: ...

    def remember(self, orphans: object) -> None: ...


def supervisor_of(plan: RunSpec, dispatcher: Dispatcher, recorder: Recorder) -> Supervisor:
    """The process of the tests has other children: they are no orphans of this run, and are not to be ended."""
    return Supervisor(plan, recorder, dispatcher, IdleGuardian(), processes.children() or {1})
