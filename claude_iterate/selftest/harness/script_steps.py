"""Parts of scripts for the fake Claude: whole calls, and what goes wrong in one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Step = dict[str, Any]
Steps = Sequence[Step]

INIT: Step = {"init": {}}
COMPLETE: Step = {"status": {"complete": True}}
UNFINISHED: Step = {"status": {"complete": False}}
RESULT: Step = {"result": {"total_cost_usd": 0.01}}
HANG: Step = {"hang": True}
READY: Step = {"touch": "ready"}
GO: Step = {"wait_for": "go"}
LEFT: Step = {"grandchild": {"seconds": 300, "own_session": True, "hold_stdout": True, "pidfile": "left"}}


def finish(*between: Step) -> list[Step]:
    """A call that completes the task, with these steps in it."""
    return [INIT, *between, COMPLETE, RESULT]


def proceed(*between: Step) -> list[Step]:
    """A call that leaves more to do."""
    return [INIT, *between, UNFINISHED, RESULT]


def report_nothing(*between: Step) -> list[Step]:
    """A good call that reports nothing but what these steps report."""
    return [INIT, *between, RESULT]


def message(text: str, **more: Any) -> Step:
    """A message of the model, or with `error` a message of Claude Code."""
    return {"event": {"type": "assistant", "message": {"content": [{"type": "text", "text": text}]}, **more}}


def api_error(text: str, status: int | None, error: str, *before: Step) -> list[Step]:
    """A call that the API refused, as Claude Code reports it."""
    failed = {"is_error": True, "api_error_status": status, "result": text, "total_cost_usd": 0}
    return [INIT, *before, message(text, error=error), {"result": failed}]


def usage_limit(text: str, seconds: float | None) -> list[Step]:
    """A window that is used up and opens again in so many seconds, or at an unknown moment."""
    rejected = {"rejected": {"window": "five_hour", "seconds": seconds}} if seconds is not None else None
    return api_error(text, 429, "rate_limit", *([rejected] if rejected else []))


def tool_use(identity: str, command: str) -> Step:
    """The model starts a shell command that never returns."""
    call = {"type": "tool_use", "id": identity, "name": "Bash", "input": {"command": command}}
    return {"event": {"type": "assistant", "message": {"content": [call]}}}
