"""The call of Claude that is under way, folded from what it prints: its evidence when it is over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec.structs import astuple, replace

from claude_iterate.core import events
from claude_iterate.core.events.stream import request_of, telling
from claude_iterate.core.formats import duration, one_line, shorten

STDERR_KEPT = 4000
_OPEN_KEPT = 31
_ERROR_KEPT = 4000
_OPEN_TASKS_KEPT = 999
_DENIALS_KEPT = 199
_LABEL = 60


class Spending(msgspec.Struct, frozen=True):
    """What a call cost and used so far; `at_least`: it may be more."""

    cost_usd: float = 0.0
    tokens: events.Tokens = events.Tokens()
    at_least: bool = False

    def __add__(self, other: Spending) -> Spending:
        """Sum over calls."""
        both = self.cost_usd + other.cost_usd, self.tokens + other.tokens
        return Spending(*both, self.at_least or other.at_least)


class Call(msgspec.Struct, frozen=True):
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
    by_schema: bool = False
    """Claude knows the schema that its answer is to have."""
    usage: events.UsageReported | None = None
    """What was used since the last result that named the cost."""
    said: int = 0
    """Characters of Claude's own text, without sub-agents."""
    compactions: int = 0
    error_sort: str = ""
    """Claude Code's word for the sort of the error that it said last."""
    denials: tuple[events.Denial, ...] = ()
    """Tool calls that were not allowed, as far as Claude Code reported it before its result."""
    tool_error: str = ""
    """What the last tool said that reported an error, unless the same was tried again and went well."""
    failed: tuple[str, ...] = ()
    """What that tool was called for: its name and what it was asked to do."""
    last_tool: events.ToolCalled | None = None

    @property
    def spending(self) -> Spending:
        """The last result's word, and what messages used since then. A call that opened a session and gave no result
        may have cost anything."""
        result, used = self.result, self.usage or events.UsageReported()
        if result is None:
            return Spending(used.cost_usd, used.tokens, bool(self.session) or self.usage is not None)
        # The tokens of a result are those of the whole process, whether it names the cost or not.
        tokens = result.tokens if result.untold and any(astuple(result.tokens)) else result.tokens + used.tokens
        return Spending(result.cost_usd + used.cost_usd, tokens, result.untold or self.usage is not None)

    @property
    def in_doubt(self) -> bool:
        """True until the model answers: then the API is there after all."""
        return self.rejected is not None or self.retrying


def advance(now: Call, entry: events.Entry) -> Call:
    """The call after an entry; the same object when the entry says nothing of it."""
    step = _STEPS.get(type(entry.event))
    return now if step is None else step(now, entry.event, entry.elapsed)


def _on_tool_called(now: Call, event: events.ToolCalled, elapsed: float) -> Call:
    opened = (*now.open_tools[-_OPEN_KEPT:], (event, elapsed))
    return replace(now, open_tools=opened, tools=now.tools + 1, last_tool=event, rejected=None, retrying=False)


def _on_tool_result(now: Call, event: events.ToolResult, _elapsed: float) -> Call:
    identity = event.id
    opened = tuple([tool for tool in now.open_tools if tool[0].id != identity])
    if not event.is_error and not now.tool_error:
        return replace(now, open_tools=opened)
    failed = next(((tool.name, request_of(tool.input)) for tool, _ in now.open_tools if tool.id == identity), ())
    if event.is_error:
        return replace(now, open_tools=opened, tool_error=event.text[-_ERROR_KEPT:], failed=failed)
    return replace(now, open_tools=opened, tool_error="" if failed and failed == now.failed else now.tool_error)


def _on_assistant_text(now: Call, event: events.AssistantText, _elapsed: float) -> Call:
    if event.error:
        return replace(now, error_said=event.text, error_sort=event.error)
    if event.parent:
        return _on_answer(now, event, _elapsed)
    return replace(now, said=now.said + len(event.text) + event.cut, rejected=None, retrying=False)


def _on_answer(now: Call, _event: events.AssistantText | events.Thought, _elapsed: float) -> Call:
    return replace(now, rejected=None, retrying=False) if now.in_doubt else now


