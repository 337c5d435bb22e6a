"""A verdict follows from ten clear grades, and from nothing else."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from claude_iterate.core.reports.validation import (
    CRITERIA,
    INVALID,
    MAJOR_ISSUES,
    NAMES,
    NEEDS_REVISION,
    READY,
    REQUIRED,
    judge_grades,
    render_grades,
    schema,
)
from claude_iterate.prompts import Prompts


def test_the_prompts_ask_for_what_is_read() -> None:
    """Ten criteria, the first seven required, in both modes."""
    for mode in ("loop", "iterative"):
        prompts = Prompts([], mode)
        listed = re.findall(r"^(\d+)\. .*\((\w+)\)\.", prompts.render("validation-criteria", {}), re.MULTILINE)
        assert listed == [(str(n), "required" if n <= REQUIRED else "recommended") for n in range(1, CRITERIA + 1)]
        names = re.findall(r"^\d+\. \*\*(.+) \(", prompts.render("validation-criteria", {}), re.MULTILINE)
        assert tuple(names) == NAMES


def answer(**grades: str) -> dict[str, Any]:
    """All of them pass, but for those given by their number: `n3="fail"`."""
    entries = [
        {"number": number, "grade": grades.get(f"n{number}", "pass"), "evidence": "seen"}
        for number in range(1, CRITERIA + 1)
    ]
    return {"summary": "Looked.", "criteria": entries, "changes": ["Say how."]}


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        (answer(), READY),
        (answer(n8="fail", n10="partial"), READY),
        (answer(n7="partial"), NEEDS_REVISION),
        (answer(n1="fail"), MAJOR_ISSUES),
        (answer(n1="fail", n2="partial"), MAJOR_ISSUES),
        (answer() | {"verdict": "MAJOR_ISSUES", "mood": "good"}, READY),
        (answer() | {"criteria": [one | {"suggestion": None} for one in answer()["criteria"]]}, READY),
    ],
)
def test_the_verdict_follows_from_the_grades(given: dict[str, Any], verdict: str) -> None:
    """All required pass, one is partial, one fails; recommended ones and words for a verdict do not matter."""
    found = judge_grades(given)
    assert (found.verdict, found.problem, found.changes) == (verdict, "", ("Say how.",))
    assert render_grades(found, "t").endswith(f"VERDICT: {verdict}\n")


@pytest.mark.parametrize(
    ("criteria", "problem"),
    [
        (None, "the form that was asked for"),
        ("all pass", "the form that was asked for"),
        ([], "no clear grade for criterion 1, 2, 3, 4, 5, 6, 7, 8, 9, 10"),
        (answer()["criteria"][:9], "no clear grade for criterion 10"),
        ([*answer()["criteria"], {"number": 3, "grade": "fail", "evidence": ""}], "no clear grade for criterion 3"),
        (answer(n4="good")["criteria"], "the form that was asked for"),
        ([*answer()["criteria"], {"number": 11, "grade": "pass"}], "the form that was asked for"),
        ([*answer()["criteria"], {"number": True, "grade": "pass"}], "the form that was asked for"),
        ([*answer()["criteria"], "and so on"], "the form that was asked for"),
    ],
)
def test_an_odd_answer_has_no_verdict(criteria: Any, problem: str) -> None:
    """Missing, unknown, contradicting or unreadable grades: never ready, and it is said why."""
    found = judge_grades(answer() | {"criteria": criteria})
    assert (found.verdict, problem in found.problem) == (INVALID, True)
    assert "No verdict" in render_grades(found, "t")


def test_the_schema_asks_for_the_grades() -> None:
    """It is JSON, and its entries have what is read."""
    entry = json.loads(schema())["properties"]["criteria"]["items"]
    assert set(entry["required"]) == {"number", "grade", "evidence"}
