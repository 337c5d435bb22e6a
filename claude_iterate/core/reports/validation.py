"""Reads the verdict of a validation report. It needs exactly one verdict line, consistent with the grades.

READY needs a readable grade for each of the ten criteria. Whatever is odd makes the report invalid, never ready.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from claude_iterate.core.reports.json_input import short_lines

READY, NEEDS_REVISION, MAJOR_ISSUES, INVALID = "READY", "NEEDS_REVISION", "MAJOR_ISSUES", "INVALID"
VERDICTS = (READY, NEEDS_REVISION, MAJOR_ISSUES)

# People and models like to set such a line in bold or in a list; that changes nothing of what it says.
_MARKS = r"[ \t>*_`#-]*"
_LINE = re.compile(rf"^{_MARKS}VERDICT:(.*)$", re.MULTILINE)

CRITERIA, REQUIRED = 10, 7
"""The first seven are required, the others recommended: as the prompts say."""
PASS, PARTIAL, FAIL = "pass", "partial", "fail"
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


class Validation(NamedTuple):
    """A verdict; for INVALID, why there is none."""

    verdict: str
    problem: str = ""


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
