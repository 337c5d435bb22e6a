"""What tokens cost at least, by the name of the model."""

from __future__ import annotations

import pytest

from claude_iterate.core.prices import MEASURED, PRICES, at_least

MILLION = 1_000_000


@pytest.mark.parametrize(
    ("tokens", "dollars"),
    [((MILLION, 0, 0, 0), 5.0), ((0, MILLION, 0, 0), 25.0), ((0, 0, MILLION, 0), 0.5), ((0, 0, 0, MILLION), 6.25)],
)
def test_each_kind_of_token_has_its_price(tokens: tuple[int, int, int, int], dollars: float) -> None:
    """As Claude Code counts them; together they add up."""
    assert at_least("claude-opus-4-8", *tokens) == pytest.approx(dollars)
    assert at_least("claude-opus-4-8", 1, 1, 1, 1) == pytest.approx((5 + 25 + 0.5 + 6.25) / MILLION)


@pytest.mark.parametrize("model", PRICES)
@pytest.mark.parametrize("suffix", ["", "[1m]", "-20251001", "-20251001[1m]"])
def test_a_model_is_known_with_its_date_and_window(model: str, suffix: str) -> None:
    """Names come in these forms; the price is that of the family."""
    assert at_least(model + suffix, MILLION, 0, 0, 0) == PRICES[model].input > 0


def test_the_table_has_todays_models_and_says_how_old_it_is() -> None:
    """Each kind of token has a price, and what is read from a cache costs least."""
    assert {"claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-fable-5-2"} <= PRICES.keys()
    assert all(price.output > price.cache_creation > price.input > price.cache_read > 0 for price in PRICES.values())
    assert MEASURED[:2] == "20"


@pytest.mark.parametrize(
    "model",
    [
        "",
        "<synthetic>",
        "claude-opus-4-80",
        "claude-opus-6-6",
        "gpt-9",
        "claude-opus-4-8-2025",
        "claude-opus-4-8-fast",
        "claude-opus-4-8-v0251001",
    ],
)
def test_another_model_has_no_price(model: str) -> None:
    """A guess would be a wrong figure."""
    assert at_least(model, MILLION, 0, 0, 0) is None
