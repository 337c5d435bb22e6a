"""The call of Claude that is under way, folded from what it prints: its evidence when it is over."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from claude_iterate.core.events import (
    AgentExited,
    CutStarted,
    Entry,
    ErrorPrinted,
    LimitReported,
    ResultReported,
    Said,
    SessionOpened,
    TaskEnded,
    TaskStarted,
    ToolAnswered,
    ToolCalled,
)

STDERR_KEPT = 4000
_OPEN_TOOLS_KEPT = 31

FOLDED = frozenset(
    {
        AgentExited,
        CutStarted,
        ErrorPrinted,
        LimitReported,
        ResultReported,
        Said,
        SessionOpened,
        TaskEnded,
        TaskStarted,
        ToolAnswered,
        ToolCalled,
    }
)
"""Events that can change a call."""


class Call(msgspec.Struct, frozen=True):
    """One call; `number` is the iteration's, 0 for a review or an errand; `resumes` the session it went on with."""

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
    resumes: str = ""


def advance(now: Call, entry: Entry) -> Call:
    """The call after an entry; the same object when the entry says nothing of it."""
    event = entry.event
    match event:
        case ToolCalled():
            opened = (*now.open_tools[-_OPEN_TOOLS_KEPT:], (event.id, event.name, entry.elapsed))
            return replace(now, open_tools=opened, tools=now.tools + 1, rejected=None)
        case ToolAnswered():
            return replace(now, open_tools=tuple(tool for tool in now.open_tools if tool[0] != event.id))
        case Said() if event.error:
            return replace(now, error_said=event.text)
        case Said() if now.rejected is not None:
            return replace(now, rejected=None)  # the model answers, so it got through after all
        case ResultReported() if now.cut is not None and now.result is not None:
            # What Claude says when we end it does not unsay the result it gave before; its costs count.
            return replace(now, result=replace(now.result, cost_usd=max(now.result.cost_usd, event.cost_usd)))
        case ResultReported():
            # The cost is the process's, so it never falls; a result that does not tell it takes nothing back.
            if now.result is not None and now.result.cost_usd > event.cost_usd:
                event = replace(event, cost_usd=now.result.cost_usd)
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
        case LimitReported() if now.rejected is not None and event.window == now.rejected.window:
            return replace(now, rejected=None)
        case ErrorPrinted():
            return replace(now, stderr=(now.stderr + event.text + "\n")[-STDERR_KEPT:])
        case CutStarted():
            return replace(now, cut=now.cut or event)
        case AgentExited():
            return replace(now, exit_code=event.code)
    return now
