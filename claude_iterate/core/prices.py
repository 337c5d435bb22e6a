"""What tokens of a model cost at least, for calls that ended before Claude Code named their cost.

Claude Code reports the cost of a call only in its result. Before that, each message has the tokens of its request, and
of its output so far, which is next to nothing. Tokens times price is therefore a lower bound, and is always called one.

The table is what Claude Code itself counts: `scripts/prices` asks it, a test compares. Some models cost more where the
prompt is large, and a cache entry more that lives longer than five minutes; the table has the lower price. A model that
is not in it has no price: for a wrong figure, no figure is better.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec


class Price(msgspec.Struct, frozen=True):
    """Dollars for a million tokens of each kind."""

    input: float
    output: float
    cache_read: float
    cache_creation: float


# Made by scripts/prices.
MEASURED = "2026-11-18, Claude Code 2.1.327"
"""When, and with which Claude Code."""
PRICES: dict[str, Price] = {
    "claude-fable-5": Price(10.0, 50.0, 1.0, 12.5),
    "claude-fable-5-1": Price(10.0, 50.0, 0.25, 12.5),
    "claude-fable-5-2": Price(8.0, 40.0, 0.2, 10.0),
    "claude-haiku-4-5": Price(1.0, 5.0, 0.1, 1.25),
    "claude-haiku-5-5": Price(0.1, 0.5, 0.01, 0.125),
    "claude-mythos-5": Price(10.0, 50.0, 1.0, 12.5),
    "claude-mythos-5-1": Price(10.0, 50.0, 0.25, 12.5),
    "claude-mythos-5-2": Price(8.0, 40.0, 0.2, 10.0),
    "claude-opus-4": Price(15.0, 75.0, 1.5, 18.75),
    "claude-opus-4-5": Price(5.0, 25.0, 0.5, 6.25),
    "claude-opus-4-6": Price(5.0, 25.0, 0.5, 6.25),
    "claude-opus-4-7": Price(5.0, 25.0, 0.5, 6.25),
    "claude-opus-4-8": Price(5.0, 25.0, 0.5, 6.25),
    "claude-opus-5": Price(5.0, 25.0, 0.5, 6.25),
    "claude-opus-5-5": Price(4.0, 20.0, 0.2, 5.0),
    "claude-sonnet-4": Price(3.0, 15.0, 0.3, 3.75),
    "claude-sonnet-4-0": Price(3.0, 15.0, 0.3, 3.75),
    "claude-sonnet-4-5": Price(3.0, 15.0, 0.3, 3.75),
    "claude-sonnet-4-6": Price(3.0, 15.0, 0.3, 3.75),
    "claude-sonnet-5": Price(2.0, 10.0, 0.2, 2.5),
    "claude-sonnet-5-5": Price(2.0, 10.0, 0.1, 2.5),
}
# The end of what scripts/prices made.
_DATE = 9
"""Characters of a date at the end of a name: `-20251001`."""


def at_least(model: str, given: int, output: int, cache_read: int, cache_creation: int) -> float | None:
    """Dollars for these tokens; None when the price of the model is not known."""
    price = _price(model)
    if price is None:
        return None
    read, written = price.cache_read * cache_read, price.cache_creation * cache_creation
    return (price.input * given + price.output * output + read + written) / 1e6


@lru_cache(64)
def _price(model: str) -> Price | None:
    """By the name of the model, also with its date or the size of its window: `claude-opus-4-8[1m]`."""
    name = model.partition("[")[0]
    if name not in PRICES and name[-_DATE : -_DATE + 1] == "-" and name[1 - _DATE :].isdecimal():
        name = name[:-_DATE]
    return PRICES.get(name)
