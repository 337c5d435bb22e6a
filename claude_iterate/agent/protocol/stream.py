"""Turns a line that Claude printed into events. Tolerant: no input makes it raise, and no block is dropped.

The most common lines are checked while they are decoded (`common_lines`). Of all others, fields are read from plain
dictionaries with a check each, because the format changes with every release and a wrong type in one field must not
cost the rest of the line.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from claude_iterate.agent.protocol import system_lines
from claude_iterate.agent.protocol.common_lines import (
    NO_USAGE,
    AssistantLine,
    CallBlock,
    PieceLine,
    ResultLine,
    RetryLine,
    SessionLine,
    TextBlock,
    UserLine,
    common_line,
)
from claude_iterate.agent.protocol.fields import number, text_of, word
from claude_iterate.agent.protocol.message_usage import MessageUsage
from claude_iterate.agent.protocol.result import read_common_result, read_result
from claude_iterate.agent.protocol.system_lines import SYSTEM, remark
from claude_iterate.core import events
from claude_iterate.core.events import StreamEvent
from claude_iterate.core.outcomes import reset_times
from claude_iterate.core.reports import json_input

PREVIEW = 2000
_REMEMBERED_TOOLS = 4096
_REMEMBERED_REFUSALS = 256
_REFUSAL = 500


class Translator:
    """Translates the lines of one process. It remembers the names of open tools, to name their results, and
    what tools refused, to say why."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._refusals: dict[str, str] = {}
        self._ended_tasks: set[str] = set()
        self._used = 0
        self._messages = MessageUsage()
        self._kinds: dict[str, Callable[[dict[str, Any]], list[StreamEvent]]] = {
            "assistant": self._assistant,
            "user": self._user,
            "system": self._system,
            "result": self._result,
            "rate_limit_event": _limit,
            "stream_event": lambda _: [],  # pieces of a message that comes whole later
        }
        self._common: dict[type, Callable[[Any], list[StreamEvent]]] = {
            AssistantLine: self._printed,
            UserLine: self._answered,
            ResultLine: lambda line: self._settled(read_common_result(line, self._used, self._refusals)),
            SessionLine: system_lines.opened,
            RetryLine: system_lines.retried,
            PieceLine: self._kinds["stream_event"],
        }

    def translate(self, line: bytes) -> list[StreamEvent]:
        """The events of one line; an empty line has none."""
        common = common_line(line)
        if common is not None:
            return self._common[type(common)](common)
        return self._translate_uncommon(line)

    def _translate_uncommon(self, line: bytes) -> list[StreamEvent]:
        """The events of a line of which single fields are read."""
        document = _known_fields()(line)
        kind = document.get("type")
        if kind == "assistant":
            return self._assistant(document)
        if kind == "user":
            return self._user(document)
        if kind == "result" or (kind == "system" and word(document.get("subtype")) in SYSTEM):
            return self._kinds[kind](document)
        return self._translate_unusual(line)

    def _translate_unusual(self, line: bytes) -> list[StreamEvent]:
        """The events of a line that is not one of the most common, or is not formed like them: all of it is read."""
        document = json_input.decode(line)
        if type(document) is not dict:
            if not line.strip():
                return []
            return [events.GarbageSeen(line[:PREVIEW].decode("utf-8", "replace"), len(line))]
        kind = document.get("type")
        read = self._kinds.get(kind) if type(kind) is str else None
        if read is None:
            return [events.AgentNoted(word(kind) or "unknown", remark(document))]
        return read(document)

    def usage(self) -> events.UsageReported | None:
        """What messages used since the last result; None when that is known already."""
        return self._messages.news()

    def _result(self, document: dict[str, Any]) -> list[StreamEvent]:
        return self._settled(read_result(document, self._used, self._refusals))

    def _settled(self, result: events.ResultReported) -> list[StreamEvent]:
        if not result.untold:
            self._messages.settle(result)
        return [result]

    def _printed(self, line: AssistantLine) -> list[StreamEvent]:
        message, parent, used = line.message, line.parent_tool_use_id or "", line.message.usage or NO_USAGE
        size = self._messages.take(
            message.id,
            message.model,
            used.input_tokens,
            used.output_tokens,
            used.cache_read_input_tokens,
            used.cache_creation_input_tokens,
        )
        if size and not parent:
            self._used = size
        found: list[StreamEvent] = []
        for block in message.content:
            if isinstance(block, TextBlock):
                found.append(events.Said(block.text, parent, line.error or ""))
            elif isinstance(block, CallBlock):
                found.append(self._called(block.id, block.name, block.input, parent))
            else:
                found.append(events.Thought(block.thinking, parent))
        return found

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
        return found

    def _tool_call(self, block: dict[str, Any], parent: str) -> events.ToolCalled:
        given = block.get("input")
        values = given if isinstance(given, dict) else {"input": given}
        return self._called(word(block.get("id")), word(block.get("name")), values, parent)

    def _called(self, identity: str, name: str, given: dict[str, Any], parent: str) -> events.ToolCalled:
        if len(self._names) >= _REMEMBERED_TOOLS:
            self._names.clear()
        self._names[identity] = name
        return events.ToolCalled(identity, name, _table(given), parent)

    def _answered(self, line: UserLine) -> list[StreamEvent]:
        result: Any = line.tool_use_result
        facts = _table(result) if type(result) is dict else {}
        parent = line.parent_tool_use_id or ""
        return [
            events.Told(block.text, parent)
            if isinstance(block, TextBlock)
            else self._answer(block.tool_use_id, block.content, block.is_error, facts, parent)
            for block in line.message.content
        ]

    def _user(self, document: dict[str, Any]) -> list[StreamEvent]:
        parent = word(document.get("parent_tool_use_id"))
        result = document.get("tool_use_result")
        facts = _table(result) if isinstance(result, dict) else {}
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
            self._remember_refusal(identity, text)
        return events.ToolAnswered(identity, name, text, is_error is True, facts, parent)

    def _remember_refusal(self, identity: str, text: str) -> None:
        """The result names denials by their tool call; only what the call was answered says why."""
        if len(self._refusals) >= _REMEMBERED_REFUSALS:
            del self._refusals[next(iter(self._refusals))]
        self._refusals[identity] = text[:_REFUSAL]

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
        return [event]


@cache
def _known_fields() -> Callable[[bytes], dict[str, Any]]:
    """Imported when it is needed: a short call has no such line."""
    from claude_iterate.agent.protocol.known_fields import known_fields

    return known_fields


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


def _limit(document: dict[str, Any]) -> list[StreamEvent]:
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
