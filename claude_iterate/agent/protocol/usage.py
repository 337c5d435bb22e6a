"""What one call of Claude used: dollars and tokens, from its messages and from its results. Pure.

A message comes as one line per block, each with the same id and usage: it counts once. Its output is not complete when
it is printed, so the sum of messages is what was used at least, until a result names the cost. A result does that in
one of three ways:

* `model_usage_since_last_result` (Claude Code since 2.1.309) is what this process used since its last result.
* Before that, `total_cost_usd` and `modelUsage` are what this process used (until 2.1.276)
* or what the session used, with all calls before the one that resumes it (since 2.1.277).

The last two look alike. No version decides between them, the tokens do: every message names the size of its request, so
this call used at least that much. A total that is less than this above what the session had before does not hold it.
"""

from __future__ import annotations

import contextlib
from typing import Any, TypeVar

import msgspec
from msgspec.structs import astuple, replace

from claude_iterate.core.events import ResultReported, Tokens, UsageReported
from claude_iterate.core.foreign_json import number, table, tables, whole, word
from claude_iterate.core.prices import at_least

MOST_TOKENS = 100_000_000
"""No message has more; a number above this is an error in the stream."""
HIGHEST_PRICE = 100_000.0
"""No call costs more; a number above this is an error in the stream."""
_REMEMBERED = 4096
_INTERRUPTED = "error_during_execution"
_NOISE = 1e-7
"""Dollars: a matter of how computers add."""
_OF_USAGE = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_OF_MODELS = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")


T = TypeVar("T")


class Recent(dict[str, T]):
    """The last so many entries: a stream without end must not fill our memory."""

    def __setitem__(self, key: str, value: T) -> None:
        super().__setitem__(key, value)
        if len(self) > _REMEMBERED:
            del self[next(iter(self))]


class Used(msgspec.Struct, frozen=True):
    """Dollars and tokens."""

    cost_usd: float = 0.0
    tokens: Tokens = Tokens()


class CallUsage:
    """Follows one process. `session` is what the session had named when this call resumed it."""

    def __init__(self, session: Used) -> None:
        self._session = session
        self._session_is_decided = session == Used()
        self._named = Used()
        """What results named so far as used by this process."""
        self._known: Recent[bool] = Recent()
        self._unnamed = Used()
        """What messages used since the last result that named the cost."""
        self._last = ResultReported()
        self._is_new = False

    def count(self, message: dict[str, Any]) -> int:
        """Take a message into account, unless it is known; the size of its request in tokens, 0 when it is known."""
        identity = word(message.get("id"))
        tokens = _message_tokens(message.get("usage"))
        if identity:
            if identity in self._known:
                return 0
            self._known[identity] = True
            if tokens != Tokens():
                cost = at_least(word(message.get("model")), *astuple(tokens)) or 0.0
                self._unnamed = Used(self._unnamed.cost_usd + cost, self._unnamed.tokens + tokens)
                self._is_new = True
        return _read_by_model(tokens)

    def settle(self, result: ResultReported, document: dict[str, Any]) -> ResultReported:
        """The result with what this call used so far in the place of the total that Claude Code names."""
        result = self._of_this_call(result, document)
        if result.untold:
            return result
        before, self._last = self._last, result
        # A result that names the cost leaves nothing to count. Only one that comes after an interruption lacks the
        # answer that was interrupted; what the messages cost beyond it stays.
        left = self._unnamed.cost_usd - (result.cost_usd - before.cost_usd) if result.subtype == _INTERRUPTED else 0.0
        self._is_new = left > _NOISE
        more = _minus(result.tokens, before.tokens)
        self._unnamed = Used(left, _minus(self._unnamed.tokens, more)) if self._is_new else Used()
        return result

    def news(self) -> UsageReported | None:
        """The sum of messages, if it has changed since it was last asked for."""
        if not self._is_new:
            return None
        self._is_new = False
        return UsageReported(self._unnamed.tokens, round(self._unnamed.cost_usd, 9))

    def _of_this_call(self, result: ResultReported, document: dict[str, Any]) -> ResultReported:
        since_last = _used_by_models(document.get("model_usage_since_last_result"))
        if since_last is not None:
            self._named = Used(self._named.cost_usd + since_last.cost_usd, self._named.tokens + since_last.tokens)
            return _with_usage(result, self._named)
        if not self._session_is_decided and not result.untold:
            self._session_is_decided = True
            above = _read_by_model(result.tokens) - _read_by_model(self._session.tokens)
            if above < _read_by_model(self._unnamed.tokens):
                self._session = Used()
        if result.untold or self._session == Used():
            return result
        cost = max(0.0, result.cost_usd - self._session.cost_usd)
        return _with_usage(result, Used(cost, _minus(result.tokens, self._session.tokens)))


def _with_usage(result: ResultReported, used: Used) -> ResultReported:
    """The result with this in the place of the total, which it keeps beside it if it is another."""
    total = Used(result.cost_usd, result.tokens)
    kept = Used() if total.tokens == used.tokens else total
    return replace(
        result,
        cost_usd=used.cost_usd,
        tokens=used.tokens,
        session_cost_usd=kept.cost_usd,
        session_tokens=kept.tokens,
        untold=False,
    )


def total_cost(document: dict[str, Any]) -> float | None:
    """What a result names as the whole cost, by the sum or, if that makes no sense, by its parts; None when unknown."""
    total = _price(document.get("total_cost_usd"))
    if total is not None:
        return total
    parts = [part for row in model_rows(document) if (part := _price(row.get("costUSD"))) is not None]
    return sum(parts) if parts else None


def total_tokens(document: dict[str, Any]) -> Tokens:
    """What a result names as all tokens. `modelUsage` is complete, `usage` is not."""
    if table(document.get("modelUsage")):
        return _sum(model_rows(document))
    return _tokens(table(document.get("usage")), _OF_USAGE)


def model_rows(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of `modelUsage`, one for each model."""
    return tables(list(table(document.get("modelUsage")).values()))


def _used_by_models(models: Any) -> Used | None:
    """The sum of a table with a row for each model; None when it is not such a table, or a price is missing."""
    if not isinstance(models, dict):
        return None
    costs = [_price(row.get("costUSD")) if isinstance(row, dict) else None for row in models.values()]
    if None in costs:
        return None
    return Used(sum(cost or 0.0 for cost in costs), _sum(list(models.values())))


def _sum(rows: list[dict[str, Any]]) -> Tokens:
    return sum((_tokens(row, _OF_MODELS) for row in rows), Tokens())


def _tokens(row: dict[str, Any], names: tuple[str, ...]) -> Tokens:
    return Tokens(*[max(0, whole(row.get(name))) for name in names])


def _message_tokens(usage: Any) -> Tokens:
    counts = [whole(table(usage).get(name)) for name in _OF_USAGE]
    return Tokens(*[count if 0 <= count <= MOST_TOKENS else 0 for count in counts])


def _minus(tokens: Tokens, other: Tokens) -> Tokens:
    return Tokens(*[max(0, count - less) for count, less in zip(astuple(tokens), astuple(other), strict=True)])


def _read_by_model(tokens: Tokens) -> int:
    """What the model read. What it wrote is complete only in the result."""
    return tokens.input + tokens.cache_read + tokens.cache_creation


def _price(value: Any) -> float | None:
    """A plausible price. One that is written as text counts, too: no money may be overlooked."""
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            value = float(value[:40])
    found = number(value)
    return found if found is not None and 0 <= found <= HIGHEST_PRICE else None
