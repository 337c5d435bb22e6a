"""The fold: one small step per event, from state to state. `fold(a + b) == fold_from(fold(a), b)`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

from msgspec.structs import asdict, replace

from claude_iterate.core import events
from claude_iterate.core.events.enums import Cause, Kind, Reboot
from claude_iterate.core.events.groups import Session, Streaks
from claude_iterate.core.outcomes import denials
from claude_iterate.core.outcomes.classes import COUNTED_FAILURES, FINE, REFUSALS, WELL, is_done_again
from claude_iterate.core.reports.status import Status
from claude_iterate.core.state import breaker_steps, hint_counts, hook_steps, requests, wait_steps, work_steps
from claude_iterate.core.state import call_state as calls
from claude_iterate.core.state import claim_steps as claims
from claude_iterate.core.state.call_state import Call
from claude_iterate.core.state.plan_steps import planned
from claude_iterate.core.state.run_state import RunState

PRINTED = frozenset(get_args(events.StreamEvent)) - {events.LimitReported}
"""What Claude prints concerns the call alone, but for the state of a usage window."""


def fold(entries: Iterable[events.Entry]) -> RunState:
    """The state after these entries."""
    return fold_from(RunState(), entries)


def fold_from(state: RunState, entries: Iterable[events.Entry]) -> RunState:
    """The state after these further entries."""
    for entry in entries:
        state = reduce(state, entry)
    return state


def reduce(state: RunState, entry: events.Entry) -> RunState:
    """One step. Most of what Claude prints changes nothing, and then the same object comes back."""
    before = state.call
    if before is not None:
        call = calls.advance(before, entry)
        if call is not before:
            state = replace(state, call=call)
    if type(entry.event) in PRINTED:
        return state
    after = _step(state, entry)
    return state if after is None else replace(after, last_at=entry.at)


def _step(state: RunState, entry: events.Entry) -> RunState | None:  # noqa: C901 - one case per event
    """The state after an event that is more than a word of Claude's; None when the event changes nothing."""
    match event := entry.event:
        case events.RunStarted():
            return _run_started(state, event, entry)
        case events.IterationStarted():
            return _iteration_started(state, event, entry)
        case events.Rebooted():
            return replace(state, session=Session(), reboots=state.reboots + 1)
        case events.AgentStarted():
            return wait_steps.agent_called(state, entry.at)
        case events.LimitReported() if event.window:
            return wait_steps.window_seen(state, event)
        case events.StatusChanged():
            return claims.reported(state, event.status)
        case events.IterationFinished():
            return _iteration_finished(state, event, entry)
        case events.SnapshotTaken() | events.WorkMeasured() | events.PatternSeen() | events.StopScriptsRun():
            return breaker_steps.looked(state, event)
        case events.PlanRead() | events.PlanFinished() | events.BreakerReset():
            return breaker_steps.reset(state) if isinstance(event, events.BreakerReset) else planned(state, event)
        case events.ProofDefined() | events.ProofTestsCounted() | events.VerificationStarted() | events.CheckFinished():
            return claims.checking(state, event)
        case events.ReviewStarted() | events.ErrandStarted():
            return replace(state, call=Call(0, entry.elapsed))
        case events.ReviewFinished():
            return _review_finished(state, event)
        case events.ChecksPassed() | events.VerificationFinished() | events.ClaimDropped():
            return claims.judged(state, event)
        case events.ErrandFinished():
            return replace(_call_finished(state, event), one_off=event)
        case events.HookStarted() | events.HookFinished():
            return hook_steps.hooked(state, event)
        case events.WaitStarted() | events.WaitEnded() | events.HeldBack():
            return wait_steps.waited(state, event, entry)
        case events.Requested() | events.StopRequested():
            return requests.asked(state, event)
        case events.RunFinished() | events.WorktreeMade() | events.WorktreeLeft():
            return _around(state, event)
    return None


def _around(state: RunState, event: events.RunFinished | events.WorktreeMade | events.WorktreeLeft) -> RunState:
    if isinstance(event, events.RunFinished):
        return claims.run_finished(state, event)
    tree = state.worktree
    tree = replace(tree, made=event) if isinstance(event, events.WorktreeMade) else replace(tree, left=event)
    return replace(state, worktree=tree)


def _run_started(state: RunState, event: events.RunStarted, entry: events.Entry) -> RunState:
    claim = replace(state.claim, results=event.carried.results)
    state = replace(state, started=event, started_at=entry.at, findings=event.carried.findings, claim=claim)
    state = claims.reported(state, event.carried.report)
    state = breaker_steps.begun(replace(state, changes=event.carried.changes), event)
    return state if event.resumed is None else _taken_over(state, event.resumed, entry)


def _taken_over(state: RunState, before: events.Resumed, entry: events.Entry) -> RunState:
    """A run that goes on begins as the killed one was left; a wait goes on, on its own clock."""
    waiting = before.waiting
    if (wait := waiting.wait) is not None:
        waiting = replace(waiting, began=entry.elapsed, ends=entry.elapsed + wait.until - entry.at)
    left = {name: value for name, value in asdict(before).items() if name not in {"run", "elapsed"}}
    return replace(state, **left | {"waiting": waiting, "status": before.last_status or state.status})


def _iteration_started(state: RunState, event: events.IterationStarted, entry: events.Entry) -> RunState:
    return replace(
        state,
        call=Call(event.number, entry.elapsed, resumes=event.resumes),
        claim=replace(state.claim, proof=None, checked=None, flaky=(), task="", verification=None),
        requests=replace(state.requests, cut=None),
        status_before=state.status,
        breaker=replace(state.breaker, pattern=None),
        plans=replace(state.plans, before=state.plans.now.fingerprint if state.plans.now is not None else ""),
        instructions=event.instructions_hash,
    )


