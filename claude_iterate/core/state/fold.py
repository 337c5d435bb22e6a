"""The fold: one small step per event, from state to state. `fold(a + b) == fold_from(fold(a), b)`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, get_args

from msgspec.structs import replace

from claude_iterate.core import events
from claude_iterate.core.events import Entry
from claude_iterate.core.events.enums import Cause, Kind, Meaning, Point, Reboot, Verb, Why
from claude_iterate.core.events.run import Breaker, HookState, Session, Standing
from claude_iterate.core.outcomes import call as calls
from claude_iterate.core.outcomes.call import Call
from claude_iterate.core.outcomes.classes import FINE, REFUSALS, WELL, is_done_again
from claude_iterate.core.reports.status import Status
from claude_iterate.core.state import claims, work
from claude_iterate.core.state.run_state import RunState

_PRINTED = frozenset(get_args(events.StreamEvent)) - {events.LimitReported}
"""What Claude prints concerns the call alone, but for the state of a usage window."""
_LONG_AGO = -1e9
_CALLS_KEPT = 1000
"""As many as `limits.calls_per_hour` can ask for."""
_SHRUNK = 0.3
"""An iteration with at most this share of the output of the one before it shrank: by 70 % or more."""
_TESTING = frozenset({"test", "tests", "testing"})


def fold(entries: Iterable[Entry]) -> RunState:
    """The state after these entries."""
    return fold_from(RunState(), entries)


def fold_from(state: RunState, entries: Iterable[Entry]) -> RunState:
    """The state after these further entries."""
    for entry in entries:
        state = reduce(state, entry)
    return state


def reduce(state: RunState, entry: Entry) -> RunState:
    """One step. Most of what Claude prints changes nothing, and then the same object comes back."""
    if state.call is not None:
        call = calls.advance(state.call, entry)
        if call is not state.call:
            state = replace(state, call=call)
    kind = type(entry.event)
    step = _STEPS.get(kind) if kind not in _PRINTED else None
    return state if step is None else replace(step(state, entry.event, entry), last_at=entry.at)


def _on_run_started(state: RunState, event: events.RunStarted, entry: Entry) -> RunState:
    """A run continues to count where the last one ended, however that was; a dry run counts for itself."""
    carried = event.carried
    state = replace(
        state,
        started=event,
        started_at=entry.at,
        findings=carried.findings,
        changes=carried.changes,
    )
    state = claims.with_report(state, carried.report)
    if not event.dry_run:
        state = replace(state, breaker=carried.breaker, waiting=replace(state.waiting, calls=carried.calls))
    return state if event.resumed is None else _resume(state, event.resumed, entry)


def _resume(state: RunState, before: events.Resumed, entry: Entry) -> RunState:
    """A run begins as the killed one that it continues was left; a wait continues, on its own clock."""
    waiting = before.waiting
    if (wait := waiting.wait) is not None:
        waiting = replace(waiting, ends=entry.elapsed + wait.until - entry.at)
    left = {name: getattr(before, name) for name in Standing.__struct_fields__}
    return replace(state, **left | {"waiting": waiting, "status": before.last_status or state.status})


def _on_iteration_started(state: RunState, event: events.IterationStarted, entry: Entry) -> RunState:
    return replace(
        state,
        call=Call(event.number, entry.elapsed, resumes=event.resumes),
        claim=claims.without_proof(state.claim),
        requests=replace(state.requests, cut=None),
        status_before=state.status,
        breaker=replace(state.breaker, pattern=None),
        plans=replace(state.plans, before=state.plans.now.fingerprint if state.plans.now is not None else ""),
        instructions=event.instructions_hash,
    )


def _on_agent_started(state: RunState, _event: events.AgentStarted, entry: Entry) -> RunState:
    """Claude was called; the pace counts that."""
    recent = (*state.waiting.calls[1 - _CALLS_KEPT :], entry.at)
    return replace(state, waiting=replace(state.waiting, calls=recent))


def _on_limit_reported(state: RunState, event: events.LimitReported, _entry: Entry) -> RunState:
    """A usage window as Claude last reported it."""
    if not event.window:
        return state
    windows = {**state.waiting.windows, event.window: event}
    return replace(state, waiting=replace(state.waiting, windows=windows))


def _without_call(
    state: RunState, event: events.IterationFinished | events.ReviewFinished | events.OneOffCallFinished
) -> RunState:
    return replace(
        state,
        call=None,
        cost_usd=state.cost_usd + event.cost_usd,
        cost_is_lower_bound=state.cost_is_lower_bound or event.cost_is_lower_bound,
        tokens=state.tokens + event.tokens,
    )


def _on_review_finished(state: RunState, event: events.ReviewFinished, _entry: Entry) -> RunState:
    state = replace(_without_call(state, event), claim=claims.claim_after_review(state.claim, event))
    if event.outcome is None:
        waiting = replace(state.waiting, waits=0, waited=0.0)
        return replace(state, streaks=replace(state.streaks, retries=0, absences=0), waiting=waiting)
    # It could not run: the rules for limits, overloads and failures say what is next, then it is tried again.
    streaks = work.streaks_after_retry(state.streaks, event.outcome)
    return replace(state, last_outcome=event.outcome, streaks=streaks)


def _on_iteration_finished(state: RunState, event: events.IterationFinished, entry: Entry) -> RunState:
    kind = event.outcome.kind
    again = is_done_again(event)
    # Only the session was to blame, or the user is in a hurry: there is nothing to pause for.
    at_once = kind == Kind.SESSION or state.requests.cut is not None
    status = event.status or claims.standing_report(state, claim=False)
    return replace(
        claims.with_report(_without_call(state, event), status),
        findings=_findings_after(state, event, again),
        iterations=state.iterations + (0 if again else 1),
        last_ended=state.last_ended if at_once else entry.elapsed,
        last_outcome=event.outcome,
        last_status=event.status,
        claim=replace(state.claim, task=event.task, sound=_is_sound(event), problems=event.problems),
        streaks=work.streaks_after(state, event, again),
        breaker=work.breaker_after(state, event, again),
        hints=_hints_after(state.hints, event) if kind in WELL else state.hints,
        waiting=state.waiting if again else replace(state.waiting, waits=0, waited=0.0),
        session=_session_after(state, event, again, entry.at),
        requests=replace(state.requests, cut=None),
        worked=state.worked or kind in WELL,
        hooks=state.hooks if again else _hooks_after_iteration(state, event),
    )


def _is_sound(event: events.IterationFinished) -> bool:
    """The iteration was not cut off, or the API refused no more than the words after its report."""
    return event.outcome.kind in WELL or (event.report_was_last and event.outcome.kind in REFUSALS)


def _findings_after(state: RunState, event: events.IterationFinished, again: bool) -> str:
    """A repeated iteration gets the same findings as before, as does the one after a skipped iteration."""
    if again or event.outcome.kind == Kind.SKIPPED:
        return state.findings
    if event.outcome.kind not in FINE:
        return event.outcome.message
    if event.reported:
        return ""
    why = f" that counts: {'; '.join(event.problems)}" if event.problems else ""
    return f"You wrote no report{why}. Write it before you end, as described below."


def _session_after(state: RunState, event: events.IterationFinished, again: bool, at: float) -> Session:
    """The session that may continue: that of a good call. A limit or an overload does it no harm; a failure, a spoilt
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