def _on_result_reported(now: Call, event: events.ResultReported, elapsed: float) -> Call:
    usage = now.usage if event.untold else None
    if now.cut is not None and now.result is not None:
        # What Claude says when we end it does not unsay the result it gave before; its costs count.
        untold = now.result.untold and event.untold
        most = max(now.result.cost_usd, event.cost_usd)
        return replace(now, usage=usage, result=replace(now.result, cost_usd=most, untold=untold))
    # The cost is the process's, so it never falls; a result without a cost takes nothing back.
    if now.result is not None and now.result.cost_usd > event.cost_usd:
        event = replace(event, cost_usd=now.result.cost_usd)
    if now.result is not None and event.structured is None:
        event = replace(event, structured=now.result.structured)  # what comes after an answer does not take it back
    return replace(now, usage=usage, result=event, result_at=elapsed)


def _on_session_opened(now: Call, event: events.SessionOpened, _elapsed: float) -> Call:
    """A further prompt in the same process (a background task has ended) takes the last result back."""
    by_schema = now.by_schema or event.by_schema
    return replace(now, session=event.session or now.session, result_at=None, by_schema=by_schema)


def _on_task_event(now: Call, event: events.TaskStarted | events.TaskEnded, elapsed: float) -> Call:
    """The ledger of sub-agents and background commands."""
    others = tuple([task for task in now.open_tasks[-_OPEN_TASKS_KEPT:] if task[0].id != event.id])
    if isinstance(event, events.TaskStarted):
        return replace(now, open_tasks=(*others, (event, elapsed)))
    return _with_open_tasks(now, others, elapsed)


def _on_tasks_listed(now: Call, event: events.TasksListed, elapsed: float) -> Call:
    """Claude Code's own list corrects the ledger: it also shows ends that were not reported."""
    since = {task.id: began for task, began in now.open_tasks}
    return _with_open_tasks(now, tuple((task, since.get(task.id, elapsed)) for task in event.tasks), elapsed)


def _with_open_tasks(now: Call, tasks: tuple[tuple[events.TaskStarted, float], ...], elapsed: float) -> Call:
    # The grace after a result begins when nothing is left to wait for.
    at = elapsed if now.result_at is not None and now.open_tasks and not tasks else now.result_at
    return replace(now, open_tasks=tasks, result_at=at)


def _on_tool_denied(now: Call, event: events.ToolDenied, _elapsed: float) -> Call:
    given = next((tool.input for tool, _ in now.open_tools if tool.id == event.id), {})
    denial = events.Denial(event.tool or "a tool", request_of(given), event.said, event.why)
    return replace(now, denials=(*now.denials[-_DENIALS_KEPT:], denial))


def _on_limit_reported(now: Call, event: events.LimitReported, _elapsed: float) -> Call:
    if event.status == "rejected":
        return replace(now, rejected=event)
    if now.rejected is not None and event.window == now.rejected.window:
        return replace(now, rejected=None)
    return now


_STEPS: dict[type, Callable[[Call, Any, float], Call]] = {
    events.ToolCalled: _on_tool_called,
    events.ToolResult: _on_tool_result,
    events.AssistantText: _on_assistant_text,
    events.Thought: _on_answer,
    events.ApiRetried: lambda now, _event, _elapsed: now if now.retrying else replace(now, retrying=True),
    events.ResultReported: _on_result_reported,
    events.UsageReported: lambda now, event, _elapsed: replace(now, usage=event),
    events.SessionOpened: _on_session_opened,
    events.ContextCompacted: lambda now, _event, _elapsed: replace(now, compactions=now.compactions + 1),
    events.TaskStarted: _on_task_event,
    events.TaskEnded: _on_task_event,
    events.TasksListed: _on_tasks_listed,
    events.ToolDenied: _on_tool_denied,
    events.LimitReported: _on_limit_reported,
    events.ErrorPrinted: lambda now, event, _: replace(now, stderr=(now.stderr + event.text + "\n")[-STDERR_KEPT:]),
    events.CutStarted: lambda now, event, _elapsed: replace(now, cut=now.cut or event),
    events.AgentExited: lambda now, event, _elapsed: replace(now, exit_code=event.code),
}


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
    return shorten(one_line(text[: 4 * _LABEL]), _LABEL, "…")
