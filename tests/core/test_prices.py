"""What tokens cost at least, by the name of the model."""

from __future__ import annotations

import pytest

from claude_iterate.core.prices import INPUT, at_least

MILLION = 1_000_000


@pytest.mark.parametrize(
    ("tokens", "dollars"),
    [((MILLION, 0, 0, 0), 5.0), ((0, MILLION, 0, 0), 25.0), ((0, 0, MILLION, 0), 0.5), ((0, 0, 0, MILLION), 6.25)],
)
def test_each_kind_of_token_has_its_price(tokens: tuple[int, int, int, int], dollars: float) -> None:
    """As Claude Code counts them; together they add up."""
    assert at_least("claude-opus-4-8", *tokens) == pytest.approx(dollars)
    assert at_least("claude-opus-4-8", 1, 1, 1, 1) == pytest.approx((5 + 25 + 0.5 + 6.25) / MILLION)


@pytest.mark.parametrize("model", INPUT)
@pytest.mark.parametrize("suffix", ["", "[1m]", "-20251001", "-20251001[1m]"])
def test_a_model_is_known_with_its_date_and_window(model: str, suffix: str) -> None:
    """Names come in these forms; the price is that of the family."""
    family = {"fable": 10.0, "opus": 5.0, "sonnet": 3.0, "haiku": 1.0}
    assert at_least(model + suffix, MILLION, 0, 0, 0) == family[model.split("-")[1]]


@pytest.mark.parametrize(
    "model",
    [
        "",
        "<synthetic>",
        "claude-opus-4-80",
        "claude-opus-4",
        "gpt-9",
        "claude-opus-4-8-2025",
        "claude-opus-4-8-fast",
        "claude-opus-4-8-v0251001",
    ],
)
def test_another_model_has_no_price(model: str) -> None:
    """A guess would be a wrong figure."""
    assert at_least(model, MILLION, 0, 0, 0) is None
