"""Reads Claude's `result` event: success or error, cost and tokens. `modelUsage` is complete, `usage` is not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from claude_iterate.agent.protocol.common_lines import (
    HIGHEST_PRICE,
    MOST_TURNS,
    NO_USAGE,
    ModelUsage,
    ResultLine,
    Usage,
)
from claude_iterate.agent.protocol.fields import number, text_of, texts, whole, word
from claude_iterate.core.events import Denial, ResultReported, Tokens
from claude_iterate.core.events.stream_events import telling
from claude_iterate.core.reports import json_input

NONE: Mapping[str, str] = MappingProxyType({})
_DETAIL = 500
LARGEST_ANSWER = 1 << 20
"""Bytes. No honest answer to a hundred requirements comes near."""


def read_result(document: dict[str, Any], used: int = 0, refusals: Mapping[str, str] = NONE) -> ResultReported:
    """The result; `used` is the size of the last request in tokens, `refusals` what tools refused, by the call's id.

    A missing or odd `is_error` counts as an error unless the subtype says success.
    """
    subtype = word(document.get("subtype"))
    is_error = document.get("is_error")
    cost = _cost(document)
    turns = whole(document.get("num_turns"))
    structured, refused = _structured(document.get("structured_output"))
    return ResultReported(
        subtype=subtype,
        is_error=is_error if isinstance(is_error, bool) else subtype != "success",
        text=text_of(document.get("result")),
        errors=texts(document.get("errors")),
        api_error_status=whole(document.get("api_error_status")) or None,
        session=word(document.get("session_id")),
        turns=turns if 0 <= turns <= MOST_TURNS else 0,
        cost_usd=cost or 0.0,
        tokens=_tokens(document),
        denials=_denials(document.get("permission_denials"), refusals),
        context=_context(document, used),
        untold=cost is None,
        structured=structured,
        refused_bytes=refused,
    )


def read_common_result(line: ResultLine, used: int, refusals: Mapping[str, str]) -> ResultReported:
    """As `read_result`, of a line in the usual shape."""
    models, cost = line.models.values(), line.total_cost_usd
    if cost is None:
        parts = [row.cost for row in models if row.cost is not None]
        cost = sum(parts) if parts else None
    structured, refused = _structured(line.structured_output)
    window = max([row.context_window for row in models]) if used and models else 0
    return ResultReported(
        line.subtype,
        line.is_error,
        line.result,
        line.errors,
        line.api_error_status or None,
        line.session_id,
        line.num_turns,
        cost or 0.0,
        _sum(models or [line.usage or NO_USAGE]),
        _denials(line.permission_denials, refusals),
        used / window if window else None,
        cost is None,
        structured=structured,
        refused_bytes=refused,
    )


def _sum(rows: Iterable[Usage | ModelUsage]) -> Tokens:
    found = [
        Tokens(row.input_tokens, row.output_tokens, row.cache_read_input_tokens, row.cache_creation_input_tokens)
        for row in rows
    ]
    return found[0] if len(found) == 1 else sum(found, Tokens())


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


def _models(document: dict[str, Any]) -> list[dict[str, Any]]:
    """What each model used."""
    models = document.get("modelUsage")
    return [row for row in models.values() if isinstance(row, dict)] if isinstance(models, dict) else []


def _cost(document: dict[str, Any]) -> float | None:
    """What the process cost so far, from the sum or, if that makes no sense, from its parts; None when unknown."""
    total = _price(document.get("total_cost_usd"))
    if total is not None:
        return total
    parts = [part for row in _models(document) if (part := _price(row.get("costUSD"))) is not None]
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


def _tokens(document: dict[str, Any]) -> Tokens:
    models = document.get("modelUsage")
    if isinstance(models, dict) and models:
        rows = [row for row in models.values() if isinstance(row, dict)]
        names = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
    else:
        usage = document.get("usage")
        rows = [usage] if isinstance(usage, dict) else []
        names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    counts = [[max(0, whole(row.get(name))) for name in names] for row in rows]
    return Tokens(*(counts[0] if len(counts) == 1 else map(sum, zip(*counts, strict=True))))


def _context(document: dict[str, Any], used: int) -> float | None:
    """How full the context was at the end, from 0 to 1: the last request's tokens against the model's window."""
    windows = [whole(row.get("contextWindow")) for row in _models(document)]
    return used / max(windows) if used > 0 and windows and max(windows) > 0 else None


def _denials(value: Any, refusals: Mapping[str, str]) -> tuple[Denial, ...]:
    if not value or not isinstance(value, list):
        return ()
    return tuple(
        Denial(
            word(item.get("tool_name")) or "a tool",
            _detail(item.get("tool_input")),
            refusals.get(word(item.get("tool_use_id")), ""),
        )
        for item in value
        if isinstance(item, dict)
    )


def _detail(given: Any) -> str:
    """What the tool was asked to do, in short."""
    return telling(given)[1][:_DETAIL] if isinstance(given, dict) else ""
