"""What tokens of a model cost at least, for calls that ended before Claude Code named their cost.

Claude Code tells the cost of a call only in its result. Before that, each message tells the tokens of its request, and
of its output so far, which is next to nothing. Tokens times price is therefore a lower bound, and is always called one.

The figures are what Claude Code 2.1.197 itself counts: they were measured as its `costUSD` for a message with tokens of
one kind only, for each model in the table. A test with the real Claude Code compares them. A cache entry that lives
longer than five minutes costs more than is counted here. A model that is not in the table has no price: for a wrong
figure, no figure is better.
"""

from __future__ import annotations

from functools import lru_cache

INPUT = {
    "claude-fable-5": 10.0,
    "claude-opus-4-5": 5.0,
    "claude-opus-4-6": 5.0,
    "claude-opus-4-7": 5.0,
    "claude-opus-4-8": 5.0,
    "claude-sonnet-4-5": 3.0,
    "claude-sonnet-4-6": 3.0,
    "claude-sonnet-5": 3.0,
    "claude-haiku-4-5": 1.0,
}
"""Dollars for a million tokens of input."""
OUTPUT, CACHE_READ, CACHE_WRITE = 5.0, 0.1, 1.25
"""The other kinds, as multiples of that: the same for all of these models."""
_DATE = 9
"""Characters of a date at the end of a name: `-20251001`."""


def at_least(model: str, given: int, output: int, cache_read: int, cache_creation: int) -> float | None:
    """Dollars for these tokens; None when the price of the model is not known."""
    price = _price(model)
    if price is None:
        return None
    return price * (given + OUTPUT * output + CACHE_READ * cache_read + CACHE_WRITE * cache_creation) / 1e6


@lru_cache(64)
def _price(model: str) -> float | None:
    """By the name of the model, also with its date or the size of its window: `claude-opus-4-8[1m]`."""
    name = model.partition("[")[0]
    if name not in INPUT and name[-_DATE : -_DATE + 1] == "-" and name[1 - _DATE :].isdecimal():
        name = name[:-_DATE]
    return INPUT.get(name)
