"""The state of a run, folded from its entries and from nothing else: `fold(a + b) == fold_from(fold(a), b)`.

Counters live here, never in a file of their own, so a crash cannot make them disagree with the journal.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from claude_iterate.core.events import (
    AgentExited,
    Carried,
    CutStarted,
    Entry,
    ErrandFinished,
    ErrandStarted,
    ErrorPrinted,
    IterationFinished,
    IterationStarted,
    LimitReported,
    Outcome,
    ResultReported,
    ReviewFinished,
    ReviewStarted,
    RunFinished,
    RunStarted,
    Said,
    SessionOpened,
    StatusChanged,
    StopRequested,
    TaskEnded,
    TaskStarted,
    Tokens,
    ToolAnswered,
    ToolCalled,
    VerificationFinished,
    VerificationStarted,
)
from claude_iterate.core.outcome import COUNTED_FAILURES, FINE
from claude_iterate.core.reasons import Reason
from claude_iterate.core.status import Status

STDERR_KEPT = 4000


_FOLDED = frozenset(
    {
        AgentExited,
        CutStarted,
        ErrandFinished,
        ErrandStarted,
        ErrorPrinted,
        IterationFinished,
        IterationStarted,
        LimitReported,
        ResultReported,
        ReviewFinished,
        ReviewStarted,
        RunFinished,
        RunStarted,
        Said,
        SessionOpened,
        StatusChanged,
        StopRequested,
        TaskEnded,
        TaskStarted,
        ToolAnswered,
        ToolCalled,
        VerificationFinished,
        VerificationStarted,
    }
)
"""Events that can change the state. Looked up first, because most of what Claude prints cannot."""


class Call(msgspec.Struct, frozen=True):
    """The call of Claude that is under way; `number` is the iteration's, 0 for a review."""

    number: int
    started: float
    session: str = ""
    result: ResultReported | None = None
    result_at: float | None = None
    error_said: str = ""
    rejected: LimitReported | None = None
    open_tools: tuple[tuple[str, str, float], ...] = ()
    open_tasks: frozenset[str] = frozenset()
    tools: int = 0
    cut: CutStarted | None = None
    exit_code: int | None = None
    stderr: str = ""


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
    idle_iterations: int = 0
    failures: int = 0
    cost_usd: float = 0.0
    tokens: Tokens = Tokens()
    claims: int = 0
    proof: VerificationFinished | None = None
    findings: str = ""
    errand: ErrandFinished | None = None
    stop: StopRequested | None = None
    finished: RunFinished | None = None

    @property
    def carried(self) -> Carried:
        """What earlier runs handed on."""
        return self.started.carried if self.started else Carried()

    @property
    def total_cost_usd(self) -> float:
        """Over all runs of the workspace."""
        return self.carried.cost_usd + self.cost_usd

    @property
    def total_iterations(self) -> int:
        """Over all runs of the workspace; one that was cut by a crash counts."""
        return self.carried.iterations + self.iterations + (1 if self.call and self.call.number else 0)

    @property
    def reason(self) -> Reason | None:
        """Why the run ended, once it has."""
        return self.finished.reason if self.finished else None


def handed_on(state: RunState) -> Carried:
    """What the next run has to know of this one and of all before it."""
    return Carried(state.total_iterations, state.total_cost_usd, state.carried.runs + 1)


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
    event = entry.event
    kind = type(event)
    if kind not in _FOLDED or (kind is Said and not event.error):  # type: ignore[union-attr]
        return state
    if state.call is not None:
        call = _in_call(state.call, entry)
        if call is not state.call:
            return replace(state, call=call)
    match event:
        case RunStarted():
            return replace(state, started=event, started_at=entry.at, last_at=entry.at)
        case IterationStarted():
            return replace(state, call=Call(event.number, entry.elapsed), proof=None, findings="", last_at=entry.at)
        case ReviewStarted():
            return replace(state, call=Call(0, entry.elapsed), last_at=entry.at)
        case ReviewFinished():
            return replace(state, call=None, cost_usd=state.cost_usd + event.cost_usd, last_at=entry.at)
        case ErrandStarted():
            return replace(state, call=Call(0, entry.elapsed), last_at=entry.at)
        case ErrandFinished():
            cost = state.cost_usd + event.cost_usd
            return replace(state, call=None, errand=event, cost_usd=cost, last_at=entry.at)
        case VerificationStarted():
            return replace(state, claims=event.claim, last_at=entry.at)
        case VerificationFinished():
            return replace(state, proof=event, findings=event.findings, last_at=entry.at)
        case StatusChanged():
            return replace(state, status=event.status, last_at=entry.at)
        case IterationFinished():
            return _finish_iteration(state, event, entry)
        case StopRequested():
            return replace(state, stop=event, last_at=entry.at)
        case RunFinished():
            return replace(state, finished=event, last_at=entry.at)
    return state


def _finish_iteration(state: RunState, event: IterationFinished, entry: Entry) -> RunState:
    worked = event.status.worked if event.status else None
    failed = event.outcome.kind in COUNTED_FAILURES
    return replace(
        state,
        call=None,
        findings="" if event.outcome.kind in FINE else event.outcome.message,
        iterations=state.iterations + 1,
        last_ended=entry.elapsed,
        last_at=entry.at,
        last_outcome=event.outcome,
        last_status=event.status,
        status=event.status or state.status,
        # Only a fresh "worked: false" is idleness; silence is not a report.
        idle_iterations=state.idle_iterations + 1 if worked is False else 0,
        failures=state.failures + 1 if failed else 0,
        cost_usd=state.cost_usd + event.cost_usd,
        tokens=state.tokens + event.tokens,
    )


def _in_call(now: Call, entry: Entry) -> Call:
    """The call after an entry; the same object when the entry says nothing of it."""
    event = entry.event
    match event:
        case ToolCalled():
            opened = (*now.open_tools[-31:], (event.id, event.name, entry.elapsed))
            return replace(now, open_tools=opened, tools=now.tools + 1)
        case ToolAnswered():
            return replace(now, open_tools=tuple(tool for tool in now.open_tools if tool[0] != event.id))
        case Said() if event.error:
            return replace(now, error_said=event.text)
        case ResultReported() if now.cut is not None and now.result is not None:
            # What Claude says when we end it does not unsay the result it gave before; its costs count.
            return replace(now, result=replace(now.result, cost_usd=max(now.result.cost_usd, event.cost_usd)))
        case ResultReported():
            return replace(now, result=event, result_at=entry.elapsed)
        case SessionOpened():
            # A further prompt in the same process (a finished background task) takes the last result back.
            return replace(now, session=event.session or now.session, result_at=None)
        case TaskStarted():
            return replace(now, open_tasks=now.open_tasks | {event.id})
        case TaskEnded():
            after = now.open_tasks - {event.id}
            # The grace after a result begins when nothing is left to wait for.
            at = entry.elapsed if now.result_at is not None and not after else now.result_at
            return replace(now, open_tasks=after, result_at=at)
        case LimitReported() if event.status == "rejected":
            return replace(now, rejected=event)
        case ErrorPrinted():
            return replace(now, stderr=(now.stderr + event.text + "\n")[-STDERR_KEPT:])
        case CutStarted():
            return replace(now, cut=now.cut or event)
        case AgentExited():
            return replace(now, exit_code=event.code)
    return now
