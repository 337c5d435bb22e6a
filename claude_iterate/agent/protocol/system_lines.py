"""Reads what Claude Code says of itself in `system` lines: its session, retries, tasks, and notices of any kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from claude_iterate.agent.protocol.fields import number, text_of, texts, whole, word
from claude_iterate.core import events
from claude_iterate.core.events import StreamEvent

SCHEMA_TOOL = "StructuredOutput"
"""Claude Code has this tool when it was given a schema for the answer."""
_MOST_TASKS = 1000
_MOST_TOOLS = 50
_LONGEST_NAME = 80
"""Characters of a tool's name, few enough for every journal to have it."""
_NOT_SHOWN = frozenset({"type", "subtype", "uuid", "session_id", "parent_tool_use_id", "request_id", "timestamp"})


def _session(document: dict[str, Any]) -> StreamEvent:
    servers, tools = document.get("mcp_servers"), document.get("tools")
    return events.SessionOpened(
        word(document.get("session_id")),
        word(document.get("model")),
        word(document.get("claude_code_version")),
        word(document.get("permissionMode")),
        (*_troubled(servers if isinstance(servers, list) else ()), *texts(document.get("plugin_errors"))),
        isinstance(tools, list) and SCHEMA_TOOL in tools,
        word(document.get("cwd")),
        _first(tools) if isinstance(tools, list) else (),
    )


def _troubled(servers: Iterable[Any]) -> list[str]:
    return [
        f"MCP server {word(server.get('name'))}: {word(server.get('status'))}"
        for server in servers
        if isinstance(server, dict) and server.get("status") not in {"connected", "pending", None}
    ]


def _first(tools: list[Any]) -> tuple[str, ...]:
    """Their names, few enough for every journal to have them."""
    return tuple([(name if type(name) is str else text_of(name))[:_LONGEST_NAME] for name in tools[:_MOST_TOOLS]])


def _retry(document: dict[str, Any]) -> StreamEvent:
    delay = number(document.get("retry_delay_ms"))
    return events.ApiRetried(
        whole(document.get("attempt")),
        whole(document.get("max_retries")),
        (delay or 0.0) / 1000,
        whole(document.get("error_status")) or None,
        word(document.get("error")),
    )


def _task_started(document: dict[str, Any]) -> events.TaskStarted:
    return events.TaskStarted(*_words(document, "task_id", "task_type", "description"))


def _tasks_listed(document: dict[str, Any]) -> StreamEvent:
    tasks = document.get("tasks")
    if not isinstance(tasks, list):
        return events.AgentNoted("background_tasks_changed", remark(document))
    return events.TasksListed(tuple(_task_started(task) for task in tasks[:_MOST_TASKS] if isinstance(task, dict)))


def _task_updated(document: dict[str, Any]) -> StreamEvent:
    patch = document.get("patch")
    status = word(patch.get("status")) if isinstance(patch, dict) else ""
    if status in {"completed", "failed", "stopped", "killed"}:
        return events.TaskEnded(word(document.get("task_id")), status)
    return events.AgentNoted("task_updated", status)


def _compacted(document: dict[str, Any]) -> StreamEvent:
    about = document.get("compact_metadata")
    about = about if isinstance(about, dict) else {}
    return events.ContextCompacted(word(about.get("trigger")), whole(about.get("pre_tokens")))


def _denied(document: dict[str, Any]) -> events.ToolDenied:
    identity, tool, said, why = _words(document, "tool_use_id", "tool_name", "message", "decision_reason_type")
    return events.ToolDenied(identity, tool, said, why[:80])


def _words(document: dict[str, Any], *names: str) -> list[str]:
    return [word(document.get(name)) for name in names]


SYSTEM: dict[str, Callable[[dict[str, Any]], StreamEvent]] = {
    "init": _session,
    "api_retry": _retry,
    "compact_boundary": _compacted,
    "task_started": _task_started,
    "background_tasks_changed": _tasks_listed,
    "permission_denied": _denied,
    "task_updated": _task_updated,
    "task_notification": lambda document: events.TaskEnded(*_words(document, "task_id", "status", "summary")),
}
"""What reads a line, by its subtype. Of all others there is a remark."""


def remark(document: dict[str, Any]) -> str:
    """A notice as text for users: its short values; long ones are in the raw stream."""
    said = [
        f"{key}={value}"
        for key, value in document.items()
        if key not in _NOT_SHOWN and isinstance(value, str | int | float) and value != ""
    ]
    return " ".join(said)[:500]
