"""What a run leaves to the next one: its totals, and if it was killed its whole standing."""

from __future__ import annotations

from msgspec.structs import replace

from claude_iterate.core.events import Breaker, Carried, Resumed, Trip
from claude_iterate.core.events.enums import Kind
from claude_iterate.core.events.run import Claim, Standing
from claude_iterate.core.reports.status import Status
from claude_iterate.core.state.claims import standing_report
from claude_iterate.core.state.run_state import RunState


def carry_over(state: RunState) -> Carried:
    """What the next run has to know of this one and of all before it."""
    spent, before = state.spent, state.run.carried
    cost, partly = before.cost_usd + spent.cost_usd, before.cost_is_lower_bound or spent.at_least
    worked = state.iterations > 0 or (state.proof is not None and state.proof.passed)
    # The next iteration has to read what a proof found, even if it is one of another run.
    findings = state.findings if state.proof is not None and not state.proof.passed else ""
    findings = findings or ("" if worked else state.run.carried.findings)
    refuses = state.run.carried.refuses or (state.defined is not None and state.defined.refuses)
    return Carried(
        *(state.total_iterations, cost, state.run.carried.runs + 1, findings),
        cost_is_lower_bound=partly,
        changes=state.changes,
        refuses=bool(state.changes) and refuses,
        breaker=_breaker_left(state),
        calls=tuple(at for at in state.waiting.calls if at > state.last_at - _HOUR),
        report=_report(state),
    )


def _breaker_left(state: RunState) -> Breaker:
    """What the next run has to know of the breaker, after any end. A task that is done leaves nothing."""
    if state.task_is_done:
        return Breaker()
    trip, ended = state.breaker.trip, state.finished
    known = ended.task if ended is not None else state.run.task
    task = (known if state.iterations else "") or state.run.carried.breaker.task
    if ended is not None and ended.tripped:
        trip = Trip(ended.reason, ended.tripped, state.run.run, state.last_at)
    return replace(state.breaker, trip=trip, task=task, pattern=None, scripts=None)


def _report(state: RunState) -> Status | None:
    """How far the work is; what was left to do of a task that is done is an earlier story."""
    proven = state.proof is not None and state.proof.passed
    return None if state.task_is_done or proven else standing_report(state, claim=False)


def resume_from(run: str, state: RunState, elapsed: float) -> Resumed:
    """What a run takes over from this one, which was killed. The iteration under way is repeated, with its number."""
    spent, judged = state.spent, _is_judged(state)
    claimed = state.last_status is not None and state.last_status.complete
    waited_for = state.last_outcome is not None and state.last_outcome.kind in _WAITED_FOR
    standing = {name: getattr(state, name) for name in Standing.__struct_fields__}
    changed = {
        "cost_usd": spent.cost_usd,
        "cost_is_lower_bound": spent.at_least,
        "tokens": spent.tokens,
        "last_status": state.last_status if claimed and not judged else None,
        "last_outcome": state.last_outcome if waited_for else None,
        # One denial more ends the run; it should be one that the rules of today give.
        "streaks": replace(state.streaks, denials=min(state.streaks.denials, 1)),
        "waiting": replace(state.waiting, ends=0.0, held=None),
        "claim": _claim_left(state, judged),
        # A hook that was running, and one that is due after an iteration, are not forgotten.
        "hooks": replace(state.hooks, hooks_begun=False, last_hook=None, hook_signals=0),
    }
    return Resumed(run, elapsed=state.elapsed_before + elapsed, **standing | changed)


def _is_judged(state: RunState) -> bool:
    """The last claim has been judged. One that failed, because a user who says `run` wants another try: the findings go
    with it. One before the iteration under way, because that comes after its proof."""
    return bool(state.iteration) or (state.proof is not None and not state.proof.passed)


def _claim_left(state: RunState, judged: bool) -> Claim:
    """What is handed on of the last claim of completion and its proof."""
    claim = state.claim
    if state.iteration:
        return Claim(claim.judged, results=claim.results, refuted=claim.refuted)
    return replace(claim, proof=None if judged else claim.proof, verification=None)


_HOUR = 3600.0
_WAITED_FOR = frozenset({Kind.USAGE_LIMIT, Kind.TRANSIENT})
"""Outcomes that still decide the next step; after any other, a user who says `run` wants another try."""
