"""Foreign JSON is read forgivingly, and what is nested too deeply is found."""

from __future__ import annotations

from typing import Any

import pytest

from claude_iterate.core.foreign_json import DEEPEST, is_deep


@pytest.mark.parametrize(
    "wrap", [lambda inner: [1, inner], lambda inner: {"a": 1, "b": inner}], ids=["lists", "tables"]
)
def test_nesting_is_found_in_lists_and_tables(wrap: Any) -> None:
    """As deep as allowed is not deep; one level more is, whatever stands beside it."""
    value: Any = []
    for _ in range(DEEPEST - 1):
        value = wrap(value)
    assert not is_deep(value)
    assert is_deep(wrap(value))