def _hints_after(now: events.Hints, event: events.IterationFinished) -> events.Hints:
    """Signs of no progress, after an iteration that went well; any other says nothing."""
    output, claims_end = event.tokens.output, event.status is not None and event.status.complete
    shrank = 0 < output <= _SHRUNK * now.output
    did = (event.status.work or event.status.phase or "") if event.status is not None else ""
    return events.Hints(
        output=output or now.output,
        shrunk=now.shrunk + 1 if shrank else 0 if output else now.shrunk,
        testing=now.testing + 1 if did.lower() in _TESTING else 0,
        said_done=now.said_done + 1 if event.says_done and not claims_end else 0,
    )


def _on_plan_finished(state: RunState, event: events.PlanFinished, _entry: Entry) -> RunState:
    """All of the plan is done: the report counts as a claim, whatever it says of completion."""
    status = state.last_status or Status(False)
    status = replace(status, complete=True, completed=event.tasks, total=event.tasks, source="plan")
    return replace(state, last_status=status, status=status, claim=claims.without_proof(state.claim, event.task))


def _on_wait_started(state: RunState, event: events.WaitStarted, entry: Entry) -> RunState:
    """A wait, on the run's own clock too."""
    planned = max(0.0, event.until - entry.at)
    waiting = replace(state.waiting, wait=event, ends=entry.elapsed + planned)
    if event.why not in {Why.PACE, Why.SCHEDULE, Why.FAILURES}:  # which are our own wish: no trouble that could grow
        waiting = replace(waiting, waits=waiting.waits + 1, waited=waiting.waited + planned)
    return replace(state, waiting=waiting)


