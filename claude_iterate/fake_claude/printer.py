"""Prints the events of the fake Claude: a stream of them, or only the last result (text, json).

Every event is written at once and whole; nothing is buffered, and a reader that is gone does not stop the fake.
"""

from __future__ import annotations

import os
import time

from claude_iterate.fake_claude import json_alone, shapes
from claude_iterate.fake_claude.arguments import Arguments
from claude_iterate.fake_claude.shapes import Document

VERSION = "0.0.0"
MODEL = "claude-fake-0"
SCHEMA_TOOL = "StructuredOutput"


def put(data: bytes, descriptor: int = 1) -> None:
    """Write all of it. Like Claude Code, go on when no reader is left."""
    view = memoryview(data)
    try:
        while view.nbytes:
            view = view[os.write(descriptor, view) :]
    except OSError:
        return


def fresh_id(prefix: str = "") -> str:
    """A random id: a UUID, or with a prefix such as `toolu_` the short form of the API."""
    digits = os.urandom(16).hex()
    if prefix:
        return prefix + digits[:24]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


def timestamp() -> str:
    """The time now, as JavaScript writes it."""
    seconds, milliseconds = divmod(time.time_ns() // 1_000_000, 1000)
    return time.strftime(f"%Y-%m-%dT%H:%M:%S.{milliseconds:03d}Z", time.gmtime(seconds))


class Stream:
    """One conversation."""

    def __init__(self, arguments: Arguments, pace: float = 0.0) -> None:
        self.arguments = arguments
        self.format = arguments.output_format
        self.session = arguments.values.get("--session-id") or arguments.values.get("--resume") or fresh_id()
        self.model = arguments.values.get("--model") or MODEL
        self.last_text = ""
        self.failed = False
        self.structured: object = None
        self._pace = pace
        self._turns = 0
        self._began = time.monotonic()
        self._kept: list[Document] = []

    def line(self, event: object) -> None:
        """Print anything as one line of JSON, whatever the format."""
        put(f"{json_alone.compact(event)}\n".encode("utf-8", "replace"))

    def send(self, event: Document) -> None:
        """One event, with the ids that all events have."""
        if self._pace > 0:
            time.sleep(self._pace)
        event = {**event, "session_id": event.get("session_id", self.session), "uuid": event.get("uuid", fresh_id())}
        if self.format == "stream-json":
            self.line(event)
        else:
            self._kept.append(event)

    def init(self, **overrides: object) -> None:
        """The event that opens a session."""
        mode = self.arguments.values.get("--permission-mode", "default")
        if "--dangerously-skip-permissions" in self.arguments.flags:
            mode = "bypassPermissions"
        without = self.arguments.lists.get("--disallowedTools", [])
        tools = [tool for tool in shapes.SESSION["tools"] if tool not in without]
        tools += [SCHEMA_TOOL] if self.by_schema else []
        self.send({**shapes.init(os.getcwd(), self.model, mode, VERSION), "tools": tools, **overrides})

    @property
    def by_schema(self) -> bool:
        """True when the answer is to have a schema."""
        return "--json-schema" in self.arguments.values

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
        identity = fresh_id("toolu_")
        self._assistant({"type": "tool_use", "name": name, "input": given, "id": identity})
        return identity

    def answer(self, identity: str, text: str, facts: object, is_error: bool = False) -> None:
        """The tool's result. `facts` is an object on success and, as in Claude Code, a string on an error."""
        block: Document = {"tool_use_id": identity, "type": "tool_result", "content": text}
        if is_error:
            block["is_error"] = True
        event = shapes.user(block, timestamp())
        self.send({**event, "tool_use_result": f"Error: {text}" if is_error else facts})

    def result(self, **overrides: object) -> None:
        """The result event. In text and json format it is all that is printed."""
        elapsed = int((time.monotonic() - self._began) * 1000)
        event = shapes.result(self.last_text, self.model, self._turns, elapsed)
        if self.structured is not None:
            event |= {"result": json_alone.dumps(self.structured), "structured_output": self.structured}
        event |= overrides
        self.failed = bool(event.get("is_error"))
        self.send(event)
        if self.format == "text":
            put(f"{event.get('result') or ''}\n".encode("utf-8", "replace"))
        elif self.format == "json":
            self.line(self._kept if "--verbose" in self.arguments.flags else self._kept[-1])

    def interrupted(self) -> None:
        """What Claude Code prints after SIGINT."""
        self._pace = 0.0
        if self.format == "text":
            put(b"Execution error\n")
            return
        block = {"type": "text", "text": "[Request interrupted by user for tool use]"}
        self.send(shapes.user(block, timestamp()))
        self.result(
            subtype="error_during_execution",
            is_error=True,
            result=None,
            errors=["[ede_diagnostic] result_type=user last_content_type=n/a stop_reason=tool_use"],
            stop_reason="tool_use",
            terminal_reason="aborted_tools",
        )

    def _assistant(self, block: Document) -> None:
        self._turns += 1
        self.send(shapes.assistant(block, self.model, fresh_id("msg_"), fresh_id("req_")))
