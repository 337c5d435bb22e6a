"""The state of a run, folded from its entries and from nothing else: `fold(a + b) == fold_from(fold(a), b)`.

Counters live here, never in a file of their own, so a crash cannot make them disagree with the journal.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec.structs import replace

from claude_iterate.core.events import (
    AgentStarted,
    Carried,
    Entry,
    ErrandFinished,
    ErrandStarted,
    IterationFinished,
    IterationStarted,
    LimitReported,
    Outcome,
    Requested,
    Resumed,
    ReviewFinished,
    ReviewStarted,
    RunFinished,
    RunStarted,
    Said,
    StatusChanged,
    StopRequested,
    Thought,
    Tokens,
    VerificationFinished,
    VerificationStarted,
    WaitEnded,
    WaitStarted,
)
from claude_iterate.core.events.reasons import Reason
from claude_iterate.core.outcomes import denials
from claude_iterate.core.outcomes.classes import COUNTED_FAILURES, FINE, RETRIED
from claude_iterate.core.reports.status import Status
from claude_iterate.core.state import call_state as calls
from claude_iterate.core.state import requests
from claude_iterate.core.state.call_state import Call

_CALLS_KEPT = 1000
"""As many as `limits.calls_per_hour` can ask for."""


class RunState(msgspec.Struct, frozen=True):
    """Everything `decide` and the views want to know of a run."""

    started: RunStarted | None = None
    started_at: float = 0.0
    last_at: float = 0.0
    call: Call | None = None
    iterations: int = 0
    last_ended: float = 0.0
    last_outcome: Outcome | None = None
    last_status: Status | None = None
    status: Status | None = None
    status_before: Status | None = None
    """What was known when the iteration began."""
    idle_iterations: int = 0
    failures: int = 0
    denied: str = ""
    denials: int = 0
    retries: int = 0
    wait: WaitStarted | None = None
    wait_began: float = 0.0
    wait_ends: float = 0.0
    """Beginning and end of the wait on the run's own clock, which nobody can set back."""
    waits: int = 0
    waited: float = 0.0
    windows: dict[str, LimitReported] = {}
    calls: tuple[float, ...] = ()
    """When Claude was called, of late."""
    cost_usd: float = 0.0
    tokens: Tokens = Tokens()
    claims: int = 0
    proof: VerificationFinished | None = None
    findings: str = ""
    errand: ErrandFinished | None = None
    session: str = ""
    context: float | None = None
    paused: bool = False
    approved: int = 0
    cut_asked: str = ""
    stop: StopRequested | None = None
    finished: RunFinished | None = None

    @property
    def carried(self) -> Carried:
        """What earlier runs handed on."""
        return self.started.carried if self.started else Carried()

    @property
    def elapsed_before(self) -> float:
        """How long this run had taken before it was killed and went on."""
        return self.started.resumed.elapsed if self.started and self.started.resumed else 0.0

    @property
    def total_cost_usd(self) -> float:
        """Over all runs of the workspace."""
        return self.carried.cost_usd + self.cost_usd

    @property
    def total_iterations(self) -> int:
        """Over all runs of the workspace; one that is under way counts."""
        return self.carried.iterations + self.iterations + (1 if self.call and self.call.number else 0)

    @property
    def reason(self) -> Reason | None:
        """Why the run ended, once it has."""
        return self.finished.reason if self.finished else None


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
    kind = type(entry.event)
    if state.call is not None and kind in calls.FOLDED:
        doubt = state.call.rejected is not None or state.call.retrying
        if not doubt and (kind is Thought or (kind is Said and not entry.event.error)):  # type: ignore[union-attr]
            return state
        call = calls.advance(state.call, entry)
        if call is not state.call:
            state = replace(state, call=call)
    step = _STEPS.get(kind)
    return replace(state, last_at=entry.at, **step(state, entry.event, entry)) if step else state


def _run_started(_state: RunState, event: RunStarted, entry: Entry) -> dict[str, Any]:
    changes: dict[str, Any] = {"started": event, "started_at": entry.at, "findings": event.carried.findings}
    before = event.resumed
    if before is not None:
        changes |= {name: getattr(before, name) for name in _TAKEN_OVER}
        if before.wait is not None:
            changes["wait_began"] = entry.elapsed
            changes["wait_ends"] = entry.elapsed + before.wait.until - entry.at
    return changes


_TAKEN_OVER = tuple(name for name in Resumed.__struct_fields__ if name not in {"run", "elapsed"})
"""A run that goes on begins with these as the killed one left them."""


def _call_started(_state: RunState, event: Any, entry: Entry) -> dict[str, Any]:
    return {"call": Call(0, entry.elapsed)}


def _iteration_started(state: RunState, event: IterationStarted, entry: Entry) -> dict[str, Any]:
    call = Call(event.number, entry.elapsed, resumes=event.resumes)
    return {"call": call, "proof": None, "cut_asked": "", "status_before": state.status}


def _review_finished(state: RunState, event: ReviewFinished, _entry: Entry) -> dict[str, Any]:
    changes = {"call": None, "cost_usd": state.cost_usd + event.cost_usd, "tokens": state.tokens + event.tokens}
    if event.outcome is None:
        return changes | {"retries": 0, "waits": 0, "waited": 0.0}
    # It could not be held: the rules for limits, overloads and failures say what is next, then it is tried again.
    return changes | {"last_outcome": event.outcome, "retries": state.retries + 1}


