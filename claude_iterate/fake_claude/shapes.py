"""The shapes of Claude Code's events, as recorded from version 2.1.197. Pure: values in, a dictionary out."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:  # not from typing: importing that takes longer than printing an event
    from typing import Any

Document = dict[str, "Any"]
INPUT_TOKENS, OUTPUT_TOKENS, TURN_COST = 1200, 150, 0.004
"""What one turn of the fake pretends to use."""

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


def init(cwd: str, model: str, permission_mode: str, version: str) -> Document:
    """The event that opens a session."""
    known = {"cwd": cwd, "model": model, "permissionMode": permission_mode, "claude_code_version": version}
    return {"type": "system", "subtype": "init", **known, **SESSION}


def assistant(block: Document, model: str, message: str, request: str) -> Document:
    """One content block by the model. As in Claude Code, its usage is a placeholder and must not be summed."""
    usage = {"input_tokens": INPUT_TOKENS, "cache_read_input_tokens": 0, "output_tokens": 1}
    content = {"id": message, "type": "message", "role": "assistant", "model": model, "content": [block]}
    ending = {"stop_reason": None, "stop_sequence": None, "usage": usage, "context_management": None}
    return {"type": "assistant", "message": content | ending, "parent_tool_use_id": None, "request_id": request}


def user(block: Document, now: str) -> Document:
    """A message to the model: a tool's result or an interruption."""
    message = {"role": "user", "content": [block]}
    return {"type": "user", "message": message, "parent_tool_use_id": None, "timestamp": now}


def result(text: str, model: str, turns: int, milliseconds: int) -> Document:
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
