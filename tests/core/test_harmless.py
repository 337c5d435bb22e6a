"""Foreign text cannot steer a terminal, and a JSON document still means the same."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_iterate.core.harmless import harmless, harmless_json, harmless_lines, is_harmless

CONTROLS = {*map(chr, range(32)), *map(chr, range(0x7F, 0xA0)), *"\u2028\u2029\u202a\u202b\u202c\u202d\u202e"}
CONTROLS |= set("\u2066\u2067\u2068\u2069")
KEPT = {"\n", "\t"}


@given(st.text(st.one_of(st.sampled_from(sorted(CONTROLS)), st.characters(codec="utf-8"))))
def test_no_control_character_is_left(text: str) -> None:
    """But line ends and tabs; and what has none is unchanged."""
    shown = harmless(text)
    assert not set(shown) & (CONTROLS - KEPT)
    if not set(text) & (CONTROLS - KEPT):
        assert shown == text


@given(st.lists(st.text(st.one_of(st.sampled_from(sorted(CONTROLS)), st.characters()))))
def test_lines_together_are_each_line_alone(lines: list[str]) -> None:
    """Looking at all of them at once changes nothing, also where they hold what UTF-8 has no bytes for."""
    assert harmless_lines(lines) == "\n".join(map(harmless, lines)).encode("utf-8", "replace")


def test_every_character_is_judged_by_its_bytes_as_by_itself() -> None:
    """Up to beyond the last control character, alone and between others of the same length."""
    for code in range(0x3000):
        character = chr(code)
        is_kept = character not in CONTROLS - KEPT
        assert is_harmless(f"·{character}✓".encode()) is is_kept, hex(code)
        assert (harmless(character) == character) is is_kept, hex(code)


@given(st.dictionaries(st.text(), st.text(st.characters(codec="utf-8"))))
def test_a_document_means_the_same(value: dict[str, str]) -> None:
    """What JSON would let through is escaped, and nothing else is changed."""
    plain = json.dumps(value, ensure_ascii=False)
    shown = harmless_json(plain)
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
    assert harmless(text) == shown
