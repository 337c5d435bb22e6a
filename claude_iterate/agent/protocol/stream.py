"""Turns what Claude printed into events. Tolerant: no input makes it raise, and no block is dropped.

A line is read as plain JSON, and each field with a check of its own, because the format changes with every release and
a wrong type in one field must not cost the rest of the line. What a line is, its `type` says, wherever that stands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from claude_iterate.agent.protocol.call_cost import CallCost, Used
from claude_iterate.agent.protocol.fields import number, text_of, word
from claude_iterate.agent.protocol.message_usage import MessageUsage
from claude_iterate.agent.protocol.result import read_result
from claude_iterate.agent.protocol.system_lines import SYSTEM, remark
from claude_iterate.core import events
from claude_iterate.core.events import Event, StreamEvent
from claude_iterate.core.outcomes import reset_times
from claude_iterate.core.reports import json_input

PREVIEW = 2000
LONGEST_ERROR_LINE = 20_000
_REMEMBERED_TOOLS = 4096
_REMEMBERED_REFUSALS = 256
_REFUSAL = 500
_REASON = "What required approval: "
_FACTS = ("type", "backgroundTaskId", "interrupted", "returnCodeInterpretation")


class Translator:
    """Translates the lines of one process. It remembers the names of open tools, to name their results, and
    what tools refused, to say why. `resumed` is what the session had used before, if this process resumes one. Nothing
    is `paid` in a dry run: what the fake says of money and tokens is made up."""

    def __init__(self, resumed: Used | None = None, paid: bool = True) -> None:
        self._paid = paid
        self._cost = CallCost(resumed or Used())
        self._names: dict[str, str] = {}
        self._refusals: dict[str, events.ToolDenied] = {}
        self._limits: list[tuple[str, str]] = []
        self._ended_tasks: set[str] = set()
        self._used = 0
        self._messages = MessageUsage()
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
        used = self._messages.news()
        if not self._paid:
            return [_unpaid(event) for event in found]
        return found if used is None else [*found, used]

    def translate(self, line: bytes) -> list[StreamEvent]:
        """The events of one line; an empty line has none."""
        document = json_input.decode(line)
        if type(document) is not dict:
            if not line.strip():
                return []
            return [events.GarbageSeen(line[:PREVIEW].decode("utf-8", "replace"), len(line))]
        kind = word(document.get("type"))
        read = self._kinds.get(kind)
        return read(document) if read else [events.AgentNoted(kind or "unknown", remark(document))]

    def _result(self, document: dict[str, Any]) -> list[StreamEvent]:
        named = read_result(document, self._used, self._refusals)
        result = self._cost.of_this_call(named, document, self._messages.sum)
        if not result.untold:
            self._messages.settle(result)
        return [result]

    def _assistant(self, document: dict[str, Any]) -> list[StreamEvent]:
        parent = word(document.get("parent_tool_use_id"))
        error = word(document.get("error"))
        message = document.get("message")
        if type(message) is dict:
            size = self._messages.count(message)
            if size and not parent:
                self._used = size
        found: list[StreamEvent] = []
        for block in _blocks(document):
            kind = block.get("type")
            if kind == "text":
                found.append(events.Said(word(block.get("text")), parent, error))
            elif kind == "tool_use" or kind == "server_tool_use":
                found.append(self._tool_call(block, parent))
            elif kind == "thinking":
                found.append(events.Thought(word(block.get("thinking")), parent))
            elif kind == "redacted_thinking":
                found.append(events.Thought("(hidden)", parent))
            else:
                found.append(events.AgentNoted(word(kind) or "block", remark(block)))
        params = document.get("api_error_params")
        if isinstance(params, dict) and isinstance(params.get("rate_limit_info"), dict):
            found += self._limit({"rate_limit_info": params["rate_limit_info"]})
        return found

    def _tool_call(self, block: dict[str, Any], parent: str) -> events.ToolCalled:
        given, identity, name = block.get("input"), word(block.get("id")), word(block.get("name"))
        if len(self._names) >= _REMEMBERED_TOOLS:
            self._names.clear()
        self._names[identity] = name
        return events.ToolCalled(identity, name, _table(given if isinstance(given, dict) else {"input": given}), parent)

    def _user(self, document: dict[str, Any]) -> list[StreamEvent]:
        parent = word(document.get("parent_tool_use_id"))
        facts = _facts(document.get("tool_use_result"))
        found: list[StreamEvent] = []
        for block in _blocks(document):
            if block.get("type") == "tool_result":
                identity, said, is_error = word(block.get("tool_use_id")), block.get("content"), block.get("is_error")
                found.append(self._answer(identity, said, is_error, facts, parent))
            else:
                found.append(events.Told(text_of([block]), parent))
        return found

    def _answer(
        self, identity: str, said: Any, is_error: Any, facts: dict[str, Any], parent: str
    ) -> events.ToolAnswered:
        name, text = self._names.pop(identity, ""), said if type(said) is str else text_of(said)
        if is_error is True:
            refusal = self._refusals.get(identity, events.ToolDenied(identity))
            self._remember_refusal(replace(refusal, said=_what_is_refused(text)))
        return events.ToolAnswered(identity, name, text, is_error is True, facts, parent)

    def _remember_refusal(self, refusal: events.ToolDenied) -> None:
        """The result names denials by their tool call; only what came before says why."""
        if len(self._refusals) >= _REMEMBERED_REFUSALS:
            del self._refusals[next(iter(self._refusals))]
        self._refusals[refusal.id] = refusal

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
        read = SYSTEM.get(subtype)
        event = read(document) if read else events.AgentNoted(subtype or "system", remark(document))
        if isinstance(event, events.TaskStarted):
            self._ended_tasks.discard(event.id)
        elif isinstance(event, events.TaskEnded):
            # Claude Code reports an end twice: as an update of the task, then as a notification.
            if event.id in self._ended_tasks:
                return []
            self._ended_tasks.add(event.id)
        elif isinstance(event, events.ToolDenied):
            event = replace(event, said=_what_is_refused(event.said))
            self._remember_refusal(event)
        return [event]


def _unpaid(event: Event) -> Event:
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
    return _table(kept)


def _table(values: dict[str, Any]) -> dict[str, Any]:
    """The table, or a note in its place when it is nested too deeply."""
    return {"input": "(nested too deeply to show)"} if json_input.is_deep(values) else values


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
        return [events.AgentNoted("rate_limit_event", remark(document))]
    window = word(info.get("rateLimitType"))
    rows = info.get("unifiedWindows")
    # Newer releases report all windows at once, and details of the window in question often only there.
    windows = {name: row for name, row in rows.items() if isinstance(row, dict)} if isinstance(rows, dict) else {}
    own = windows.pop(window, {})
    others = (_window("allowed", name, row) for name, row in windows.items())
    return [*others, _window(word(info.get("status")), window, info, own)]


def _window(status: str, name: str, *rows: dict[str, Any]) -> events.LimitReported:
    """A window; its reset and its use come from the first row that has them."""
    resets, used = (
        next((found for row in rows if (found := number(row.get(key))) is not None), None)
        for key in ("resetsAt", "utilization")
    )
    return events.LimitReported(status, name, reset_times.in_seconds(resets), used)
