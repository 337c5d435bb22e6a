"""A recorded run as Claude: its calls become steps for the built-in fake, which plays them in a dry run.

What Claude printed is played from `raw/` as it is; the fake gets the file and where to read, never a copy. A run that
cannot be played is refused with a clear word before anything is written.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from claude_iterate.agent.protocol.stream import Translator
from claude_iterate.core.events import Warned
from claude_iterate.core.events.run_events import JOURNAL_FORMAT
from claude_iterate.core.events.vocabulary import Purpose
from claude_iterate.core.formats import counted
from claude_iterate.core.settings.declared import Settings
from claude_iterate.engine.plan import Plan
from claude_iterate.errors import UsageProblem, WorkspaceProblem
from claude_iterate.operations.cassettes.recorded_calls import (
    ITERATION,
    REVIEW,
    Beside,
    RecordedCall,
    RecordedCalls,
    raw_output,
)
from claude_iterate.views import run_names
from claude_iterate.views.full_texts import FullTexts, prompt_of
from claude_iterate.workspace import metadata
from claude_iterate.workspace.files import atomic
from claude_iterate.workspace.journal import reader
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project

VARIABLE = "CLAUDE_ITERATE_FAKE_CASSETTE"
_PATIENCE = 10.0
"""Seconds, beyond the quiet that a report needs, in which the run is expected to notice it."""
_REAL = "Checks, stop scripts and hooks run for real, in the project as it is now: the recorded work is not put there."
Step = dict[str, Any]


class Cassette(msgspec.Struct, frozen=True):
    """The recorded run `run`, ready to be played. `calls` are steps by kind of call; `plan` and `report` are what the
    agent's files were before; `hung` counts the calls that wait for the run to cut them."""

    run: str
    iterations: int
    calls: dict[str, list[list[Step]]]
    hung: int = 0
    plan: str = ""
    report: dict[str, Any] | None = None

    @property
    def reviews(self) -> int:
        """How many reviews there are."""
        return len(self.calls[REVIEW])

    def planned(self, plan: Plan) -> Plan:
        """The plan of a run that plays it: no iteration more than were recorded."""
        most = min(plan.max_iterations or self.iterations, self.iterations)
        environ = {**plan.environ, VARIABLE: str(_place(plan.layout))}
        return replace(plan, cassette=self.run, max_iterations=most, environ=environ)

    def warnings(self, settings: Settings) -> list[Warned]:
        """What the user should know before it is played."""
        reviews = counted(self.reviews, "review") if self.reviews else "no review"
        there = f"{counted(self.iterations, 'iteration')}, {reviews}"
        found = [Warned(f"Run {self.run} is played: {there}. Nothing is paid, and waits end at once.", _REAL)]
        if settings.verification.auto_verify and not self.reviews:
            found.append(
                Warned("The recording has no review, so a review gives no verdict.", "Try it with --no-verify.")
            )
        if self.hung:
            cut = f"{counted(self.hung, 'recorded call')} did not end by itself: the run waits until it cuts it."
            found.append(Warned(cut, "To cut it sooner: CLAUDE_ITERATE_TIMEOUTS__IDLE=5s before the command."))
        return found

    def insert(self, plan: Plan) -> None:
        """Put it into the copy that the dry run works on, in place of the agent's files of today."""
        layout, watch = plan.layout, plan.settings.notification.status_watch
        for path in (layout.todo, layout.status, layout.plan):
            path.unlink(missing_ok=True)
        if layout.impl.is_dir():
            shutil.rmtree(layout.impl)
        if self.plan:
            atomic.write_text(layout.plan, self.plan)
        if self.report is not None:
            atomic.write_json(layout.status, self.report)
        place = _place(layout)
        place.parent.mkdir()
        # A report that is not watched for is noticed at the end of the call.
        patience = watch.debounce_ms / 1000 + _PATIENCE if watch.enabled else 0.0
        atomic.write_json(place, {**self.calls, "journal": str(layout.journal(plan.run)), "patience": patience})


def _place(layout: Layout) -> Path:
    return layout.agent_folder / ".cassette" / "cassette.json"


def steps(call: RecordedCall, path: Path, named: str = "") -> list[Step]:
    """What the fake does for this call. `named` is the id that a review in prose was given."""
    return [*_printed(call, path, named), _ending(call)]


def _printed(call: RecordedCall, path: Path, named: str) -> Iterator[Step]:
    """The output in parts, and between them what came beside it."""
    waiting, start, size = list(call.beside), 0, path.stat().st_size
    for place, printed in _places(path) if any(one.after < float("inf") for one in waiting) else ():
        due = [one for one in waiting if one.after <= printed]
        if due:
            yield from _part(path, start, place, named)
            yield from map(_step, due)
            waiting, start = waiting[len(due) :], place
    yield from _part(path, start, size, named)
    yield from map(_step, waiting)


