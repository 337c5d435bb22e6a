"""Reads Claude's `result` event: its verdict, cost and tokens. `modelUsage` is complete, `usage` is not."""

from __future__ import annotations

from typing import Any

from claude_iterate.agent.protocol.fields import number, text_of, texts, whole, word
from claude_iterate.core.events import Denial, ResultReported, Tokens

_MOST_TURNS = 1_000_000
_DEAREST = 100_000.0
"""No call costs more; a number above this is a slip of whoever wrote it."""


def read_result(document: dict[str, Any], used: int = 0) -> ResultReported:
    """The result; `used` is the size of the last request in tokens.

    A missing or odd `is_error` counts as an error unless the subtype says success.
    """
    subtype = word(document.get("subtype"))
    is_error = document.get("is_error")
    cost = _cost(document)
    return ResultReported(
        subtype,
        is_error if isinstance(is_error, bool) else subtype != "success",
        text_of(document.get("result")),
        texts(document.get("errors")),
        whole(document.get("api_error_status")) or None,
        word(document.get("session_id")),
        _turns(document.get("num_turns")),
        cost or 0.0,
        _tokens(document),
        _denials(document.get("permission_denials")),
        _context(document, used),
        cost is None,
    )


def _cost(document: dict[str, Any]) -> float | None:
    """What the process cost so far, from the sum or, if that makes no sense, from its parts; None: not told."""
    total = _price(document.get("total_cost_usd"))
    if total is not None:
        return total
    models = document.get("modelUsage")
    rows = models.values() if isinstance(models, dict) else ()
    parts = [part for row in rows if isinstance(row, dict) and (part := _price(row.get("costUSD"))) is not None]
    return sum(parts) if parts else None


def _price(value: Any) -> float | None:
    """A price that can be one; in a string it counts as well, because money must not be overlooked."""
    if isinstance(value, str):
        try:
            value = float(value[:40])
        except ValueError:
            return None
    found = number(value)
    return found if found is not None and 0 <= found <= _DEAREST else None


def _tokens(document: dict[str, Any]) -> Tokens:
    models = document.get("modelUsage")
    if isinstance(models, dict) and models:
        rows = [row for row in models.values() if isinstance(row, dict)]
        names = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
    else:
        usage = document.get("usage")
        rows = [usage] if isinstance(usage, dict) else []
        names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return Tokens(*(sum(max(0, whole(row.get(name))) for row in rows) for name in names))


def _context(document: dict[str, Any], used: int) -> float | None:
    """How full the context was at the end, from 0 to 1: the last request's tokens against the model's window."""
    models = document.get("modelUsage")
    rows = models.values() if isinstance(models, dict) else ()
    windows = [whole(row.get("contextWindow")) for row in rows if isinstance(row, dict)]
    return used / max(windows) if used > 0 and windows and max(windows) > 0 else None


def _denials(value: Any) -> tuple[Denial, ...]:
    if not isinstance(value, list):
        return ()
    return tuple(
        Denial(word(item.get("tool_name")) or "a tool", _detail(item.get("tool_input")))
        for item in value
        if isinstance(item, dict)
    )


def _detail(given: Any) -> str:
    """What the tool was asked to do, shortly."""
    if not isinstance(given, dict):
        return ""
    for key in ("command", "file_path", "path", "url", "pattern"):
        if word(given.get(key)):
            return word(given[key])[:200]
    return ""


def _turns(value: Any) -> int:
    turns = whole(value)
    return turns if 0 <= turns <= _MOST_TURNS else 0
