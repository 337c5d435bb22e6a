"""Reads the verdict of a validation report. Exactly one verdict line, of three words, that the grades do not belie.

Whatever is odd makes the report invalid, never ready.
"""

from __future__ import annotations

import re
from typing import NamedTuple

READY, NEEDS_REVISION, MAJOR_ISSUES, INVALID = "READY", "NEEDS_REVISION", "MAJOR_ISSUES", "INVALID"
VERDICTS = (READY, NEEDS_REVISION, MAJOR_ISSUES)

# People and models like to set such a line in bold or in a list; that changes nothing of what it says.
_MARKS = r"[ \t>*_`#-]*"
_LINE = re.compile(rf"^{_MARKS}VERDICT:(.*)$", re.MULTILINE)
_REQUIRED = re.compile(
    r"^#+[ \t]*\d+\.[^\n]*\(required\)[^\n:]*:\W*(pass|partial|fail)\b", re.MULTILINE | re.IGNORECASE
)


class Validation(NamedTuple):
    """A verdict; for INVALID, why there is none."""

    verdict: str
    problem: str = ""


def read(text: str) -> Validation:
    """The verdict of this report."""
    if not text.strip():
        return Validation(INVALID, "the report is empty")
    lines = _LINE.findall(text)
    if len(lines) != 1:
        return Validation(INVALID, f"the report has {'more than one' if lines else 'no'} verdict line")
    verdict = lines[0].strip(" \t\r*_`.")
    if verdict not in VERDICTS:
        return Validation(INVALID, f"the report's verdict is {verdict[:40]!r}")
    worst = {grade.lower() for grade in _REQUIRED.findall(text)} - {"pass"}
    if verdict == READY and worst:
        return Validation(INVALID, "the report says READY, and not every required criterion passes")
    return Validation(verdict)


def holds_verdict(text: str) -> bool:
    """True when a text that is no report could stand in for one."""
    return _LINE.search(text) is not None
