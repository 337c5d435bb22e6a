"""The call of Claude that is under way, folded from what it prints: its evidence when it is over."""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from claude_iterate.core import events
from claude_iterate.core.events.stream_events import telling
from claude_iterate.core.formats import duration, one_line, shortened

STDERR_KEPT = 4000
_OPEN_KEPT = 31
_OPEN_TASKS_KEPT = 999
_LABEL = 60


class Call(NamedTuple):
    """One call; `number` is the iteration's, 0 for a review or a one-off call; `resumes` is the session it resumed."""

    number: int
    started: float
    session: str = ""
    result: events.ResultReported | None = None
    result_at: float | None = None
    error_said: str = ""
    rejected: events.LimitReported | None = None
    open_tools: tuple[tuple[events.ToolCalled, float], ...] = ()
    open_tasks: tuple[tuple[events.TaskStarted, float], ...] = ()
    """Tools and background tasks that have not ended, and since when they run."""
    retrying: bool = False
    """The last that was heard is that Claude Code tries the API again."""
    tools: int = 0
    cut: events.CutStarted | None = None
    exit_code: int | None = None
    stderr: str = ""
    resumes: str = ""

    @property
    def in_doubt(self) -> bool:
        """True until the model answers: then the API is there after all."""
        return self.rejected is not None or self.retrying


def advance(now: Call, entry: events.Entry) -> Call:
    """The call after an entry; the same object when the entry says nothing of it."""
    event = entry.event
    match event:
        case events.ToolCalled():
            opened = (*now.open_tools[-_OPEN_KEPT:], (event, entry.elapsed))
            return now._replace(open_tools=opened, tools=now.tools + 1, rejected=None, retrying=False)
        case events.ToolAnswered():
            return now._replace(open_tools=tuple(tool for tool in now.open_tools if tool[0].id != event.id))
        case events.Said() if event.error:
            return now._replace(error_said=event.text)
        case events.Said() | events.Thought() if now.in_doubt:
            return now._replace(rejected=None, retrying=False)
        case events.ApiRetried():
            return now if now.retrying else now._replace(retrying=True)
        case events.ResultReported() if now.cut is not None and now.result is not None:
            # What Claude says when we end it does not unsay the result it gave before; its costs count.
            return now._replace(result=replace(now.result, cost_usd=max(now.result.cost_usd, event.cost_usd)))
        case events.ResultReported():
            # The cost is the process's, so it never falls; a result without a cost takes nothing back.
            if now.result is not None and now.result.cost_usd > event.cost_usd:
                event = replace(event, cost_usd=now.result.cost_usd)
            return now._replace(result=event, result_at=entry.elapsed)
        case events.SessionOpened():
            # A further prompt in the same process (a background task has ended) takes the last result back.
            return now._replace(session=event.session or now.session, result_at=None)
        case events.TaskStarted() | events.TaskEnded():
            return _with_task(now, event, entry.elapsed)
        case events.LimitReported() if event.status == "rejected":
            return now._replace(rejected=event)
        case events.LimitReported() if now.rejected is not None and event.window == now.rejected.window:
            return now._replace(rejected=None)
        case events.ErrorPrinted():
            return now._replace(stderr=(now.stderr + event.text + "\n")[-STDERR_KEPT:])
        case events.CutStarted():
            return now._replace(cut=now.cut or event)
        case events.AgentExited():
            return now._replace(exit_code=event.code)
    return now


def _with_task(now: Call, event: events.TaskStarted | events.TaskEnded, elapsed: float) -> Call:
    """The ledger of sub-agents and background commands."""
    others = tuple(task for task in now.open_tasks[-_OPEN_TASKS_KEPT:] if task[0].id != event.id)
    if isinstance(event, events.TaskStarted):
        return now._replace(open_tasks=(*others, (event, elapsed)))
    # The grace after a result begins when nothing is left to wait for.
    at = elapsed if now.result_at is not None and not others else now.result_at
    return now._replace(open_tasks=others, result_at=at)


def busy_with(call: Call, elapsed: float) -> str:
    """What Claude is doing, as far as it said: the last tool or task that is open, and for how long. After its result
    all tasks, because it is them that it waits for."""
    tasks = call.open_tasks if call.result is not None else call.open_tasks[-1:]
    busy = [(_tool(tool), since) for tool, since in call.open_tools[-1:]] + [
        (_task(task), since) for task, since in tasks
    ]
    if busy:
        return "; ".join(f"{what} has been running for {duration(elapsed - since)}" for what, since in busy[:4])
    return "waiting for the API's answer" if call.session and call.result is None else ""


def _tool(event: events.ToolCalled) -> str:
    about = telling(event.input)[1]
    return f"{event.name} `{_clipped(about)}`" if about else event.name


def _task(event: events.TaskStarted) -> str:
    about = event.description or event.kind
    return f"task `{_clipped(about)}`" if about else "a task"


def _clipped(text: str) -> str:
    return shortened(one_line(text[: 4 * _LABEL]), _LABEL, "…")
