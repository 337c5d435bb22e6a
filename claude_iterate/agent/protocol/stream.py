"""Turns what Claude printed into events. Tolerant: no input makes it raise, and no block is dropped.

A line is read as plain JSON, and each field with a check of its own, because the format changes with every release and
a wrong type in one field must not cost the rest of the line. What a line is, its `type` says, wherever that stands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from claude_iterate.agent.protocol.usage import CallUsage, Recent, Used, model_rows, total_cost, total_tokens
from claude_iterate.core import events
from claude_iterate.core.events import Denial, Event, StreamEvent
from claude_iterate.core.events.stream import request_of
from claude_iterate.core.foreign_json import decode, is_deep, number, table, tables, text_of, texts, whole, word

PREVIEW = 2000
LONGEST_ERROR_LINE = 20_000
_REFUSAL = 500
_REASON = "What required approval: "
_FACTS = ("type", "backgroundTaskId", "interrupted", "returnCodeInterpretation")
MOST_TURNS = 1_000_000
_MOST_TASKS = 1000
"""Characters of a tool's name, few enough for every journal to have it."""
_NOT_SHOWN = frozenset({"type", "subtype", "uuid", "session_id", "parent_tool_use_id", "request_id", "timestamp"})


class Translator:
    """Translates the lines of one process. It remembers the names of open tools, to name their results, and
    what tools refused, to say why. `resumed` is what the session had used before, if this process resumes one. Nothing
    is `paid` in a dry run: what the fake says of money and tokens is made up."""

    def __init__(self, resumed: Used | None = None, paid: bool = True) -> None:
        self._paid = paid
        self._usage = CallUsage(resumed or Used())
        self._names: Recent[str] = Recent()
        # The result names denials by their tool call; only what came before says why.
        self._refusals: Recent[events.ToolDenied] = Recent()
        self._limits: list[tuple[str, str]] = []
        self._ended_tasks: Recent[bool] = Recent()
        self._last_request = 0
        self._kinds: dict[str, Callable[[dict[str, Any]], list[StreamEvent]]] = {
            "assistant": self._assistant,
            "user": self._user,
            "system": self._system,
            "result": self._result,
            "rate_limit_event": self._limit,
            "stream_event": lambda _: [],  # pieces of a message that comes whole later
        }

    def read(self, stream: str, lines: list[bytes]) -> list[Event]:
        """The events of lines that came together, and what messages used meanwhile."""
        if stream == "stderr":
            return [events.ErrorPrinted(line[:LONGEST_ERROR_LINE].decode("utf-8", "replace")) for line in lines]
        found: list[Event] = [event for line in lines for event in self.translate(line)]
        used = self._usage.news()
        if not self._paid:
            return [_without_cost(event) for event in found]
        return found if used is None else [*found, used]

    def translate(self, line: bytes) -> list[StreamEvent]:
        """The events of one line; an empty line has none."""
        document = decode(line)
        if type(document) is not dict:
            if not line.strip():
                return []
            return [events.UnparsedLine(line[:PREVIEW].decode("utf-8", "replace"), len(line))]
        kind = word(document.get("type"))
        read = self._kinds.get(kind)
        return read(document) if read else [events.AgentNoted(kind or "unknown", _remark(document))]

    def _result(self, document: dict[str, Any]) -> list[StreamEvent]:
        return [self._usage.settle(_read_result(document, self._last_request, self._refusals), document)]

    def _assistant(self, document: dict[str, Any]) -> list[StreamEvent]:
        parent = word(document.get("parent_tool_use_id"))
        error = word(document.get("error"))
        size = self._usage.count(table(document.get("message")))
        if size and not parent:
            self._last_request = size
        found: list[StreamEvent] = []
        for block in _blocks(document):
            kind = block.get("type")
            if kind == "text":
                found.append(events.AssistantText(word(block.get("text")), parent, error))
            elif kind == "tool_use" or kind == "server_tool_use":
                found.append(self._tool_call(block, parent))
            elif kind == "thinking":
                found.append(events.Thought(word(block.get("thinking")), parent))
            elif kind == "redacted_thinking":
                found.append(events.Thought("(hidden)", parent))
            else:
                found.append(events.AgentNoted(word(kind) or "block", _remark(block)))
        if info := table(table(document.get("api_error_params")).get("rate_limit_info")):
            found += self._limit({"rate_limit_info": info})
        return found

    def _tool_call(self, block: dict[str, Any], parent: str) -> events.ToolCalled:
        given, identity, name = block.get("input"), word(block.get("id")), word(block.get("name"))
        self._names[identity] = name
        return events.ToolCalled(
            identity, name, _shallow(given if isinstance(given, dict) else {"input": given}), parent
        )

    def _user(self, document: dict[str, Any]) -> list[StreamEvent]:
        parent = word(document.get("parent_tool_use_id"))
        facts = _facts(document.get("tool_use_result"))
        found: list[StreamEvent] = []
        for block in _blocks(document):
            if block.get("type") == "tool_result":
                identity, said, is_error = word(block.get("tool_use_id")), block.get("content"), block.get("is_error")
                found.append(self._answer(identity, said, is_error, facts, parent))
            else:
                found.append(events.PromptSent(text_of([block]), parent))
        return found

    def _answer(self, identity: str, said: Any, is_error: Any, facts: dict[str, Any], parent: str) -> events.ToolResult:
        name, text = self._names.pop(identity, ""), said if type(said) is str else text_of(said)
        if is_error is True:
            refusal = self._refusals.get(identity, events.ToolDenied(identity))
            self._refusals[identity] = replace(refusal, said=_what_is_refused(text))
        return events.ToolResult(identity, name, text, is_error is True, facts, parent)

    def _limit(self, document: dict[str, Any]) -> list[StreamEvent]:
        """The windows. The error message that follows repeats one of them."""
        found = _windows(document)
        about = [(event.status, event.window) for event in found if isinstance(event, events.LimitReported)]
        if document.get("type") != "rate_limit_event" and self._limits[-1:] == about:
            return []
        self._limits = about
        return found

    def _system(self, document: dict[str, Any]) -> list[StreamEvent]:
        subtype = word(document.get("subtype"))
        read = _SYSTEM.get(subtype)
        event = read(document) if read else events.AgentNoted(subtype or "system", _remark(document))
        if isinstance(event, events.TaskStarted):
            self._ended_tasks.pop(event.id, None)
        elif isinstance(event, events.TaskEnded):
            # Claude Code reports an end twice: as an update of the task, then as a notification.
            if event.id in self._ended_tasks:
                return []
            self._ended_tasks[event.id] = True
        elif isinstance(event, events.ToolDenied):
            event = replace(event, said=_what_is_refused(event.said))
            self._refusals[event.id] = event
        return [event]


