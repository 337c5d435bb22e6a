"""The grades that Claude gives the instructions, and the verdict that follows from them.

The verdict is ours: it is computed from the grades. Whatever is odd has no verdict, and is never ready.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec

from claude_iterate.core.foreign_json import schema_of, sentence, without_nulls
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
_LONGEST_LINE = 160


class Criterion(msgspec.Struct, frozen=True):
    """The grade of one criterion; empty when there is none that counts."""

    number: int
    grade: Literal["", "pass", "partial", "fail"]
    evidence: str
    suggestion: str = ""


class _Grade(Criterion, frozen=True):
    number: Annotated[int, msgspec.Meta(ge=1, le=CRITERIA)]
    grade: Literal["pass", "partial", "fail"]


class _Answer(msgspec.Struct, frozen=True):
    summary: str
    criteria: list[_Grade]
    changes: list[str]


def schema() -> str:
    """What Claude Code holds the answer to."""
    return json.dumps(schema_of(_Answer))


class Validation(msgspec.Struct, frozen=True):
    """A verdict; for INVALID, why there is none."""

    verdict: str
    problem: str = ""
    summary: str = ""
    criteria: tuple[Criterion, ...] = ()
    changes: tuple[str, ...] = ()


def judge_grades(document: Mapping[str, Any]) -> Validation:
    """The verdict that follows from the grades in an answer of this schema. Unknown fields are not read."""
    try:
        answer = msgspec.convert(without_nulls(document), _Answer, strict=False)
    except msgspec.ValidationError as error:
        return Validation(INVALID, f"the answer does not have the form that was asked for: {error}")
    criteria = tuple(_criterion(number, answer.criteria) for number in range(1, CRITERIA + 1))
    changes = tuple(filter(None, map(sentence, answer.changes)))
    unclear = [str(one.number) for one in criteria if not one.grade]
    problem = f"the answer has no clear grade for criterion {join_names(unclear, CRITERIA)}" if unclear else ""
    verdict = INVALID if problem else _verdict([one.grade for one in criteria[:REQUIRED]])
    return Validation(verdict, problem, sentence(answer.summary), criteria, changes)


def _verdict(required: Sequence[str]) -> str:
    if FAIL in required:
        return MAJOR_ISSUES
    return NEEDS_REVISION if PARTIAL in required else READY


def _criterion(number: int, grades: Sequence[Criterion]) -> Criterion:
    own = [one for one in grades if one.number == number]
    clear = len({one.grade for one in own}) == 1
    evidence = next(filter(None, (sentence(one.evidence) for one in own)), "")
    suggestion = next(filter(None, (sentence(one.suggestion) for one in own)), "")
    return Criterion(number, own[0].grade if clear else "", evidence, suggestion)


def grade_lines(found: Validation) -> list[tuple[str, str]]:
    """A grade and one line for each criterion, with the advice for those that did not pass."""
    lines: list[tuple[str, str]] = []
    for one in found.criteria:
        weight = "" if one.number <= REQUIRED else " (recommended)"
        advice = one.suggestion or one.evidence if one.grade != PASS else ""
        text = f"{one.number}. {NAMES[one.number - 1]}{weight}{': ' + advice if advice else ''}"
        lines.append((one.grade, shorten(text, _LONGEST_LINE)))
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
