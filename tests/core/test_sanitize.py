"""Foreign text cannot steer a terminal, and a JSON document still means the same."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_iterate.core.sanitize import sanitize_json, sanitize_lines, sanitize_terminal

CONTROLS = {*map(chr, range(32)), *map(chr, range(0x7F, 0xA0)), *"\u2028\u2029\u202a\u202b\u202c\u202d\u202e"}
CONTROLS |= set("\u2066\u2067\u2068\u2069")
KEPT = {"\n", "\t"}


@given(st.text(st.one_of(st.sampled_from(sorted(CONTROLS)), st.characters(codec="utf-8"))))
def test_no_control_character_is_left(text: str) -> None:
    """But line ends and tabs; and what has none is unchanged."""
    shown = sanitize_terminal(text)
    assert not set(shown) & (CONTROLS - KEPT)
    if not set(text) & (CONTROLS - KEPT):
        assert shown == text


@given(st.lists(st.text(st.one_of(st.sampled_from(sorted(CONTROLS)), st.characters()))))
def test_lines_together_are_each_line_alone(lines: list[str]) -> None:
    """Looking at all of them at once changes nothing, also where they hold what UTF-8 has no bytes for."""
    assert sanitize_lines(lines) == "\n".join(map(sanitize_terminal, lines)).encode("utf-8", "replace")


def test_every_control_character_is_replaced_and_nothing_else() -> None:
    """Up to beyond the last one, each by itself."""
    for code in range(0x3000):
        character = chr(code)
        assert (sanitize_terminal(character) == character) is (character not in CONTROLS - KEPT), hex(code)


@given(st.dictionaries(st.text(), st.text(st.characters(codec="utf-8"))))
def test_a_document_means_the_same(value: dict[str, str]) -> None:
    """What JSON would let through is escaped, and nothing else is changed."""
    plain = json.dumps(value, ensure_ascii=False)
    shown = sanitize_json(plain)
    assert json.loads(shown) == value
    assert not set(shown) & CONTROLS
    if not set(plain) & CONTROLS:
        assert shown == plain


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[1;31mFAILED\x1b[0m test_x\x1b[K", "FAILED test_x"),
        ("\x1b]0;owned\x07", "␛]0;owned␇"),
        ("a\x1b[2J\x9b2J", "a␛[2J\ufffd2J"),
        ("10%\r20%\r\n", "10%20%\n"),
        ("\x1b[31", "␛[31"),
        ("tab\tand\nline", "tab\tand\nline"),
    ],
)
def test_colours_go_and_the_rest_becomes_visible(text: str, shown: str) -> None:
    """An attack can be seen; what tests print stays readable."""
    assert sanitize_terminal(text) == shown