def _places(path: Path) -> Iterator[tuple[int, int]]:
    """Where each line ends, and how many events there were by then; first the beginning, where there are none."""
    translator, place, printed = Translator(), 0, 0
    yield place, printed
    with path.open("rb") as file:
        for line in file:
            place += len(line)
            printed += len(translator.translate(line.rstrip(b"\n")))
            yield place, printed


def _part(path: Path, start: int, end: int, named: str) -> Iterator[Step]:
    if end > start:
        yield {"part": {"path": str(path), "start": start, "end": end, **({"named": named} if named else {})}}


def _step(beside: Beside) -> Step:
    return {beside.verb: beside.value}


def _ending(call: RecordedCall) -> Step:
    """As it ended. A call whose end is not recorded died with its run."""
    code = 1 if call.exit_code is None else call.exit_code
    return {"exit": code} if code >= 0 else {"die": -code}


def choose_cassette(project: Project, layout: Layout, wanted: str, mode: str) -> Cassette:
    """The run of this workspace that the user names; `mode` is that of the run to come."""
    _refuse_other_workspace(project, layout, wanted)
    run = run_names.chosen(layout, wanted)
    path = layout.journal(run)
    if not path.is_file():
        raise WorkspaceProblem(f"Run {run} has no journal: {path}", _another(layout))
    metadata.refuse_newer(reader.format_of(path), JOURNAL_FORMAT, f"The journal of run {run}")
    recorded = RecordedCalls()
    for entry in reader.read(path):
        recorded.take(entry)
    _refuse_unplayable(layout, run, recorded, mode)
    calls: dict[str, list[list[Step]]] = {ITERATION: [], REVIEW: []}
    taken: set[Path] = set()
    for call in recorded.calls:
        found = _raw(layout, run, call, taken)
        calls[call.kind].append(steps(call, found.path, _identity(layout, run, call, found.path)))
    hung = sum(call.hung for call in recorded.calls)
    return Cassette(run, recorded.iterations, calls, hung, recorded.plan, recorded.report)


def _another(layout: Layout) -> str:
    return f"Choose another run: claude-iterate logs {layout.name} --list"


def _refuse_other_workspace(project: Project, layout: Layout, wanted: str) -> None:
    """A run of another task would report progress of that one."""
    if "/" in wanted:
        raise UsageProblem(f"{wanted!r} is a path, not the id of a run.", _another(layout))
    others = [name for name in project.workspaces() if name != layout.name]
    owner = next((name for name in others if wanted in project.layout(name).run_ids()), "")
    started = None
    if not owner and wanted in layout.run_ids() and layout.journal(wanted).is_file():
        started = reader.beginning(layout.journal(wanted))
        owner = started.workspace if started is not None and started.workspace in others else ""
    if owner:
        raise WorkspaceProblem(
            f"{wanted} is a run of the workspace {owner}, not of {layout.name}.",
            f"Play it there: claude-iterate run {owner} --dry-run --cassette {wanted}",
        )


def _refuse_unplayable(layout: Layout, run: str, recorded: RecordedCalls, mode: str) -> None:
    started = recorded.started
    if started is None:
        raise WorkspaceProblem(f"The journal of run {run} has no beginning, so it cannot be played.", _another(layout))
    if started.purpose != Purpose.RUN:
        raise WorkspaceProblem(f"Run {run} is a `{started.purpose}`: it has no iterations to play.", _another(layout))
    if not recorded.iterations:
        raise WorkspaceProblem(
            f"Run {run} ended before its first iteration: there is nothing to play.", _another(layout)
        )
    if started.mode != mode:
        there = f"claude-iterate {started.mode} {layout.name} --dry-run --cassette {run_names.short(run)}"
        hint = there if started.mode in {"plan", "build"} else _another(layout)
        raise WorkspaceProblem(f"Run {run} was in {started.mode} mode, and this one is in {mode} mode.", hint)


def _raw(layout: Layout, run: str, call: RecordedCall, taken: set[Path]) -> FullTexts:
    """The raw output of a call, whole; otherwise there is nothing true to play."""
    if not call.name:
        damaged = "a line of its journal that begins a call cannot be read."
        raise WorkspaceProblem(f"Run {run} cannot be played: {damaged}", _another(layout))
    found = raw_output(layout, run, call, taken)
    if found.missing:
        raise WorkspaceProblem(f"Run {run} cannot be played. {found.missing}", _another(layout))
    if found.is_cut:
        raise WorkspaceProblem(
            f"Run {run} cannot be played: the call {call.name} printed more than is kept.", _another(layout)
        )
    return found


def _identity(layout: Layout, run: str, call: RecordedCall, path: Path) -> str:
    """The id that a review in prose had to repeat; that of the run that plays it is another one."""
    if call.kind != REVIEW:
        return ""
    prompt = prompt_of(layout, run, path.name.removesuffix(".ndjson")) or ""
    named = re.search(r"^VERIFICATION-ID: (\S+)", prompt, re.MULTILINE)
    return named[1] if named else ""
