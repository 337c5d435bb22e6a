"""Only a report with exactly one verdict line that its own grades bear out has a verdict."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_iterate.core.validation import INVALID, READY, VERDICTS, holds_verdict, read


@pytest.mark.parametrize("verdict", VERDICTS)
@pytest.mark.parametrize(
    "line", ["VERDICT: {}", "**VERDICT: {}**", "  VERDICT:   `{}`  ", "- VERDICT: {}.", "VERDICT: {}\r"]
)
def test_a_verdict_is_read_in_any_dress(verdict: str, line: str) -> None:
    """Emphasis, list marks and line ends change nothing."""
    assert read(f"# Report\n\nText.\n\n{line.format(verdict)}\n").verdict == verdict


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("# Report\n\nAll is READY.\n", "no verdict line"),
        ("It cannot get VERDICT: READY as it is.\n", "no verdict line"),
        ("verdict: ready\n", "no verdict line"),
        ("VERDICT: READY\nVERDICT: READY\n", "more than one"),
        ("VERDICT: READY\nVERDICT: MAJOR_ISSUES\n", "more than one"),
        ("VERDICT: READY\n> VERDICT: perhaps\n", "more than one"),
        ("VERDICT: NOT READY\n", "'NOT READY'"),
        ("VERDICT: READY or NEEDS_REVISION\n", "verdict is"),
        ("VERDICT:\n", "verdict is ''"),
        ("### 4. Completion criteria (required): fail\n\nVERDICT: READY\n", "not every required"),
        ("## 4. Scope (required): **Partial**\n\nVERDICT: READY\n", "not every required"),
    ],
)
def test_whatever_is_odd_is_invalid(text: str, problem: str) -> None:
    """No line, two lines, other words, grades that say otherwise: no verdict, and the reason is told."""
    found = read(text)
    assert found.verdict == INVALID
    assert problem in found.problem


def test_recommended_criteria_may_fail() -> None:
    """Only the required ones stand in the way of READY."""
    assert read("### 9. Errors (recommended): fail\n### 1. Goal (required): pass\nVERDICT: READY\n").verdict == READY


@given(st.text())
def test_prose_is_never_ready(text: str) -> None:
    """Text without the exact line says nothing, whatever it is."""
    if "VERDICT:" not in text:
        assert read(text).verdict == INVALID
        assert not holds_verdict(text)
