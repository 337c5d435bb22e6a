"""The report of a review: verified only when nothing speaks against it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_iterate.core.review import INCOMPLETE, INVALID, VERIFIED, read

GOOD = "# Verification\n\n## Summary\nAll is there.\n\n## Findings\nNone.\n\nVERIFICATION-ID: abc\nVERDICT: VERIFIED\n"


def test_a_good_report_verifies() -> None:
    """Its summary is kept."""
    assert read(GOOD, "abc") == (VERIFIED, "All is there.", ())


def test_an_incomplete_report_lists_what_is_missing() -> None:
    """Findings are numbered items, also over several lines."""
    text = GOOD.replace("None.", "1. No tests\n   at all\n2. README is empty").replace("VERIFIED", "INCOMPLETE")
    assert read(text, "abc") == (INCOMPLETE, "All is there.", ("No tests at all", "README is empty"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("  \n", "empty"),
        (GOOD.replace("abc", "other"), "does not name this review"),
        (GOOD.replace("VERIFICATION-ID: abc\n", ""), "does not name this review"),
        (GOOD.replace("VERDICT: VERIFIED", "It cannot be marked VERDICT: VERIFIED yet"), "no verdict line"),
        (GOOD.replace("VERDICT: VERIFIED", "✅ VERIFIED"), "no verdict line"),
        (GOOD + "VERDICT: INCOMPLETE\n", "more than one"),
        (GOOD + "VERDICT: VERIFIED\n", "more than one"),
        (GOOD.replace("VERDICT: VERIFIED", "VERDICT: PROBABLY"), "PROBABLY"),
        (GOOD.replace("None.", "1. The tests fail"), "lists findings"),
        (GOOD.replace("None.", "The tests fail"), "lists findings"),
    ],
)
def test_whatever_is_odd_is_invalid(text: str, words: str) -> None:
    """Empty, of another review, without a verdict, with two, or at odds with itself."""
    review = read(text, "abc")
    assert review.verdict == INVALID
    assert words in review.summary


@given(st.text())
def test_any_text_is_survived(text: str) -> None:
    """And no random text verifies."""
    assert read(text, "0123456789abcdef").verdict != VERIFIED