def _on_wait_ended(state: RunState, event: events.WaitEnded, _entry: Entry) -> RunState:
    """The run continues; what it waited for is forgotten."""
    waiting = replace(state.waiting, wait=None, held=None)
    if event.by != "time":
        # What is known of a window would only begin the wait again, and a user who ends a wait wants to try. That
        # begins a new count, too: what was planned was not waited.
        window = state.wait.window if state.wait is not None else ""
        windows = {name: seen for name, seen in waiting.windows.items() if name != window}
        waiting = replace(waiting, windows=windows, waits=0, waited=0.0, calls=())
        if state.wait is not None and state.wait.why == Why.SCHEDULE:
            waiting = replace(waiting, hours_waived=state.wait.until)
    return replace(state, waiting=waiting, last_outcome=None)


def _on_requested(state: RunState, event: events.Requested, _entry: Entry) -> RunState:
    """The user steers. A verb of another version changes nothing."""
    now = state.requests
    match event.verb:
        case Verb.PAUSE:
            return replace(state, requests=replace(now, paused=True))
        case Verb.RESUME:
            return replace(state, requests=replace(now, paused=False))
        case Verb.GO:
            return replace(state, requests=replace(now, approved=state.iterations + 1))
        case Verb.SKIP | Verb.REBOOT if state.iteration:
            return replace(state, requests=replace(now, cut=Cause(event.verb)), last_ended=_LONG_AGO)
        case Verb.SKIP | Verb.RETRY if state.call is None and not claims.claim_is_open(state):
            # Between iterations there is nothing to cut; the pause between them is over.
            return replace(state, last_ended=_LONG_AGO)
        case Verb.REBOOT:
            given_up = events.Rebooted(Reboot.USER, state.session.id, state.session.context)
            return replace(state, session=Session(reboot=given_up if state.session.id else state.session.reboot))
    return state


def _on_stop_requested(state: RunState, event: events.StopRequested, _entry: Entry) -> RunState:
    """The first request names the reason; later ones can only make it urgent."""
    stop = event if state.stop is None else replace(state.stop, now=state.stop.now or event.now)
    signals = state.hooks.hook_signals + event.by.startswith("SIG")  # one while a hook runs may end it
    hooks = replace(state.hooks, hook_signals=signals)
    return replace(state, requests=replace(state.requests, stop=stop), hooks=hooks)


def _on_hook_started(state: RunState, event: events.HookStarted, _entry: events.Entry) -> RunState:
    """A hook begins. The first signal in `iteration_finished` lets it end, unless a stop was asked for before."""
    patience = -1 if event.point == Point.ITERATION_FINISHED and state.stop is None else 0
    hooks = replace(_at_point(state.hooks, event), hook_running=event.scope, hook_signals=patience)
    return replace(state, hooks=hooks)


def _on_hook_finished(state: RunState, event: events.HookFinished, _entry: events.Entry) -> RunState:
    """A hook has ended. Its point is done when no other hook of it is left; a skip, an abort or a stop does not prepare
    the iteration: a run that continues after a kill asks again."""
    hooks = _at_point(state.hooks, event)
    failed = (*hooks.hooks_failed, *([event.path] if event.means == Meaning.FAILED else ()))
    hooks = replace(
        hooks,
        hooks_ran=(*hooks.hooks_ran, event.scope) if event.left else (),
        hook_running="",
        last_hook=event,
        hooks_failed=tuple(dict.fromkeys(failed)),
    )
    if event.left:
        return replace(state, hooks=hooks)
    if event.point == Point.STARTED:
        hooks = replace(hooks, hooks_begun=True)
    elif event.point == Point.ITERATION_FINISHED:
        hooks = replace(hooks, hook_owed=0)
    elif event.point == Point.NEXT_ITERATION and event.means in {Meaning.GO_ON, Meaning.FAILED}:
        hooks = replace(hooks, hook_prepared=event.number)
    return replace(state, hooks=hooks)


