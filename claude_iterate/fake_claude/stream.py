"""Prints the events of the fake Claude.

Every event is written at once and whole; nothing is buffered, and a reader that is gone does not stop the fake. Events
have the shapes of version 2.1.197, as recorded.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from claude_iterate.fake_claude.arguments import Arguments

VERSION = "0.0.0"
MODEL = "claude-fake-0"
SCHEMA_TOOL = "StructuredOutput"
INPUT_TOKENS, OUTPUT_TOKENS, TURN_COST = 1200, 150, 0.004
"""What one turn of the fake pretends to use."""
Document = dict[str, Any]
SESSION: Document = {
    "tools": ["Task", "Bash", "Edit", "NotebookEdit", "Read", "WebFetch", "WebSearch", "Write"],
    "mcp_servers": [],
    "slash_commands": [],
    "apiKeySource": "none",
    "output_style": "default",
    "agents": [],
    "skills": [],
    "plugins": [],
}


def put(data: bytes, descriptor: int = 1) -> None:
    """Write all of it. Like Claude Code, go on when no reader is left."""
    view = memoryview(data)
    try:
        while view.nbytes:
            view = view[os.write(descriptor, view) :]
    except OSError:
        return


def timestamp() -> str:
    """The time now, as JavaScript writes it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Stream:
    """One conversation."""

    def __init__(self, arguments: Arguments, pace: float = 0.0) -> None:
        self.arguments = arguments
        self.session = arguments.values.get("--session-id") or arguments.values.get("--resume") or str(uuid.uuid4())
        self.model = arguments.values.get("--model") or MODEL
        self.last_text = ""
        self.failed = False
        self.structured: object = None
        self._pace = pace
        self._turns = 0
        self._began = time.monotonic()

    def line(self, event: object) -> None:
        """Print anything as one line of JSON."""
        text = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
        put(f"{text}\n".encode("utf-8", "replace"))

    def send(self, event: Document) -> None:
        """One event, with the ids that all events have."""
        if self._pace > 0:
            time.sleep(self._pace)
        ids = {"session_id": self.session, "uuid": str(uuid.uuid4())}
        self.line({**event, **{name: event.get(name, value) for name, value in ids.items()}})

    def init(self, **overrides: object) -> None:
        """The event that opens a session."""
        mode = self.arguments.values.get("--permission-mode", "default")
        if "--dangerously-skip-permissions" in self.arguments.flags:
            mode = "bypassPermissions"
        without = self.arguments.lists.get("--disallowedTools", [])
        tools = [tool for tool in SESSION["tools"] if tool not in without]
        tools += [SCHEMA_TOOL] if "--json-schema" in self.arguments.values else []
        known = {"cwd": str(Path.cwd()), "model": self.model, "permissionMode": mode, "claude_code_version": VERSION}
        self.send({"type": "system", "subtype": "init", **known, **SESSION, "tools": tools, **overrides})

    def answer_by_schema(self, document: object) -> None:
        """The model gives its answer in the schema; any structure will do here."""
        given = document if isinstance(document, dict) else {"answer": document}
        self.answer(self.call(SCHEMA_TOOL, given), "Structured output provided successfully", {})
        self.structured = document

    def say(self, text: str) -> None:
        """Text by the model."""
        self.last_text = text
        self._assistant({"type": "text", "text": text})

    def call(self, name: str, given: Document) -> str:
        """The model uses a tool; the id ties the answer to it."""
        identity = _short_id("toolu_")
        self._assistant({"type": "tool_use", "name": name, "input": given, "id": identity})
        return identity

    def answer(self, identity: str, text: str, facts: object, is_error: bool = False) -> None:
        """The tool's result. `facts` is an object on success and, as in Claude Code, a string on an error."""
        block: Document = {"tool_use_id": identity, "type": "tool_result", "content": text}
        if is_error:
            block["is_error"] = True
        self.send({**_user(block), "tool_use_result": f"Error: {text}" if is_error else facts})

    def result(self, **overrides: object) -> None:
        """The event that ends a conversation."""
        elapsed = int((time.monotonic() - self._began) * 1000)
        event = _success(self.last_text, self.model, self._turns, elapsed)
        if self.structured is not None:
            event |= {"result": json.dumps(self.structured), "structured_output": self.structured}
        event |= overrides
        self.failed = bool(event.get("is_error"))
        self.send(event)

    def interrupt(self) -> None:
        """What Claude Code prints after SIGINT."""
        self._pace = 0.0
        self.send(_user({"type": "text", "text": "[Request interrupted by user for tool use]"}))
        self.result(
            subtype="error_during_execution",
            is_error=True,
            result=None,
            errors=["[ede_diagnostic] result_type=user last_content_type=n/a stop_reason=tool_use"],
            stop_reason="tool_use",
            terminal_reason="aborted_tools",
        )

    def _assistant(self, block: Document) -> None:
        """One content block by the model. As in Claude Code, its usage is a placeholder and must not be summed."""
        self._turns += 1
        usage = {"input_tokens": INPUT_TOKENS, "cache_read_input_tokens": 0, "output_tokens": 1}
        content = {"type": "message", "role": "assistant", "model": self.model, "content": [block]}
        ending = {"stop_reason": None, "stop_sequence": None, "usage": usage, "context_management": None}
        message = {"id": _short_id("msg_"), **content, **ending}
        known = {"parent_tool_use_id": None, "request_id": _short_id("req_")}
        self.send({"type": "assistant", "message": message, **known})


def _short_id(prefix: str) -> str:
    """A random id as the API makes them."""
    return prefix + uuid.uuid4().hex[:24]


def _user(block: Document) -> Document:
    """A message to the model: a tool's result or an interruption."""
    message = {"role": "user", "content": [block]}
    return {"type": "user", "message": message, "parent_tool_use_id": None, "timestamp": timestamp()}


def _success(text: str, model: str, turns: int, milliseconds: int) -> Document:
    """A successful result; the caller overrides what differs."""
    spent = round(turns * TURN_COST, 6)
    tokens = {"inputTokens": turns * INPUT_TOKENS, "outputTokens": turns * OUTPUT_TOKENS}
    cached = {"cacheReadInputTokens": 0, "cacheCreationInputTokens": 0}
    limits = {"webSearchRequests": 0, "costUSD": spent, "contextWindow": 200_000, "maxOutputTokens": 64_000}
    return {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "api_error_status": None,
        "duration_ms": milliseconds,
        "duration_api_ms": milliseconds,
        "num_turns": turns,
        "result": text,
        "stop_reason": "end_turn",
        "total_cost_usd": spent,
        "usage": {
            "input_tokens": tokens["inputTokens"],
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": tokens["outputTokens"],
            "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
            "service_tier": "standard",
        },
        "modelUsage": {model: {**tokens, **cached, **limits}} if turns else {},
        "permission_denials": [],
        "terminal_reason": "completed",
        "fast_mode_state": "off",
    }
