"""Reads Claude's `result` event: success or error, cost and tokens. `modelUsage` is complete, `usage` is not."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from claude_iterate.agent.protocol.fields import number, text_of, texts, whole, word
from claude_iterate.core.events import Denial, ResultReported, Tokens, ToolDenied
from claude_iterate.core.events.stream_events import request_of
from claude_iterate.core.reports import json_input

NONE: Mapping[str, ToolDenied] = MappingProxyType({})
MOST_TURNS = 1_000_000
HIGHEST_PRICE = 100_000.0
"""No call costs more; a number above this is an error in the stream."""
LARGEST_ANSWER = 1 << 20
"""Bytes. No honest answer to a hundred requirements comes near."""


def read_result(document: dict[str, Any], used: int = 0, refusals: Mapping[str, ToolDenied] = NONE) -> ResultReported:
    """The result; `used` is the size of the last request in tokens, `refusals` say why tools were refused, by the id of
    their call. The cost is the total that Claude Code names, see `call_cost`.

    One whose `is_error` is neither true nor false is malformed: an error, whatever else it says.
    """
    subtype = word(document.get("subtype"))
    is_error = document.get("is_error")
    cost = _cost(document)
    turns, tokens = whole(document.get("num_turns")), _tokens(document)
    structured, refused = _structured(document.get("structured_output"))
    return ResultReported(
        subtype=subtype,
        is_error=is_error is not False,
        text=text_of(document.get("result")),
        errors=texts(document.get("errors")),
        api_error_status=whole(document.get("api_error_status")) or None,
        session=word(document.get("session_id")),
        turns=turns if 0 <= turns <= MOST_TURNS else 0,
        cost_usd=cost or 0.0,
        tokens=tokens,
        denials=_denials(document.get("permission_denials"), refusals),
        context=_context(document, used),
        untold=cost is None,
        structured=structured,
        refused_bytes=refused,
        signs=_signs(document),
        malformed=not isinstance(is_error, bool),
        duration_ms=max(0, whole(document.get("duration_ms"))),
        duration_api_ms=max(0, whole(document.get("duration_api_ms"))),
    )


def _signs(document: dict[str, Any]) -> tuple[str, ...]:
    found = (word(document.get(name))[:80] for name in ("api_error", "api_error_type", "terminal_reason"))
    return tuple(dict.fromkeys(sign for sign in found if sign not in {"", "completed"}))


def _structured(answer: Any) -> tuple[dict[str, Any] | None, int]:
    """The answer in our schema, empty when it is no table, None when there is none; one that is far too large is
    refused, and its size is told."""
    if answer is None:
        return None, 0
    if not isinstance(answer, dict) or json_input.is_deep(answer):
        return {}, 0
    try:
        size = len(msgspec.json.encode(answer))
    except (ValueError, OverflowError):  # such as a number of a thousand digits
        return {}, 0
    return (answer, 0) if size <= LARGEST_ANSWER else (None, size)


def used_by_models(models: Any) -> tuple[float, Tokens] | None:
    """Dollars and tokens of a table with a row for each model; None when it is no such table."""
    if not isinstance(models, dict):
        return None
    costs = [_price(row.get("costUSD")) if isinstance(row, dict) else None for row in models.values()]
    known = [cost for cost in costs if cost is not None]
    return (sum(known), _sum(_rows(models), _OF_MODELS)) if len(known) == len(costs) else None


def _rows(models: Any) -> list[dict[str, Any]]:
    return [row for row in models.values() if isinstance(row, dict)] if isinstance(models, dict) else []


def _cost(document: dict[str, Any]) -> float | None:
    """What the process cost so far, from the sum or, if that makes no sense, from its parts; None when unknown."""
    total = _price(document.get("total_cost_usd"))
    if total is not None:
        return total
    parts = [part for row in _rows(document.get("modelUsage")) if (part := _price(row.get("costUSD"))) is not None]
    return sum(parts) if parts else None


def _price(value: Any) -> float | None:
    """A plausible price; one in a string counts as well, because money must not be overlooked."""
    if isinstance(value, str):
        try:
            value = float(value[:40])
        except ValueError:
            return None
    found = number(value)
    return found if found is not None and 0 <= found <= HIGHEST_PRICE else None


_OF_MODELS = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
_OF_USAGE = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def _tokens(document: dict[str, Any]) -> Tokens:
    models, usage = document.get("modelUsage"), document.get("usage")
    if isinstance(models, dict) and models:
        return _sum(_rows(models), _OF_MODELS)
    return _sum([usage] if isinstance(usage, dict) else [], _OF_USAGE)


def _sum(rows: list[dict[str, Any]], names: tuple[str, ...]) -> Tokens:
    counts = [[max(0, whole(row.get(name))) for name in names] for row in rows]
    return Tokens(*map(sum, zip(*counts, strict=True)))


def _context(document: dict[str, Any], used: int) -> float | None:
    """How full the context was at the end, from 0 to 1: the last request's tokens against the model's window."""
    windows = [whole(row.get("contextWindow")) for row in _rows(document.get("modelUsage"))]
    return used / max(windows) if used > 0 and windows and max(windows) > 0 else None


def _denials(value: Any, refusals: Mapping[str, ToolDenied]) -> tuple[Denial, ...]:
    if not value or not isinstance(value, list):
        return ()
    return tuple(_denial(item, refusals) for item in value if isinstance(item, dict))


def _denial(item: dict[str, Any], refusals: Mapping[str, ToolDenied]) -> Denial:
    refusal = refusals.get(word(item.get("tool_use_id"))) or ToolDenied("")
    given = item.get("tool_input")
    detail = request_of(given) if isinstance(given, dict) else ""
    return Denial(word(item.get("tool_name")) or "a tool", detail, refusal.said, refusal.why)
