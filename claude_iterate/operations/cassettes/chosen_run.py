"""The recorded run that is to be played: found by its name, and refused with a clear word where it cannot be played.

Nothing is written here.
"""

from __future__ import annotations

import re
from pathlib import Path

from claude_iterate.core.events.run_events import JOURNAL_FORMAT
from claude_iterate.core.events.vocabulary import Purpose
from claude_iterate.errors import UsageProblem, WorkspaceProblem
from claude_iterate.operations.cassettes.cassette import Cassette, Step, steps
from claude_iterate.operations.cassettes.raw_outputs import raw_output
from claude_iterate.operations.cassettes.recorded_calls import ITERATION, REVIEW, RecordedCall, RecordedCalls
from claude_iterate.views import run_names
from claude_iterate.views.full_texts import FullTexts, prompt_of
from claude_iterate.workspace import metadata
from claude_iterate.workspace.journal import reader
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project


def chosen(project: Project, layout: Layout, wanted: str, mode: str) -> Cassette:
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