def _at_point(hooks: HookState, event: events.HookStarted | events.HookFinished) -> HookState:
    """What ran at another point, or for another iteration, is no longer of interest."""
    same = (hooks.hook_point, hooks.hook_number) == (event.point, event.number)
    ran = hooks.hooks_ran if same else ()
    return replace(hooks, hook_point=event.point, hook_number=event.number, hooks_ran=ran)


def _hooks_after_iteration(state: RunState, event: events.IterationFinished) -> HookState:
    """A counted iteration is over: `iteration_finished` is owed, unless a hook skipped the iteration."""
    hooks, wanted = state.hooks, state.run.hooks
    skipped = event.outcome.kind == Kind.SKIPPED and not event.outcome.called
    owed = event.number if Point.ITERATION_FINISHED in wanted and not skipped else 0
    record = event if wanted else None
    return replace(hooks, hook_owed=owed, hook_record=record, hook_skips=hooks.hook_skips + 1 if skipped else 0)


_STEPS: dict[type, Callable[[RunState, Any, Entry], RunState]] = {
    events.RunStarted: _on_run_started,
    events.IterationStarted: _on_iteration_started,
    events.Rebooted: lambda state, _event, _entry: replace(state, session=Session(), reboots=state.reboots + 1),
    events.AgentStarted: _on_agent_started,
    events.LimitReported: _on_limit_reported,
    events.StatusChanged: lambda state, event, _entry: claims.with_report(state, event.status),
    events.IterationFinished: _on_iteration_finished,
    events.SnapshotTaken: lambda state, event, _entry: replace(state, work=replace(state.work, snapshot=event)),
    events.WorkMeasured: work.on_work_measured,
    events.PatternSeen: lambda state, event, _entry: replace(state, breaker=replace(state.breaker, pattern=event)),
    events.StopScriptsRun: lambda state, event, _entry: replace(state, breaker=replace(state.breaker, scripts=event)),
    events.BreakerReset: lambda state, _event, _entry: replace(state, breaker=Breaker()),
    events.PlanRead: lambda state, event, _entry: replace(state, plans=replace(state.plans, now=event)),
    events.PlanFinished: _on_plan_finished,
    events.ProofDefined: lambda state, event, _entry: replace(state, defined=event, changes=event.changes),
    events.ProofTestsCounted: claims.on_proof_tests_counted,
    events.VerificationStarted: claims.on_verification_started,
    events.CheckFinished: claims.on_check_finished,
    events.ChecksPassed: claims.on_checks_passed,
    events.ReviewStarted: lambda state, _event, entry: replace(state, call=Call(0, entry.elapsed)),
    events.ReviewFinished: _on_review_finished,
    events.VerificationFinished: claims.on_verification_finished,
    events.ClaimDropped: claims.on_claim_dropped,
    events.OneOffCallStarted: lambda state, _event, entry: replace(state, call=Call(0, entry.elapsed)),
    events.OneOffCallFinished: lambda state, event, _entry: replace(_without_call(state, event), one_off=event),
    events.HookStarted: _on_hook_started,
    events.HookFinished: _on_hook_finished,
    events.WaitStarted: _on_wait_started,
    events.WaitEnded: _on_wait_ended,
    events.HeldBack: lambda state, event, _entry: replace(state, waiting=replace(state.waiting, held=event)),
    events.Requested: _on_requested,
    events.StopRequested: _on_stop_requested,
    events.WorktreeMade: lambda state, event, _entry: replace(state, worktree=replace(state.worktree, made=event)),
    events.WorktreeLeft: lambda state, event, _entry: replace(state, worktree=replace(state.worktree, left=event)),
    events.RunFinished: claims.on_run_finished,
}
