"""What a new run takes over from those before it: their totals, and from one that was killed its whole standing."""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from claude_iterate.core.events import Carried, Resumed
from claude_iterate.core.state.handover import handed_on, resumption
from claude_iterate.core.state.run_state import RunState
from claude_iterate.core.state.steps import fold
from claude_iterate.errors import WorkspaceProblem
from claude_iterate.workspace import metadata
from claude_iterate.workspace.journal import reader
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.running import liveness

_SETUPS = frozenset({"setup", "edit"})


class Inheritance(NamedTuple):
    """`killed` names the newest run if it was killed on this machine: something of it may still live."""

    carried: Carried = Carried()
    resumed: Resumed | None = None
    killed: str = ""


class _Standing(NamedTuple):
    """A run that nobody finished; `redefined`: the instructions were written anew since."""

    run: str
    state: RunState
    redefined: bool


def inherit(layout: Layout, purpose: str = "run", dry_run: bool = False) -> Inheritance:
    """The newest journal tells the totals. A rehearsal hands nothing on; a reset forgets iterations, never money.

    What came between a killed run and the next one, such as `verify`, counts and leaves the standing as it is.
    """
    about = metadata.read(layout.metadata)
    found = reader.last_run(layout)
    if found is None:
        return Inheritance(Carried(iterations=about.count("executionIterations")))
    newest, state = found
    assert state.started is not None
    killed = newest if state.finished is None and liveness.fate(layout, newest) == liveness.DEAD else ""
    reset_after = str(about.document.get(metadata.RESET_AFTER, ""))
    standing = _standing(layout, newest, state, dry_run) if purpose == "run" else None
    # A reset is known by the run before it. Where that one is gone, numbers began anew and compare with nothing.
    forgotten = reset_after in layout.run_ids() and standing is not None and standing.run <= reset_after
    if standing is not None and not forgotten:
        return _going_on(layout, newest, state, standing, killed)
    handed = _handed_on(state)
    return Inheritance(replace(handed, iterations=0) if reset_after == newest else handed, None, killed)


def _handed_on(state: RunState) -> Carried:
    return state.carried if state.started is not None and state.started.dry_run else handed_on(state)


def _standing(layout: Layout, newest: str, state: RunState, dry_run: bool) -> _Standing | None:
    """The last real run, if nobody finished it; a rehearsal goes on only with a rehearsal right before it."""
    redefined = False
    for run in reversed(layout.run_ids()):
        started = state.started if run == newest else reader.beginning(layout.journal(run))
        if started is None or (started.dry_run and not dry_run):
            continue
        if started.purpose == "run":
            told = state if run == newest else fold(reader.milestones(layout.journal(run)))
            fits = started.dry_run == dry_run and told.finished is None
            return _Standing(run, told, redefined) if fits else None
        if dry_run:
            return None
        redefined = redefined or started.purpose in _SETUPS
    return None


def _going_on(layout: Layout, newest: str, state: RunState, standing: _Standing, killed: str) -> Inheritance:
    run, before, redefined = standing
    if liveness.fate(layout, run) == liveness.LIVES:
        raise WorkspaceProblem(
            f"The workspace {layout.name!r} is a copy of one that is running now: pid {liveness.pid_of(layout, run)},"
            f" run {run}.",
            f"Wait for that one; or begin afresh here: claude-iterate reset {layout.name}, then run it.",
        )
    resumed = resumption(run, before, reader.age(layout.journal(run)))
    if run == newest:
        return Inheritance(before.carried, resumed, killed)
    handed = _handed_on(state)
    # What the killed run spent comes with its standing; carried is all the rest, what was spent since included.
    since = max(0.0, handed.cost_usd - handed_on(before).cost_usd)
    carried = replace(before.carried, cost_usd=before.carried.cost_usd + since, runs=max(0, handed.runs - 1))
    # A proof of its own since then has the last word; a claim is judged anew, or dropped if something else is wanted.
    findings = state.findings if state.proof is not None else handed.findings or resumed.findings
    resumed = replace(resumed, findings=findings)
    return Inheritance(carried, replace(resumed, last_status=None, proof=None) if redefined else resumed, killed)