def _errand_finished(state: RunState, event: ErrandFinished, _entry: Entry) -> dict[str, Any]:
    return {
        "call": None,
        "errand": event,
        "cost_usd": state.cost_usd + event.cost_usd,
        "tokens": state.tokens + event.tokens,
    }


def _iteration_finished(state: RunState, event: IterationFinished, entry: Entry) -> dict[str, Any]:
    worked = event.status.worked if event.status else None
    kind = event.outcome.kind
    # A limit or an overload is nobody's iteration: the same one is done again. Work that is done is done.
    again = kind in RETRIED and not (event.status and event.status.complete)
    denied = state.denied if again else "\n".join(denials.rules(event.denials))
    return {
        "call": None,
        # The same iteration done again is told the same as before, as is the one after an iteration that was skipped.
        "findings": state.findings if again or kind == "skipped" else ("" if kind in FINE else event.outcome.message),
        "iterations": state.iterations + (0 if again else 1),
        # Only the session was to blame, or a person is in a hurry: there is nothing to pause for.
        "last_ended": state.last_ended if kind == "session" or state.cut_asked else entry.elapsed,
        "cut_asked": "",
        "last_outcome": event.outcome,
        "last_status": event.status,
        "status": event.status or state.status,
        # Only a fresh "worked: false" is idleness; silence is not a report.
        "idle_iterations": state.idle_iterations if again else (state.idle_iterations + 1 if worked is False else 0),
        "failures": state.failures + 1 if kind in COUNTED_FAILURES else (state.failures if again else 0),
        "denied": denied,
        "denials": state.denials if again else _denials(state, event, denied),
        "retries": state.retries + 1 if again else 0,
        "waits": state.waits if again else 0,
        "waited": state.waited if again else 0.0,
        "cost_usd": state.cost_usd + event.cost_usd,
        "tokens": state.tokens + event.tokens,
        **_session_after(state, event, again),
    }


def _denials(state: RunState, event: IterationFinished, denied: str) -> int:
    """How many iterations in a row were denied the same and got no further. Without a report nobody got further."""
    if not denied or (event.status is not None and _got_further(state.status_before, event.status)):
        return 0
    return state.denials + 1 if denied == state.denied else 1


def _got_further(before: Status | None, now: Status) -> bool:
    if now.complete or now.worked:
        return True
    return (now.completed or 0) > ((before.completed or 0) if before else 0)


def _session_after(state: RunState, event: IterationFinished, again: bool) -> dict[str, Any]:
    """The session that may go on: that of a good call. A limit or an overload does it no harm; a failure, a spoilt
    session and `reboot` end it for good."""
    if state.cut_asked == "reboot" or event.outcome.kind == "session":
        return {"session": "", "context": None}
    if event.outcome.kind in FINE:
        return {"session": event.session, "context": event.context}
    return {"session": state.session if again else "", "context": state.context if again else event.context}


def _wait_started(state: RunState, event: WaitStarted, entry: Entry) -> dict[str, Any]:
    planned = max(0.0, event.until - entry.at)
    begun = {"wait": event, "wait_began": entry.elapsed, "wait_ends": entry.elapsed + planned}
    if event.why == "pace":  # it is our own wish, and nobody else's trouble
        return begun
    return begun | {"waits": state.waits + 1, "waited": state.waited + planned}


def _wait_ended(state: RunState, event: WaitEnded, _entry: Entry) -> dict[str, Any]:
    # What is known of a window would only begin the wait again; whoever ends it wants to try.
    window = state.wait.window if state.wait is not None and event.by != "time" else ""
    windows = {name: seen for name, seen in state.windows.items() if name != window}
    # Whoever ends a wait begins a new count, too: what was planned was not waited.
    again = {} if event.by == "time" else {"waits": 0, "waited": 0.0, "calls": ()}
    return {"wait": None, "last_outcome": None, "windows": windows, **again}


def _limit_reported(state: RunState, event: LimitReported, _entry: Entry) -> dict[str, Any]:
    return {"windows": state.windows | {event.window: event}} if event.window else {}


def _agent_started(state: RunState, _event: AgentStarted, entry: Entry) -> dict[str, Any]:
    return {"calls": (*state.calls[1 - _CALLS_KEPT :], entry.at)}


_STEPS: dict[type, Any] = {
    AgentStarted: _agent_started,
    RunStarted: _run_started,
    IterationStarted: _iteration_started,
    ReviewStarted: _call_started,
    ReviewFinished: _review_finished,
    ErrandStarted: _call_started,
    ErrandFinished: _errand_finished,
    VerificationStarted: lambda _state, _event, _entry: {},
    # Only a proof that came to its end spends a claim.
    VerificationFinished: lambda _state, event, _entry: {
        "proof": event,
        "findings": event.findings,
        "claims": event.claim,
    },
    StatusChanged: lambda _state, event, _entry: {"status": event.status},
    IterationFinished: _iteration_finished,
    WaitStarted: _wait_started,
    WaitEnded: _wait_ended,
    LimitReported: _limit_reported,
    Requested: requests.requested,
    StopRequested: requests.stop_requested,
    RunFinished: lambda _state, event, _entry: {"finished": event},
}
