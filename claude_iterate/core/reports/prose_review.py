"""Reads a review that was written as a text, by an agent that cannot answer in our schema.

One exact form counts. It is read into an answer of the schema and judged as that is; any other text has no verdict.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from claude_iterate.core.formats import shorten
from claude_iterate.core.reports.requirements import Requirement
from claude_iterate.core.reports.review import INCOMPLETE, INVALID, VERIFIED, Review, judge

_FORM = re.compile(
    r"(?:# [^\n]*\n+)?## Summary\n(?P<summary>.*?)\n+## Requirements\n(?P<requirements>.*?)\n+"
    r"## Findings\n(?P<findings>.*?)\n+VERIFICATION-ID: (?P<identity>\w+)\nVERDICT: (?P<verdict>VERIFIED|INCOMPLETE)",
    re.DOTALL,
)
_REQUIREMENT = re.compile(
    r"(?P<number>\d{1,9})\. (?P<status>met|not_met|not_checked) \| "
    r"(?:read (?P<file>.+?)(?::(?P<line>\d{1,9}))?|ran `(?P<command>.+)`, exit (?P<exit_code>\d{1,9})|not_shown)"
    r" \| (?P<evidence>.*)"
)
_FINDING = re.compile(r"\d{1,9}\. .+")
_NOTHING = "None."


def read(text: str, identity: str, asked: Sequence[Requirement]) -> Review:
    """The review in this report. Its verdict is computed from its lines; the one that it names must be the same."""
    form = _FORM.fullmatch(text.replace("\r\n", "\n").strip())
    if form is None or form["identity"] != identity:
        return Review(INVALID, "no report of this review has the form that was asked for")
    lines, stated = _lines(form["requirements"]), _lines(form["findings"])
    findings = [] if stated == [_NOTHING] else stated
    odd = [line for line in lines if not _REQUIREMENT.fullmatch(line)]
    odd += [line for line in findings if not _FINDING.fullmatch(line)]
    if odd or not stated:
        what = repr(shorten(odd[0], 80)) if odd else "its section of findings"
        return Review(INVALID, f"the report does not have the form that was asked for: {what}")
    answer = {
        "summary": form["summary"],
        "requirements": [_entry(line) for line in lines],
        "findings": [{"missing": True, "text": line.partition(" ")[2]} for line in findings],
    }
    found = judge(answer, asked)
    named = {"VERIFIED": VERIFIED, "INCOMPLETE": INCOMPLETE}[form["verdict"]]
    if found.verdict in {VERIFIED, INCOMPLETE} and found.verdict != named:
        return Review(INVALID, f"the report says {form['verdict']}, and its lines say otherwise", found.findings)
    return found


def _lines(section: str) -> list[str]:
    return [line.strip() for line in section.splitlines() if line.strip()]


def _entry(line: str) -> dict[str, Any]:
    """As the schema has it."""
    found = _REQUIREMENT.fullmatch(line)
    texts = found.groupdict(default="") if found else {}
    how = "read" if texts["file"] else "ran" if texts["command"] else "not_shown"
    numbers = {name: int(texts[name]) for name in ("number", "line", "exit_code") if texts[name]}
    return {**texts, **numbers, "shown_by": how}
