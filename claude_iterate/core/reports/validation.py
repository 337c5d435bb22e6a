"""The grades of the instructions and the verdict that follows from them: by schema, or from a report in prose.

The verdict of an answer by schema is ours: it is computed from the grades. A report in prose needs exactly one verdict
line, consistent with its grades. Whatever is odd has no verdict, and is never ready.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from claude_iterate.core.formats import join_names, one_line, shorten
from claude_iterate.core.reports.json_input import short_lines

READY, NEEDS_REVISION, MAJOR_ISSUES, INVALID = "READY", "NEEDS_REVISION", "MAJOR_ISSUES", "INVALID"
VERDICTS = (READY, NEEDS_REVISION, MAJOR_ISSUES)

# People and models like to set such a line in bold or in a list; that changes nothing of what it says.
_MARKS = r"[ \t>*_`#-]*"
_LINE = re.compile(rf"^{_MARKS}VERDICT:(.*)$", re.MULTILINE)

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
_GRADED = {
    "number": {"type": "integer"},
    "grade": {**_TEXT, "enum": [PASS, PARTIAL, FAIL]},
    "evidence": _TEXT,
    "suggestion": _TEXT,
}
_ENTRY = {"type": "object", "properties": _GRADED, "required": ["number", "grade", "evidence"]}
_FIELDS = {
    "summary": _TEXT,
    "criteria": {"type": "array", "items": _ENTRY},
    "changes": {"type": "array", "items": _TEXT},
}
SCHEMA = json.dumps({"type": "object", "properties": _FIELDS, "required": list(_FIELDS)})
"""What Claude Code holds the answer to."""
_LONGEST = 2000
_LINE_OF_ONE = 160
# A heading, an item, a row of a table; not a quotation.
_CRITERION = re.compile(
    r"^[ \t|*_`#+-]*(?:criterion[ \t]*)?#?(\d{1,2})(?![\w%])[.):]?(.*)$", re.IGNORECASE | re.MULTILINE
)
_GRADE = re.compile(
    r"(?:^|[:|=→—–()\[\]*_]|\s-\s)"  # set off from the name,
    r"[^\w\n|\"'“”„]*"
    r"(pass|partial|fail)(?:ed|es|s|ly)?\b"
    r"(?!\W*(?:or\W+)?(?:pass|partial|fail))"  # not the choice of grades that the prompt names,
    r"(?=[*_`\])]*\s*(?:$|[.,;:(|=—–*_-]))",  # and not the beginning of a sentence
    re.IGNORECASE,
)


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


def judged(answer: Mapping[str, Any]) -> Validation:
    """The verdict that follows from the grades of an answer by schema. Unknown fields are not read."""
    given = answer.get("criteria")
    if not isinstance(given, list):
        return Validation(INVALID, "the answer has no list of criteria")
    entries = [entry for entry in given if isinstance(entry, dict)]
    found = tuple(_criterion(number, entries) for number in range(1, CRITERIA + 1))
    unclear = [str(one.number) for one in found if not one.grade]
    unknown = [entry for entry in given if not isinstance(entry, dict) or not _is_number(entry.get("number"))]
    changes = answer.get("changes")
    texts = tuple(filter(None, map(_text, changes))) if isinstance(changes, list) else ()
    problem = f"the answer has no clear grade for criterion {join_names(unclear, CRITERIA)}" if unclear else ""
    if unknown:
        problem = problem or "the answer grades a criterion that does not exist"
    verdict = INVALID if problem else _verdict([one.grade for one in found[:REQUIRED]])
    return Validation(verdict, problem, _text(answer.get("summary")), found, texts)


def _verdict(required: list[str]) -> str:
    if FAIL in required:
        return MAJOR_ISSUES
    return NEEDS_REVISION if PARTIAL in required else READY


def _is_number(value: Any) -> bool:
    return type(value) is int and 1 <= value <= CRITERIA


def _criterion(number: int, entries: list[dict[str, Any]]) -> Criterion:
    own = [entry for entry in entries if entry.get("number") == number]
    grades = {_text(entry.get("grade")) for entry in own}
    clear = len(grades) == 1 and grades <= {PASS, PARTIAL, FAIL}
    evidence, suggestion = (next(filter(None, (_text(one.get(name)) for one in own)), "") for name in _SAID)
    return Criterion(number, grades.pop() if clear else "", evidence, suggestion)


_SAID = ("evidence", "suggestion")


def _text(value: Any) -> str:
    return shorten(one_line(value[: 4 * _LONGEST]), _LONGEST) if isinstance(value, str) else ""


def in_short(found: Validation) -> list[tuple[str, str]]:
    """A grade and one line for each criterion, with the advice for those that did not pass."""
    lines = []
    for one in found.criteria:
        weight = "" if one.number <= REQUIRED else " (recommended)"
        advice = one.suggestion or one.evidence if one.grade != PASS else ""
        text = f"{one.number}. {NAMES[one.number - 1]}{weight}{': ' + advice if advice else ''}"
        lines.append((one.grade, shorten(text, _LINE_OF_ONE)))
    return lines


def rendered(found: Validation, name: str) -> str:
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


def read(text: str) -> Validation:
    """The verdict of this report."""
    text = short_lines(text)
    if not text.strip():
        return Validation(INVALID, "the report is empty")
    lines = _LINE.findall(text)
    if len(lines) != 1:
        return Validation(INVALID, f"the report has {'more than one' if lines else 'no'} verdict line")
    verdict = lines[0].strip(" \t\r*_`.")
    if verdict not in VERDICTS:
        return Validation(INVALID, f"the report's verdict is {verdict[:40]!r}")
    if verdict == READY:
        return Validation(*_borne_out(grades(text)))
    return Validation(verdict)


def grades(text: str) -> dict[int, str]:
    """The grade of each criterion by its number. Of two grades for the same one the worse counts."""
    found: dict[int, str] = {}
    for number, rest in _CRITERION.findall(text):
        grade = _GRADE.search(rest.strip())
        if grade and 1 <= int(number) <= CRITERIA:
            worse = (FAIL, PARTIAL, PASS)
            found[int(number)] = min(grade[1].lower(), found.get(int(number), PASS), key=worse.index)
    return found


def _borne_out(graded: dict[int, str]) -> tuple[str, str]:
    """READY, if the grades say so too; else INVALID and why."""
    if any(grade != PASS for number, grade in graded.items() if number <= REQUIRED):
        return INVALID, "the report says READY, and not every required criterion passes"
    missing = [str(number) for number in range(1, CRITERIA + 1) if number not in graded]
    if missing:
        return INVALID, f"the report says READY, and has no readable grade for criterion {', '.join(missing)}"
    return READY, ""


def holds_verdict(text: str) -> bool:
    """True when a text that is not a report could be taken for one."""
    return _LINE.search(text) is not None
