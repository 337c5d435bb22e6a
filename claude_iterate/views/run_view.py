"""The runs of a workspace as readers see them: each in short, and while it runs what it does at this moment."""

from __future__ import annotations

import time
from collections import deque
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from claude_iterate.core.formats import one_line
from claude_iterate.core.rules.next_steps import rename_workspace
from claude_iterate.core.state.run_state import Damage
from claude_iterate.errors import UsageProblem, WorkspaceProblem
from claude_iterate.system import untrusted_files
from claude_iterate.views.history_view import Total
from claude_iterate.views.story import Now, RunRecords, Story
from claude_iterate.workspace import journal_reader
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.run_summary import RunSummary, summarise


class RunView(RunSummary, frozen=True, kw_only=True, rename="camel"):
    """The summary of a run, and what it does now if it is under way."""

    now: Now | None = None
    totals: Total | None = None
    """The figures of `history --totals`, including those of killed runs that it continues; in `show` and `run`."""
    warnings: tuple[str, ...] = ()
    """The run's warnings, each once, the newest last; in `show` and `run`."""


class RunsView(msgspec.Struct, frozen=True, rename="camel"):
    """The runs of a workspace, oldest first, and its logs."""

    workspace: str
    runs: tuple[RunView, ...]
    logs: tuple[str, ...]


class JournalView(msgspec.Struct, frozen=True, rename="camel"):
    """The journal of a run: its entries as they are in the file."""

    workspace: str
    run: str
    log: str | None
    entries: tuple[dict[str, Any], ...]
    damaged: Damage | None = None
    """Lines that cannot be read or are missing."""


def run_view(layout: Layout, story: Story, at: float | None = None) -> RunView:
    """A run as it is. `at`: it holds the lock of its workspace, and this is the moment."""
    state, over = story.state, story.state.finished is not None
    view = summarise(RunView, story.run, state, at is not None and not over, warnings=warnings(story))
    if state.started is not None:  # the workspace may have another name since
        view = replace(view, next=rename_workspace(view.next, state.started.workspace, layout.name))
    if over or story.last is None:
        return view
    until = at if at is not None else story.last.at
    took = round(story.elapsed(until) + state.elapsed_before, 3)
    return replace(view, now=story.now(at) if at is not None else None, duration=took)


def warnings(story: Story) -> tuple[str, ...]:
    """What the run warned of, each once, with what to do about it."""
    return tuple(dict.fromkeys(one_line(f"{one.text} {one.hint}") for one in story.warnings))


def runs(layout: Layout) -> RunsView:
    """Every run that has begun."""
    found = []
    for run in layout.run_ids():
        records = RunRecords(layout)  # of each run only what is shown stays in memory
        if records.story(run).started is not None:
            view = run_view(layout, records.story(run), time.time() if records.is_under_way(run) else None)
            found.append(replace(view, log=str(layout.folder / view.log) if view.log else ""))
    return RunsView(layout.name, tuple(found), tuple(map(str, layout.logs())))


def journal(layout: Layout, run: str, most: int | None = None) -> JournalView:
    """The entries of a run, or its last ones, and what is damaged in its journal."""
    log = log_of(layout, run)
    journal = journal_reader.JournalFollower(layout.journal(run))
    rows = tuple(deque(journal.documents(), maxlen=most))
    return JournalView(layout.name, run, str(log) if log else None, rows, journal.damage)


def last_run(layout: Layout) -> str | None:
    """The newest run of `claude-iterate run`; where there is none, the newest of all, such as a dry run."""
    runs = journal_reader.newest_runs
    return next(runs(layout, ("run",)), None) or next(runs(layout), None)


def nothing_to_show(layout: Layout, run: str | None = None) -> WorkspaceProblem:
    """No run, or a journal that has lost its beginning."""
    name, begun = layout.name, next(journal_reader.newest_runs(layout), "")
    files = (known for known in reversed(layout.run_ids()) if untrusted_files.is_file(layout.journal(known)))
    run = run or ("" if begun else next(files, ""))
    if not run:
        return WorkspaceProblem(f"{name} has no run yet.", f"Start one: claude-iterate run {name}")
    lost = f"The journal of run {run} of {name} has lost its beginning, so there is nothing to show."
    return WorkspaceProblem(lost, f"Its log may be whole: claude-iterate logs {name} --run {run}")


def log_of(layout: Layout, run: str | None = None) -> Path | None:
    """The log of a run, whether it is written yet or not; without a run that of the last one, or the newest log, which
    may be the original's."""
    named = run or last_run(layout)
    started = journal_reader.beginning(layout.journal(named)) if named is not None else None
    if run is None:
        return log_named(layout, started.log if started is not None else "")
    return layout.folder / Path(started.log).name if started is not None and started.log else None


def log_named(layout: Layout, log: str) -> Path | None:
    """The log that a run names, if it is there; else the newest log."""
    # By its name: the workspace may have been moved or restored under another one.
    path = layout.folder / Path(log).name
    return path if log and path.is_file() else next(reversed(layout.logs()), None)


def short_id(identity: str) -> str:
    """The number that an id begins with; old ids have none."""
    number, _, rest = identity.partition("-")
    return str(int(number)) if rest and number.isdecimal() and len(number) == 6 else identity


def find_run(layout: Layout, wanted: str) -> str:
    """The id of the run that the user names."""
    found = [identity for identity in layout.run_ids() if wanted in {identity, short_id(identity)}]
    if not found:
        raise UsageProblem(f"{layout.name} has no run {wanted!r}.", f"See: claude-iterate logs {layout.name} --list")
    return found[-1]