def _without_cost(event: Event) -> Event:
    if not isinstance(event, events.ResultReported):
        return event
    none = events.Tokens()
    return replace(event, cost_usd=0.0, tokens=none, session_cost_usd=0.0, session_tokens=none, untold=False)


def _facts(result: Any) -> dict[str, Any]:
    """What readers ask for of a tool's structured result. The rest, such as whole files, is in the raw output."""
    if not isinstance(result, dict):
        return {}
    kept = {name: result[name] for name in _FACTS if name in result}
    if isinstance(result.get("file"), dict) and "numLines" in result["file"]:
        kept["file"] = {"numLines": result["file"]["numLines"]}
    return _shallow(kept)


def _shallow(values: dict[str, Any]) -> dict[str, Any]:
    """The table, or a note in its place when it is nested too deeply."""
    return {"input": "(nested too deeply to show)"} if is_deep(values) else values


def _blocks(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The content blocks of a message; a plain string counts as one text block."""
    message = document.get("message")
    content = message.get("content") if isinstance(message, dict) else message
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list):
        return []
    return [block if isinstance(block, dict) else {"type": "text", "text": text_of(block)} for block in content]


def _what_is_refused(text: str) -> str:
    """The reason, without what `--permission-prompts none` says to the model before it."""
    return (text.partition(_REASON)[2] or text)[:_REFUSAL]


def _windows(document: dict[str, Any]) -> list[StreamEvent]:
    info = document.get("rate_limit_info")
    if not isinstance(info, dict):
        return [events.AgentNoted("rate_limit_event", _remark(document))]
    window = word(info.get("rateLimitType"))
    rows = info.get("unifiedWindows")
    # Newer releases report all windows at once, and details of the window in question often only there.
    windows = {name: row for name, row in table(rows).items() if isinstance(row, dict)}
    own = windows.pop(window, {})
    others = (_window("allowed", name, row) for name, row in windows.items())
    return [*others, _window(word(info.get("status")), window, info, own)]


def _window(status: str, name: str, *rows: dict[str, Any]) -> events.LimitReported:
    """A window; its reset and its use come from the first row that has them."""
    resets, used = (
        next((found for row in rows if (found := number(row.get(key))) is not None), None)
        for key in ("resetsAt", "utilization")
    )
    return events.LimitReported(status, name, resets, used)


def _read_session(document: dict[str, Any]) -> StreamEvent:
    tools = document["tools"] if isinstance(document.get("tools"), list) else []
    return events.SessionOpened(
        word(document.get("session_id")),
        word(document.get("model")),
        word(document.get("claude_code_version")),
        word(document.get("permissionMode")),
        (*_troubled_servers(document.get("mcp_servers")), *texts(document.get("plugin_errors"))),
        "StructuredOutput" in tools,  # the tool that Claude Code has when it was given a schema
        word(document.get("cwd")),
    )


def _troubled_servers(servers: Any) -> list[str]:
    return [
        f"MCP server {word(server.get('name'))}: {word(server.get('status'))}"
        for server in tables(servers)
        if server.get("status") not in {"connected", "pending", None}
    ]


def _read_retry(document: dict[str, Any]) -> StreamEvent:
    delay = number(document.get("retry_delay_ms"))
    return events.ApiRetried(
        whole(document.get("attempt")),
        whole(document.get("max_retries")),
        (delay or 0.0) / 1000,
        whole(document.get("error_status")) or None,
        word(document.get("error")),
    )


def _read_task(document: dict[str, Any]) -> events.TaskStarted:
    return events.TaskStarted(*_words(document, "task_id", "task_type", "description"))


def _read_tasks(document: dict[str, Any]) -> StreamEvent:
    tasks = document.get("tasks")
    if not isinstance(tasks, list):
        return events.AgentNoted("background_tasks_changed", _remark(document))
    return events.TasksListed(tuple(_read_task(task) for task in tables(tasks[:_MOST_TASKS])))


def _read_task_update(document: dict[str, Any]) -> StreamEvent:
    status = word(table(document.get("patch")).get("status"))
    if status in {"completed", "failed", "stopped", "killed"}:
        return events.TaskEnded(word(document.get("task_id")), status)
    return events.AgentNoted("task_updated", status)


def _read_compaction(document: dict[str, Any]) -> StreamEvent:
    about = table(document.get("compact_metadata"))
    return events.ContextCompacted(word(about.get("trigger")), whole(about.get("pre_tokens")))


def _read_denial(document: dict[str, Any]) -> events.ToolDenied:
    identity, tool, said, why = _words(document, "tool_use_id", "tool_name", "message", "decision_reason_type")
    return events.ToolDenied(identity, tool, said, why[:80])


def _words(document: dict[str, Any], *names: str) -> list[str]:
    return [word(document.get(name)) for name in names]


_SYSTEM: dict[str, Callable[[dict[str, Any]], StreamEvent]] = {
    "init": _read_session,
    "api_retry": _read_retry,
    "compact_boundary": _read_compaction,
    "task_started": _read_task,
    "background_tasks_changed": _read_tasks,
    "permission_denied": _read_denial,
    "task_updated": _read_task_update,
    "task_notification": lambda document: events.TaskEnded(*_words(document, "task_id", "status", "summary")),
}
"""What reads a line, by its subtype. Of all others there is a remark."""


def _remark(document: dict[str, Any]) -> str:
    """A notice as text for users: its short values; long ones are in the raw stream."""
    said = [
        f"{key}={value}"
        for key, value in document.items()
        if key not in _NOT_SHOWN and isinstance(value, str | int | float) and value != ""
    ]
    return " ".join(said)[:500]


def _read_result(document: dict[str, Any], used: int, refusals: dict[str, events.ToolDenied]) -> events.ResultReported:
    """The result; `used` is the size of the last request in tokens, `refusals` say why tools were refused, by the id of
    their call. The cost is the total that Claude Code names, see `usage`.

    One whose `is_error` is neither true nor false is malformed: an error, whatever else it says.
    """
    subtype = word(document.get("subtype"))
    is_error = document.get("is_error")
    cost = total_cost(document)
    turns, tokens = whole(document.get("num_turns")), total_tokens(document)
    return events.ResultReported(
        subtype=subtype,
        is_error=is_error is not False,
        text=text_of(document.get("result")),
        errors=texts(document.get("errors")),
        api_error_status=whole(document.get("api_error_status")) or None,
        session=word(document.get("session_id")),
        turns=turns if 0 <= turns <= MOST_TURNS else 0,
        cost_usd=cost or 0.0,
        tokens=tokens,
        denials=tuple(_denial(item, refusals) for item in tables(document.get("permission_denials"))),
        context=_context(document, used),
        untold=cost is None,
        structured=_structured_answer(document.get("structured_output")),
        signs=_signs(document),
        malformed=not isinstance(is_error, bool),
        duration_ms=max(0, whole(document.get("duration_ms"))),
    )


def _signs(document: dict[str, Any]) -> tuple[str, ...]:
    found = (word(document.get(name))[:80] for name in ("api_error", "api_error_type", "terminal_reason"))
    return tuple(dict.fromkeys(sign for sign in found if sign not in {"", "completed"}))


def _structured_answer(answer: Any) -> dict[str, Any] | None:
    """The answer in our schema, empty when it is not a table, None when there is none."""
    if answer is None:
        return None
    return answer if isinstance(answer, dict) and not is_deep(answer) else {}


def _context(document: dict[str, Any], used: int) -> float | None:
    """How full the context was at the end, from 0 to 1: the last request's tokens against the model's window."""
    windows = [whole(row.get("contextWindow")) for row in model_rows(document)]
    return used / max(windows) if used > 0 and windows and max(windows) > 0 else None


def _denial(item: dict[str, Any], refusals: dict[str, events.ToolDenied]) -> Denial:
    refusal = refusals.get(word(item.get("tool_use_id"))) or events.ToolDenied("")
    given = item.get("tool_input")
    detail = request_of(given) if isinstance(given, dict) else ""
    return Denial(word(item.get("tool_name")) or "a tool", detail, refusal.said, refusal.why)
