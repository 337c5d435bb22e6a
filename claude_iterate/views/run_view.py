"""The runs of a workspace as readers see them: each in short, and while it runs what it does at this moment."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from claude_iterate.core.events import RunStarted
from claude_iterate.core.formats import one_line
from claude_iterate.core.rules.next_steps import renamed
from claude_iterate.core.state.fold import fold
from claude_iterate.core.state.run_state import RunState
from claude_iterate.errors import UsageProblem
from claude_iterate.views.run_totals import Total
from claude_iterate.views.story import EvidenceView, Now, Story, read_story
from claude_iterate.workspace.journal import reader
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.metadata import Metadata
from claude_iterate.workspace.run_folder import run_lock
from claude_iterate.workspace.run_summary import RunSummary, summarise


class RunView(RunSummary, frozen=True, kw_only=True, rename="camel"):
    """The summary of a run, and what it does now if it is under way."""

    now: Now | None = None
    totals: Total | None = None
    """What `history --totals` says of it, killed runs that it goes on with included; in `show` and `run`."""
    warnings: tuple[str, ...] = ()
    """What the run warned of, each once, the newest last; in `show` and `run`."""


class RunsView(msgspec.Struct, frozen=True, rename="camel"):
    """The runs of a workspace, oldest first, and the logs there are."""

    workspace: str
    runs: tuple[RunView, ...]
    logs: tuple[str, ...]


class JournalView(msgspec.Struct, frozen=True, rename="camel"):
    """The journal of a run: its entries as they are in the file."""

    workspace: str
    run: str
    log: str | None
    entries: tuple[dict[str, Any], ...]


def run_view(layout: Layout, story: Story, at: float | None = None) -> RunView:
    """A run as it is. `at`: it holds the lock of its workspace, and this is the moment."""
    running = at is not None and story.state.finished is None
    view = replace(_summary(layout, story.run, story.state, running), warnings=warnings(story))
    if running and at is not None:
        return replace(view, now=story.now(at), duration=_duration(story.state, at))
    if story.state.finished is None and story.last is not None:
        return replace(view, duration=_duration(story.state, story.last.at))
    return view


def warnings(story: Story) -> tuple[str, ...]:
    """What the run warned of, each once, with what to do about it."""
    return tuple(dict.fromkeys(one_line(f"{one.text} {one.hint}") for one in story.warnings))


def _duration(state: RunState, at: float) -> float:
    return round(max(0.0, at - state.started_at) + state.elapsed_before, 3)


def _summary(layout: Layout, run: str, state: RunState, running: bool) -> RunView:
    """For the name that the workspace has now."""
    view = summarise(RunView, run, state, running)
    before = state.started.workspace if state.started is not None else layout.name
    return replace(view, next=renamed(view.next, before, layout.name))


def runs(layout: Layout) -> RunsView:
    """Every run that has begun."""
    held = run_lock.holder(layout.lock)
    found = []
    ids = layout.run_ids()
    under_way = held.get("run", ids[-1] if ids else "") if held is not None else ""
    for run in ids:
        state = fold(reader.milestones(layout.journal(run)))
        if state.started is not None:
            running = under_way == run and state.finished is None
            view = _summary(layout, run, state, running)
            found.append(replace(view, log=str(layout.folder / view.log) if view.log else ""))
    return RunsView(layout.name, tuple(found), tuple(map(str, layout.logs())))


def journal(layout: Layout, run: str, most: int | None = None) -> JournalView:
    """The entries of a run, or its last ones; lines that are not JSON objects are left out."""
    log = log_of(layout, run)
    rows = reader.JournalFollower(layout.journal(run)).documents()
    return JournalView(layout.name, run, str(log) if log else None, tuple(deque(rows, maxlen=most)))


def last(layout: Layout) -> str | None:
    """The newest run of `claude-iterate run`. Only where there is none it is a dry run, or one of another purpose."""
    found = list(reader.newest_runs(layout))
    return max(found, key=lambda run: _rank(layout, run), default=None)  # of equals the first, which is the newest


def _rank(layout: Layout, run: str) -> int:
    started = reader.beginning(layout.journal(run))
    if started is None or started.purpose != "run":
        return 0
    return 1 if started.dry_run else 2


def log_of(layout: Layout, run: str | None = None) -> Path | None:
    """The log of a run, whether it is written yet or not; without a run that of the last one, or the newest log, which
    may be the original's."""
    if run is None and (newest := last(layout)) is not None:
        path = log_of(layout, newest)
        if path is not None and path.is_file():
            return path
    if run is None:
        logs = layout.logs()
        return logs[-1] if logs else None
    started = reader.beginning(layout.journal(run))
    # Joined, so that a log named without its folder is found as well.
    return layout.folder / started.log if started is not None and started.log else None


_LOOKED_AT = 3
"""Journals in which the evidence of the last verification may be."""


class RunRecords:
    """The lock and the journals of a workspace. Each is read when it is asked for, and once."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._stories: dict[str, Story] = {}

    @cached_property
    def runs(self) -> list[str]:
        """The ids of all runs, oldest first."""
        return self.layout.run_ids()

    @cached_property
    def holder(self) -> dict[str, Any] | None:
        """Who runs this workspace now."""
        return run_lock.holder(self.layout.lock)

    def is_under_way(self, run: str) -> bool:
        """The run holds the lock. One that has just taken it has not written its name yet."""
        return self.holder is not None and self.holder.get("run", run) == run

    def story(self, run: str) -> Story:
        """The story of one run. One whose journal has lost its beginning has not `started`."""
        if run not in self._stories:
            self._stories[run] = read_story(self.layout, run)
        return self._stories[run]

    def newest(self, purposes: Collection[str] = ()) -> Story | None:
        """The newest run that has begun; of these purposes, if any are named: then without dry runs."""
        for run in reversed(self.runs):
            started = self._beginning(run) if purposes else self.story(run).started
            if started is not None and (not purposes or (started.purpose in purposes and not started.dry_run)):
                return self.story(run)
        return None

    def evidence(self, about: Metadata) -> EvidenceView | None:
        """The newest evidence: of the newest run, or of the run that the metadata names. The number of runs does not
        matter: it costs the same after a thousand. A dry run is no evidence."""
        newest = self.newest()
        runs = [newest.run] if newest is not None else []
        if about.verified_by in self.runs:
            # A run that goes on with a killed one may have taken over its proof: then the evidence is there.
            at = self.runs.index(about.verified_by)
            runs += reversed(self.runs[max(0, at + 1 - _LOOKED_AT) : at + 1])
        proofs = (self.story(run).proofs.last for run in runs)
        return next((proof for proof in proofs if proof is not None and not proof.dry_run), None)

    def _beginning(self, run: str) -> RunStarted | None:
        return self._stories[run].started if run in self._stories else reader.beginning(self.layout.journal(run))


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
