"""What a new run takes over from those before it: their totals, and the whole state of one that was killed."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from claude_iterate.core.events import Carried, ProofDefined, Resumed, Trip
from claude_iterate.core.state.carry_over import carry_over, resume_from
from claude_iterate.core.state.run_state import RunState
from claude_iterate.errors import WorkspaceProblem
from claude_iterate.workspace import journal_reader, metadata, task_file
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.run_folder import run_lock

_ROUNDED = 1e-5
"""Dollars: the metadata has rounded sums."""
_GOES_ON = frozenset({"run", "verify"})
_SETUPS = frozenset({"setup", "edit"})
_NEW_TASK = (
    "The instructions have changed since the task was completed. What the report and TODO.md say is about the old ones:"
    " bring TODO.md in line with the instructions first."
)


class Inheritance(msgspec.Struct, frozen=True):
    """`killed` names the newest run if it was killed on this machine: processes of it may still live. `defined` is what
    defined the proof when a killed run began, for a `verify` of its work."""

    carried: Carried = Carried()
    resumed: Resumed | None = None
    killed: str = ""
    defined: ProofDefined | None = None
    reset_by: str = ""
    """What made the breaker's counters begin again since: the command `reset`, or other `instructions`."""

    @property
    def trip(self) -> Trip | None:
        """How the breaker ended an earlier run, if nothing has moved or been reset since."""
        if self.reset_by:
            return None
        return self.resumed.breaker.trip if self.resumed is not None else self.carried.breaker.trip


class _Unfinished(msgspec.Struct, frozen=True):
    """A run that did not finish; `redefined`: the instructions were rewritten since."""

    run: str
    state: RunState
    redefined: bool


def inherit(layout: Layout, purpose: str = "run", dry_run: bool = False, mode: str = "") -> Inheritance:
    """What the journals hand on, and at least the money that the metadata knows of: a journal may be lost."""
    found, known = _find_inheritance(layout, purpose, dry_run, mode), metadata.read(layout.metadata).total_cost_usd
    resumed = found.resumed.cost_usd if found.resumed is not None else 0.0
    missing = known - found.carried.cost_usd - resumed
    if missing < _ROUNDED:
        return found
    carried = replace(found.carried, cost_usd=found.carried.cost_usd + missing, cost_is_lower_bound=True)
    return replace(found, carried=carried)


def _find_inheritance(layout: Layout, purpose: str, dry_run: bool, mode: str) -> Inheritance:
    """The totals come from the newest journal. A dry run passes nothing on and continues nothing; a reset drops
    iterations, never money. A killed run in another `mode` is not continued: its numbers mean something else.

    What came between a killed run and the next one, such as `verify`, counts and leaves the killed run's state as is.
    """
    about = metadata.read(layout.metadata)
    journal_reader.refuse_newer_journals(layout)
    found = journal_reader.last_run(layout)
    another = task_file.is_another(layout.instructions, about.completed_task)
    if found is None:
        return Inheritance(Carried(iterations=about.execution_iterations))
    newest, state = found
    killed = newest if state.finished is None and run_lock.fate_of(layout, newest) == run_lock.DEAD else ""
    reset_after = about.reset_after
    unfinished = _find_unfinished(layout, newest, state) if purpose in _GOES_ON and not dry_run else None
    # A reset names the run before it. Where that run is gone, numbers started again and cannot be compared.
    forgotten = reset_after in layout.run_ids() and unfinished is not None and unfinished.run <= reset_after
    defined = None
    if unfinished is not None and not forgotten:
        if purpose == "run":
            going_on = _resume(layout, newest, state, unfinished, killed)
            if mode in {"", unfinished.state.run.mode}:
                return going_on
        defined = unfinished.state.defined
    handed = _totals_after(state)
    if another and purpose == "run" and not dry_run:
        handed = replace(handed, findings=_NEW_TASK, report=None)
    if reset_after == newest:
        handed = replace(handed, iterations=0, changes=(), refuses=False, report=None)
    return Inheritance(handed, None, killed, defined, _reset_cause(layout, handed, reset_after == newest))


def _reset_cause(layout: Layout, handed: Carried, reset: bool) -> str:
    """Why the breaker begins again, where it has counted something. Another task begins afresh."""
    if not handed.breaker.counts:
        return ""
    if reset:
        return "reset"
    return "instructions" if task_file.is_another(layout.instructions, handed.breaker.task) else ""


def _totals_after(state: RunState) -> Carried:
    return state.run.carried if state.run.dry_run else carry_over(state)


def _find_unfinished(layout: Layout, newest: str, state: RunState) -> _Unfinished | None:
    """The last real run, if it did not finish."""
    redefined = False
    for run in reversed(layout.run_ids()):
        started = state.started if run == newest else journal_reader.beginning(layout.journal(run))
        if started is None or started.dry_run:
            continue
        if started.purpose == "run":
            reached = state if run == newest else journal_reader.fold_journal(layout, run)
            return _Unfinished(run, reached, redefined) if reached.finished is None else None
        redefined = redefined or started.purpose in _SETUPS
    return None


def _resume(layout: Layout, newest: str, state: RunState, unfinished: _Unfinished, killed: str) -> Inheritance:
    run, before, redefined = unfinished.run, unfinished.state, unfinished.redefined
    if run_lock.fate_of(layout, run) == run_lock.LIVES:
        raise WorkspaceProblem(
            f"The workspace {layout.name!r} is a copy of one that is running now: pid {run_lock.pid_of(layout, run)},"
            f" run {run}.",
            f"Wait for that one; or start again here: claude-iterate reset {layout.name}, then run it.",
        )
    resumed = resume_from(run, before, journal_reader.age(layout.journal(run)))
    carried = replace(before.run.carried, report=None if redefined else carry_over(before).report)
    if run != newest:
        handed = _totals_after(state)
        # What the killed run spent comes with its state; carried is all the rest, including what was spent since.
        since = max(0.0, handed.cost_usd - carry_over(before).cost_usd)
        cost, partly = carried.cost_usd + since, handed.cost_is_lower_bound
        carried = replace(carried, cost_usd=cost, cost_is_lower_bound=partly, runs=max(0, handed.runs - 1))
        # A proof made since then decides; a claim is judged again, or dropped if the instructions changed.
        findings = state.findings if state.proof is not None else handed.findings or resumed.findings
        resumed = replace(resumed, findings=findings)
        if redefined:
            resumed = replace(resumed, last_status=None, claim=replace(resumed.claim, proof=None))
    return Inheritance(carried, resumed, killed, reset_by=_reset_cause(layout, carry_over(before), False))
