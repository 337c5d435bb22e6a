"""Adds up what the messages of one process used. Pure.

A message comes as one line per block, each with the same id and usage: it counts once. Its output is not complete when
it is printed, so the sum is what was used at least.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import astuple

from claude_iterate.agent.protocol.fields import whole, word
from claude_iterate.core.events import ResultReported, Tokens, UsageReported
from claude_iterate.core.prices import at_least

_REMEMBERED = 2048
"""Ids of messages; as many older ones are remembered, too."""
MOST_TOKENS = 100_000_000
"""No message has more; a number above this is an error in the stream."""
_KINDS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_INTERRUPTED = "error_during_execution"
_NOISE = 1e-7
"""Dollars: a matter of how computers add."""
_Counts = tuple[int, int, int, int]
NO_TOKENS: _Counts = (0, 0, 0, 0)


class MessageUsage:
    """The sum since the last result that named the cost."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._older: set[str] = set()
        self._sum = NO_TOKENS
        self._cost = 0.0
        self._named = ResultReported()
        self._is_new = False

    def count(self, message: dict[str, Any]) -> int:
        """Take a message into account, unless it is known; the size of its request in tokens, 0 when it is known."""
        identity, model = word(message.get("id")), word(message.get("model"))
        given, output, read, write = _counts(message.get("usage"))
        if identity:
            if identity in self._known or identity in self._older:
                return 0
            if len(self._known) >= _REMEMBERED:
                self._older, self._known = self._known, set()
            self._known.add(identity)
            if given or output or read or write:
                a, b, c, d = self._sum
                self._sum = (a + given, b + output, c + read, d + write)
                self._cost += at_least(model, given, output, read, write) or 0.0
                self._is_new = True
        return given + read + write

    @property
    def sum(self) -> Tokens:
        """What messages used since the last result that named the cost."""
        return Tokens(*self._sum)

    def settle(self, result: ResultReported) -> None:
        """A result that names the cost: nothing is left to count. Only one that comes after an interruption lacks the
        answer that was interrupted; what the messages cost beyond it stays."""
        before, self._named = self._named, result
        left = self._cost - (result.cost_usd - before.cost_usd) if result.subtype == _INTERRUPTED else 0.0
        self._is_new = left > _NOISE
        self._cost = left if self._is_new else 0.0
        self._sum = _less(self._sum, result.tokens, before.tokens) if self._is_new else NO_TOKENS

    def news(self) -> UsageReported | None:
        """The sum, if it has changed since it was last asked for."""
        if not self._is_new:
            return None
        self._is_new = False
        return UsageReported(Tokens(*self._sum), round(self._cost, 9))


def _less(counts: _Counts, named: Tokens, before: Tokens) -> _Counts:
    """What is left of them without those that were named since `before`."""
    given, output, read, write = [
        max(0, count - (now - then)) for count, now, then in zip(counts, astuple(named), astuple(before), strict=True)
    ]
    return given, output, read, write


def _counts(usage: Any) -> _Counts:
    if type(usage) is not dict:
        return NO_TOKENS
    get = usage.get
    found = (get(_KINDS[0], 0), get(_KINDS[1], 0), get(_KINDS[2], 0), get(_KINDS[3], 0))
    for value in found:
        if type(value) is not int or not 0 <= value <= MOST_TOKENS:
            return _plausible(found[0]), _plausible(found[1]), _plausible(found[2]), _plausible(found[3])
    return found


def _plausible(value: Any) -> int:
    found = whole(value)
    return found if 0 <= found <= MOST_TOKENS else 0
