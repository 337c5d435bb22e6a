"""The grades that Claude gives the instructions, and the verdict that follows from them.

The verdict is ours: it is computed from the grades. Whatever is odd has no verdict, and is never ready.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from claude_iterate.core.foreign_json import list_schema, sentence, tables
from claude_iterate.core.formats import join_names, shorten

READY, NEEDS_REVISION, MAJOR_ISSUES, INVALID = "READY", "NEEDS_REVISION", "MAJOR_ISSUES", "INVALID"

CRITERIA, REQUIRED = 10, 7
"""The first seven are required, the others recommended: as the prompts say."""
PASS, PARTIAL, FAIL = "pass", "partial", "fail"
NAMES = (
    "Clear goal",
    "Breakdown",
    "Autonomy",
    "Completion criteria",
    "Quality standards",
    "Scope",
    "No system mechanics",
    "Tracking",
    "Errors",
    "Room to decide",
)
_TEXT = {"type": "string"}
_ENTRY = {
    "number": {"type": "integer"},
    "grade": {**_TEXT, "enum": [PASS, PARTIAL, FAIL]},
    "evidence": _TEXT,
}
_FIELDS = {
    "summary": _TEXT,
    "criteria": list_schema(_ENTRY, {"suggestion": _TEXT}),
    "changes": {"type": "array", "items": _TEXT},
}
SCHEMA = json.dumps({"type": "object", "properties": _FIELDS, "required": list(_FIELDS)})
"""What Claude Code holds the answer to."""
_LINE_OF_ONE = 160


class Criterion(msgspec.Struct, frozen=True):
    """The grade of one criterion; empty when there is none that counts."""

    number: int
    grade: str = ""
    evidence: str = ""
    suggestion: str = ""


class Validation(msgspec.Struct, frozen=True):
    """A verdict; for INVALID, why there is none."""

    verdict: str
    problem: str = ""
    summary: str = ""
    criteria: tuple[Criterion, ...] = ()
    changes: tuple[str, ...] = ()


def judge_grades(answer: Mapping[str, Any]) -> Validation:
    """The verdict that follows from the grades in an answer of this schema. Unknown fields are not read."""
    given = answer.get("criteria")
    if not isinstance(given, list):
        return Validation(INVALID, "the answer has no list of criteria")
    entries = [entry for entry in tables(given) if _is_number(entry.get("number"))]
    found = tuple(_criterion(number, entries) for number in range(1, CRITERIA + 1))
    unclear = [str(one.number) for one in found if not one.grade]
    changes = answer.get("changes")
    texts = tuple(filter(None, map(sentence, changes))) if isinstance(changes, list) else ()
    problem = f"the answer has no clear grade for criterion {join_names(unclear, CRITERIA)}" if unclear else ""
    if len(entries) < len(given):
        problem = problem or "the answer grades a criterion that does not exist"
    verdict = INVALID if problem else _verdict([one.grade for one in found[:REQUIRED]])
    return Validation(verdict, problem, sentence(answer.get("summary")), found, texts)


def _verdict(required: list[str]) -> str:
    if FAIL in required:
        return MAJOR_ISSUES
    return NEEDS_REVISION if PARTIAL in required else READY


def _is_number(value: Any) -> bool:
    return type(value) is int and 1 <= value <= CRITERIA


def _criterion(number: int, entries: list[dict[str, Any]]) -> Criterion:
    own = [entry for entry in entries if entry["number"] == number]
    grades = {sentence(entry.get("grade")) for entry in own}
    clear = len(grades) == 1 and grades <= {PASS, PARTIAL, FAIL}
    evidence, suggestion = (
        next(filter(None, (sentence(entry.get(name)) for entry in own)), "") for name in ("evidence", "suggestion")
    )
    return Criterion(number, grades.pop() if clear else "", evidence, suggestion)


def grade_lines(found: Validation) -> list[tuple[str, str]]:
    """A grade and one line for each criterion, with the advice for those that did not pass."""
    lines = []
    for one in found.criteria:
        weight = "" if one.number <= REQUIRED else " (recommended)"
        advice = one.suggestion or one.evidence if one.grade != PASS else ""
        text = f"{one.number}. {NAMES[one.number - 1]}{weight}{': ' + advice if advice else ''}"
        lines.append((one.grade, shorten(text, _LINE_OF_ONE)))
    return lines


def render_grades(found: Validation, name: str) -> str:
    """The grades as a Markdown report, for people."""
    lines = [f"# Validation of {name}", "", "## Summary", found.summary or "(none)", "", "## Criteria"]
    for one in found.criteria:
        weight = "required" if one.number <= REQUIRED else "recommended"
        lines += [f"### {one.number}. {NAMES[one.number - 1]} ({weight}): {one.grade or 'no clear grade'}"]
        lines += [one.evidence] if one.evidence else []
        lines += [f"Suggestion: {one.suggestion}"] if one.suggestion else []
        lines += [""]
    changes = [f"{number}. {item}" for number, item in enumerate(found.changes, 1)] or ["None."]
    verdict = f"VERDICT: {found.verdict}" if found.verdict != INVALID else f"No verdict: {found.problem}."
    return "\n".join([*lines, "## Suggested changes", *changes, "", verdict, ""])
