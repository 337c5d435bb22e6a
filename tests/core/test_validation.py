"""A verdict follows from ten clear grades; a report in prose needs exactly one verdict line that they bear out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import astuple

from claude_iterate.core.reports.validation import (
    CRITERIA,
    INVALID,
    MAJOR_ISSUES,
    NAMES,
    NEEDS_REVISION,
    READY,
    REQUIRED,
    SCHEMA,
    VERDICTS,
    holds_verdict,
    judged,
    read,
    rendered,
)
from claude_iterate.prompts import Prompts


def graded(
    form: str = "### {n}. A name ({w}): {g}",
    wrong: dict[int, str] | None = None,
    case: Callable[[str], str] = str.lower,
) -> str:
    """Ten grades, all of them pass but for those said to be wrong."""
    given = {number: (wrong or {}).get(number, "pass") for number in range(1, CRITERIA + 1)}
    weight = {number: "required" if number <= REQUIRED else "recommended" for number in given}
    return "\n".join(form.format(n=number, w=weight[number], g=case(grade)) for number, grade in given.items())


@pytest.mark.parametrize("verdict", VERDICTS)
@pytest.mark.parametrize(
    "line", ["VERDICT: {}", "**VERDICT: {}**", "  VERDICT:   `{}`  ", "- VERDICT: {}.", "VERDICT: {}\r"]
)
def test_a_verdict_is_read_in_any_dress(verdict: str, line: str) -> None:
    """Emphasis, list marks and line ends change nothing."""
    assert read(f"# Report\n\n{graded()}\n\n{line.format(verdict)}\n").verdict == verdict


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
        ("All seven pass.\n\nVERDICT: READY\n", "no readable grade for criterion 1, 2, 3"),
    ],
)
def test_whatever_is_odd_is_invalid(text: str, problem: str) -> None:
    """No line, two lines, other words, grades that say otherwise: no verdict, and the reason is told."""
    found = read(text)
    assert found.verdict == INVALID
    assert problem in found.problem


FORMS = [
    "### {n}. A name ({w}): {g}",
    "### {n}. A name ({w}): **{g}**",
    "**{n}. A name ({w}): {g}**",
    "- {n}. A name ({w}) - {g}",
    "* **{n}. A name ({w})** — {g}. Not mentioned.",
    "{n}) A name: `{g}`",
    '{n}. **A name ({w}):** {g} ("run all tests")',
    "### Criterion {n}: A name ({w}): {g}ed",
    "### {n}. A name ({w}) {g}",
    "{n}. A name **{g}**",
    '| {n} | A name | {w} | {g} | "tests pass" |',
    "| {n}. A name | ❌ **{g}** | none |",
    "|{n}|A name|{g}|",
    "#### #{n} A name: [{g}]",
    "- {n}: {g}",
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", [str.lower, str.title, str.upper])
def test_grades_are_read_in_any_dress(form: str, case: Callable[[str], str]) -> None:
    """Headings, items and rows, in any case, bold or not: all ten, and the one required that fails."""
    assert read(graded(form, case=case) + "\nVERDICT: READY\n").verdict == READY
    for number in (1, 7):
        found = read(graded(form, {number: "fail"}, case) + "\nVERDICT: READY\n")
        assert (found.verdict, "not every required" in found.problem) == (INVALID, True)
    assert read(graded(form, {8: "fail", 10: "fail"}, case) + "\nVERDICT: READY\n").verdict == READY


@pytest.mark.parametrize(
    "line",
    [
        "### 7. A name (required)",
        "### 7. A name (required): unclear",
        "### 7. A name (required): does not pass",
        "### 7. A name (required): pass/partial/fail",
        "### 7. A name (required): pass, partial or fail",
        "### 7. It should pass the tests",
        "> 7. A name (required): pass",
        "### 17. A name (required): pass",
        "### A name (required): pass",
    ],
)
def test_ready_needs_ten_grades(line: str) -> None:
    """What is no grade is not taken for one, and the criterion without one is named."""
    text = "\n".join([*(row for row in graded().splitlines() if " 7. " not in row), line, "VERDICT: READY"])
    assert astuple(read(text))[:2] == (INVALID, "the report says READY, and has no readable grade for criterion 7")


def test_of_two_grades_the_worse_counts() -> None:
    """A table at the top does not hide what is said below it."""
    table = graded("| {n} | A name | {g} |")
    assert read(f"{table}\n\n{graded(wrong={3: 'partial'})}\nVERDICT: READY\n").verdict == INVALID
    assert read(f"{graded(wrong={3: 'partial'})}\n\n{table}\nVERDICT: READY\n").verdict == INVALID


def test_suggestions_are_no_grades() -> None:
    """Their numbers mean something else."""
    more = "## Suggested changes\n1. Say when a test may fail.\n2. Fail early: say so.\n3. All tests must pass\n"
    assert read(f"{graded()}\n\n{more}\nVERDICT: READY\n").verdict == READY


def test_the_prompts_ask_for_what_is_read() -> None:
    """Ten criteria, the first seven required, in both modes, and the form of the lines."""
    for mode in ("loop", "iterative"):
        prompts = Prompts([], mode)
        listed = re.findall(r"^(\d+)\. .*\((\w+)\)\.", prompts.render("validation-criteria", {}), re.MULTILINE)
        assert listed == [(str(n), "required" if n <= REQUIRED else "recommended") for n in range(1, CRITERIA + 1)]
        assert "`### N. Name (required or recommended): grade`" in prompts.find("validate-answer").read_text()
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
    ],
)
def test_the_verdict_follows_from_the_grades(given: dict[str, Any], verdict: str) -> None:
    """All required pass, one is partial, one fails; recommended ones and words for a verdict do not matter."""
    found = judged(given)
    assert (found.verdict, found.problem, found.changes) == (verdict, "", ("Say how.",))
    assert rendered(found, "t").endswith(f"VERDICT: {verdict}\n")
    assert read(rendered(found, "t")).verdict == verdict


@pytest.mark.parametrize(
    ("criteria", "problem"),
    [
        (None, "no list of criteria"),
        ("all pass", "no list of criteria"),
        ([], "no clear grade for criterion 1, 2, 3, 4, 5, 6, 7, 8, 9, 10"),
        (answer()["criteria"][:9], "no clear grade for criterion 10"),
        ([*answer()["criteria"], {"number": 3, "grade": "fail"}], "no clear grade for criterion 3"),
        (answer(n4="good")["criteria"], "no clear grade for criterion 4"),
        ([*answer()["criteria"], {"number": 11, "grade": "pass"}], "does not exist"),
        ([*answer()["criteria"], {"number": True, "grade": "pass"}], "does not exist"),
        ([*answer()["criteria"], "and so on"], "does not exist"),
    ],
)
def test_an_odd_answer_has_no_verdict(criteria: Any, problem: str) -> None:
    """Missing, unknown, contradicting or unreadable grades: never ready, and it is said why."""
    found = judged(answer() | {"criteria": criteria})
    assert (found.verdict, problem in found.problem) == (INVALID, True)
    assert "No verdict" in rendered(found, "t")


def test_the_schema_asks_for_the_grades() -> None:
    """It is JSON, and its entries have what is read."""
    entry = json.loads(SCHEMA)["properties"]["criteria"]["items"]
    assert set(entry["required"]) == {"number", "grade", "evidence"}


@given(st.text())
def test_prose_is_never_ready(text: str) -> None:
    """Text without the exact line says nothing, whatever it is."""
    if "VERDICT:" not in text:
        assert read(text).verdict == INVALID
        assert not holds_verdict(text)