def _call_finished(
    state: RunState, event: events.IterationFinished | events.ReviewFinished | events.ErrandFinished
) -> RunState:
    return replace(
        state,
        call=None,
        cost_usd=state.cost_usd + event.cost_usd,
        cost_is_lower_bound=state.cost_is_lower_bound or event.cost_is_lower_bound,
        tokens=state.tokens + event.tokens,
    )


def _review_finished(state: RunState, event: events.ReviewFinished) -> RunState:
    state = replace(_call_finished(state, event), claim=claims.claim_after_review(state, event))
    if event.outcome is None:
        waiting = replace(state.waiting, waits=0, waited=0.0)
        return replace(state, streaks=replace(state.streaks, retries=0, absences=0), waiting=waiting)
    # It could not be held: the rules for limits, overloads and failures say what is next, then it is tried again.
    streaks = _tried_again(state.streaks, event.outcome)
    return replace(state, last_outcome=event.outcome, streaks=streaks)


def _tried_again(streaks: Streaks, outcome: events.Outcome) -> Streaks:
    away = outcome.kind == Kind.AWAY
    return replace(streaks, retries=streaks.retries + 1, absences=streaks.absences + away)


def _iteration_finished(state: RunState, event: events.IterationFinished, entry: events.Entry) -> RunState:
    kind = event.outcome.kind
    again = is_done_again(event)
    # Only the session was to blame, or the user is in a hurry: there is nothing to pause for.
    at_once = kind == Kind.SESSION or state.requests.cut is not None
    status = event.status or claims.standing(state, claim=False)
    return replace(
        claims.reported(_call_finished(state, event), status),
        findings=_findings_after(state, event, again),
        iterations=state.iterations + (0 if again else 1),
        last_ended=state.last_ended if at_once else entry.elapsed,
        last_outcome=event.outcome,
        last_status=event.status,
        claim=replace(state.claim, task=event.task, sound=_is_sound(event), problems=event.problems),
        streaks=_counted(state, event, again),
        hints=hint_counts.after(state.hints, event) if kind in WELL else state.hints,
        waiting=state.waiting if again else replace(state.waiting, waits=0, waited=0.0),
        session=_session_after(state, event, again, entry.at),
        requests=replace(state.requests, cut=None),
        worked=state.worked or kind in WELL,
        hooks=state.hooks if again else hook_steps.iteration_finished(state, event),
    )


def _is_sound(event: events.IterationFinished) -> bool:
    """The iteration came to its own end, or the API refused no more than the words after its report."""
    return event.outcome.kind in WELL or (event.report_was_last and event.outcome.kind in REFUSALS)


def _findings_after(state: RunState, event: events.IterationFinished, again: bool) -> str:
    """An iteration that is done again gets the same findings as before, as does the one after a skipped iteration."""
    if again or event.outcome.kind == Kind.SKIPPED:
        return state.findings
    if event.outcome.kind not in FINE:
        return event.outcome.message
    if event.reported:
        return ""
    why = f" that counts: {'; '.join(event.problems)}" if event.problems else ""
    return f"You wrote no report{why}. Write it before you end, as described below."


def _streaks_after(state: RunState, event: events.IterationFinished, again: bool) -> Streaks:
    now = state.streaks
    if again:
        return _tried_again(now, event.outcome)
    idle = event.status is not None and event.status.worked is False
    denied = _missing(event) if event.denials else ""
    return Streaks(
        idle_iterations=now.idle_iterations + 1 if idle else 0,
        failures=now.failures + 1 if event.outcome.kind in COUNTED_FAILURES else 0,
        denied=denied,
        denials=_denials(state, event, denied),
        unmoved=now.unmoved,
    )


def _counted(state: RunState, event: events.IterationFinished, again: bool) -> Streaks:
    now = _streaks_after(state, event, again)
    return now if again else breaker_steps.after_iteration(state, event, now)


def _missing(event: events.IterationFinished) -> str:
    return "\n".join(denials.rules(event.denials))


def _denials(state: RunState, event: events.IterationFinished, denied: str) -> int:
    """How many iterations in a row were denied the same and made no progress. No report means no progress."""
    if not denied or (event.status is not None and _got_further(state.status_before, event.status)):
        return 0
    return state.streaks.denials + 1 if _programs(denied) == _programs(state.streaks.denied) else 1


def _programs(denied: str) -> set[str]:
    """The tools and programs: another argument does not make it another denial."""
    return {need.split(" ")[0].partition(":")[0].rstrip(")") for need in denied.splitlines()}


def _got_further(before: Status | None, now: Status) -> bool:
    if now.complete or now.worked:
        return True
    return work_steps.counts_more(before, now)


def _session_after(state: RunState, event: events.IterationFinished, again: bool, at: float) -> Session:
    """The session that may go on: that of a good call. A limit or an overload does it no harm; a failure, a spoilt
    session and `reboot` end it."""
    if state.requests.cut == Cause.REBOOT:
        return Session(reboot=events.Rebooted(Reboot.USER, event.session, event.context))
    if event.outcome.kind == Kind.SESSION:
        spoilt = state.session.id or event.session
        return Session(reboot=events.Rebooted(Reboot.SESSION, spoilt, state.session.context))
    total = state.result.of_session
    if event.outcome.kind in FINE:
        return Session(event.session, event.context, at, None, *total)
    if again and event.session == state.session.id and state.call is not None and state.call.result is not None:
        return replace(state.session, session_cost_usd=total[0], session_tokens=total[1])
    return state.session if again else Session("", event.context)
