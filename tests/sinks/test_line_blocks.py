"""Texts of several lines are shortened and moved without being taken apart, and say the same as if they were."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from claude_iterate.text.line_blocks import head, indent, indent_text

TEXTS = st.text(alphabet="ab \n\r\t\u2028✓", max_size=30)


@given(TEXTS)
def test_a_text_is_indented_as_its_lines_are(text: str) -> None:
    """Wherever its empty lines are: they stay empty."""
    assert indent_text(text, "  ").split("\n") == indent(text.split("\n"), "  ")


@given(TEXTS, st.integers(1, 8))
def test_the_head_of_a_text_is_its_first_lines(text: str, limit: int) -> None:
    """What is shown and what is left out are all of its lines."""
    lines = text.split("\n")
    assert head(text, limit) == ("\n".join(lines[:limit]), max(0, len(lines) - limit))
    assert head(text, None) == (text, 0)
