"""What a call used, from results that may name what its whole session used. Pure.

A result says it in one of three ways:

* `model_usage_since_last_result` (Claude Code since 2.1.309) is what this process used since its last result.
* Before that, `total_cost_usd` and `modelUsage` are what this process used (until 2.1.276)
* or what the session used, with all calls before the one that resumes it (since 2.1.277).

The last two look alike. No version decides between them, the tokens do: every message names the size of its request, so
this call used at least that much. A total that is less than this above what the session had before does not hold it.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import astuple, replace

from claude_iterate.agent.protocol.result import used_by_models
from claude_iterate.core.events import ResultReported, Tokens


class Used(msgspec.Struct, frozen=True):
    """Dollars and tokens."""

    cost_usd: float = 0.0
    tokens: Tokens = Tokens()


class CallCost:
    """Follows the results of one process. `before` is what the session had named when this call resumed it."""

    def __init__(self, before: Used) -> None:
        self._before = before
        self._since = Used()
        self._is_decided = before == Used()

    def of_this_call(self, result: ResultReported, document: dict[str, Any], requests: Tokens) -> ResultReported:
        """The result with what this call used so far; `requests` is what its messages used since the last result."""
        named = used_by_models(document.get("model_usage_since_last_result"))
        if named is not None:
            cost, tokens = named
            self._since = Used(self._since.cost_usd + cost, self._since.tokens + tokens)
            return _as(result, self._since)
        if not self._is_decided and not result.untold:
            self._is_decided = True
            if _read(result.tokens) - _read(self._before.tokens) < _read(requests):
                self._before = Used()
        if result.untold or self._before == Used():
            return result
        before = self._before
        tokens = Tokens(*[max(0, a - b) for a, b in zip(astuple(result.tokens), astuple(before.tokens), strict=True)])
        return _as(result, Used(max(0.0, result.cost_usd - before.cost_usd), tokens))


def _as(result: ResultReported, used: Used) -> ResultReported:
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


def _read(tokens: Tokens) -> int:
    """What the model read. What it wrote is complete only in the result."""
    return tokens.input + tokens.cache_read + tokens.cache_creation
