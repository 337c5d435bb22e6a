"""A review in prose: one exact form counts, and it is judged as an answer by schema is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_iterate.core.reports.prose_review import read
from claude_iterate.core.reports.requirements import Requirement
from claude_iterate.core.reports.review import INCOMPLETE, INVALID, VERIFIED

ASKED = (Requirement(1, "one"), Requirement(2, "two"))
GOOD = """# Verification of t

## Summary
All is there.
Really.

## Requirements
1. met | read src/app.py:10 | the handler
2. met | ran `make test | tee log`, exit 0 | 14 passed

## Findings
None.

VERIFICATION-ID: abc
VERDICT: VERIFIED
"""


def incomplete(text: str) -> str:
    return text.replace("VERDICT: VERIFIED", "VERDICT: INCOMPLETE")


def test_a_report_in_the_form_verifies() -> None:
    """With its summary, and what shows each requirement."""
    found = read(GOOD, "abc", ASKED)
    assert (found.verdict, found.summary) == (VERIFIED, "All is there. Really.")
    assert [one.shown_by for one in found.requirements] == ["src/app.py:10", "`make test | tee log` ended with 0"]
    assert read(GOOD.replace("\n", "\r\n"), "abc", ASKED) == found


@pytest.mark.parametrize(
    ("was", "now", "finding"),
    [
        ("None.", "1. No README\n2. No tests", "No README"),
        (
            "2. met | ran `make test | tee log`, exit 0",
            "2. not_met | read a.txt",
            "Requirement 2 is not met: two (14 passed)",
        ),
        ("exit 0", "exit 2", "Requirement 2 could not be checked: two (14 passed)"),
        ("ran `make test | tee log`, exit 0", "not_shown", "Requirement 2 could not be checked: two (14 passed)"),
    ],
)
def test_what_is_missing_is_a_finding(was: str, now: str, finding: str) -> None:
    """As in an answer by schema; and a report that calls it verified all the same is at odds with itself."""
    found = read(incomplete(GOOD.replace(was, now)), "abc", ASKED)
    assert (found.verdict, found.findings[0]) == (INCOMPLETE, finding)
    assert read(GOOD.replace(was, now), "abc", ASKED).verdict == INVALID


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("abc", "abd"),
        ("VERDICT: VERIFIED", "**VERDICT: VERIFIED**"),
        ("VERDICT: VERIFIED", "VERDICT: VERIFIED\n\nHope that helps!"),
        ("VERDICT: VERIFIED", ""),
        ("VERDICT: VERIFIED", "VERDICT: INCOMPLETE"),
        ("VERDICT: VERIFIED", "VERDICT: VERIFIED\nVERDICT: INCOMPLETE"),
        ("# Verification of t", "Here is my report.\n\n# Verification of t"),
        ("## Findings\nNone.\n", ""),
        ("None.", ""),
        ("None.", "No issues found."),
        ("1. met |", "- 1: met |"),
        ("1. met | read src/app.py:10 | the handler\n", ""),
        ("1. met", "1. mostly met"),
        ("1. met", "1. met. not really"),
        ("2. met", "3. met"),
        ("read src/app.py:10 | the handler", "the handler is there"),
    ],
)
def test_any_other_text_has_no_verdict(was: str, now: str) -> None:
    """Another review's, another form, a line too few, a verdict that its lines do not bear out."""
    assert was in GOOD
    found = read(GOOD.replace(was, now), "abc", ASKED)
    assert found.verdict == INVALID
    assert found.summary


@given(st.text() | st.lists(st.sampled_from(GOOD.splitlines())).map("\n".join))
def test_any_text_verifies_only_with_every_line_of_the_form(text: str) -> None:
    """Property: what verifies has a line for each requirement."""
    if read(text, "abc", ASKED).verdict == VERIFIED:
        assert {"1. met | read src/app.py:10 | the handler", "VERDICT: VERIFIED"} <= set(text.splitlines())
