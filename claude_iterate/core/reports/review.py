"""What a review comes to, in which depth it looks, and the answer that is asked for: one entry for each requirement.

The verdict is ours: it is computed from the entries, never read from a word. Whatever is odd is not a pass.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from claude_iterate.core.formats import listed, one_line, shortened
from claude_iterate.core.reports.doubtful_evidence import denies, is_finding, speaks_against
from claude_iterate.core.reports.requirements import Requirement, told

VERIFIED, INCOMPLETE, INVALID = "verified", "incomplete", "invalid"
MET, NOT_MET, NOT_CHECKED = "met", "not_met", "not_checked"
DEPTHS = {
    "quick": "Quick: check that every deliverable exists and that the counts are right.",
    "standard": "Standard: read the content of the deliverables, and the tests that are to show that they work.",
    "deep": "Deep: read all code that the task touches and its tests, think through edge cases, read for stubs, "
    "skipped tests and leftover TODO or FIXME marks.",
}

_LONGEST = 2000
_NO_EVIDENCE = re.compile(r"\W*(?:(?:none|no|n\W?a|nothing|unknown|tbd|todo|met|yes|ok|not checked|no evidence)\W*)?")
_TEXT = {"type": "string"}
_ENTRY = {"number": {"type": "integer"}, "status": {**_TEXT, "enum": [MET, NOT_MET, NOT_CHECKED]}, "evidence": _TEXT}
_FINDING = {"missing": {"type": "boolean"}, "text": _TEXT}


def _list_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "object", "properties": fields, "required": list(fields)}}


_FIELDS = {"summary": _TEXT, "requirements": _list_of(_ENTRY), "findings": _list_of(_FINDING)}
SCHEMA = json.dumps({"type": "object", "properties": _FIELDS, "required": list(_FIELDS)})
"""What Claude Code holds the reviewer's answer to."""


class Judged(msgspec.Struct, frozen=True):
    """A requirement as the review sees it: met, not_met, not_checked, or empty when it says nothing clear."""

    number: int
    text: str
    status: str = ""
    evidence: str = ""


class Review(msgspec.Struct, frozen=True):
    """A verdict, and what it rests on; for `invalid` the summary says why it cannot be trusted."""

    verdict: str
    summary: str
    findings: tuple[str, ...] = ()
    requirements: tuple[Judged, ...] = ()
    remarks: tuple[str, ...] = ()


def judged(answer: Mapping[str, Any], asked: Sequence[Requirement]) -> Review:
    """The review in an answer of this schema. Unknown fields are not read."""
    entries, faults = _entries(answer.get("requirements"))
    found = tuple(_judged(requirement, entries, faults) for requirement in asked)
    known = {requirement.number for requirement in asked}
    unknown = [str(number) for number in entries if number not in known]
    if unknown:
        faults.append(f"it names requirement {listed(unknown)}, which is not in the list")
    missing, remarks = _findings(answer.get("findings"), faults)
    unmet = [_unmet(one) for one in found if one.status in (NOT_MET, NOT_CHECKED)]
    summary = _text(answer.get("summary"))
    if denies(summary):
        faults.append("its summary says otherwise")
    if missing or unmet:
        return Review(INCOMPLETE, summary, (*missing, *unmet, *faults), found, remarks)
    if faults or not asked:
        return Review(INVALID, "; ".join(faults) or "there is no requirement to judge", (), found, remarks)
    return Review(VERIFIED, summary, (), found, remarks)


def _entries(given: Any) -> tuple[dict[int, list[tuple[str, str]]], list[str]]:
    """Status and evidence by number, and what is wrong with the list."""
    if not isinstance(given, list):
        return {}, ["the answer has no list of requirements"]
    found: dict[int, list[tuple[str, str]]] = {}
    odd = 0
    for entry in given:
        number = entry.get("number") if isinstance(entry, dict) else None
        if isinstance(number, float) and number.is_integer():
            number = int(number)
        if type(number) is not int:
            odd += 1
            continue
        found.setdefault(number, []).append((_text(entry.get("status")), _text(entry.get("evidence"))))
    return found, [f"{odd} of its entries cannot be read"] if odd else []


def _judged(requirement: Requirement, entries: dict[int, list[tuple[str, str]]], faults: list[str]) -> Judged:
    number, about = requirement.number, told(requirement.text, requirement.heading)
    given = entries.get(number, [])
    statuses = {status for status, _ in given}
    evidence = next((words for _, words in given if not _NO_EVIDENCE.fullmatch(words.lower())), "")
    if not given:
        faults.append(f"it says nothing about requirement {number}")
    elif len(statuses) > 1:
        faults.append(f"it contradicts itself about requirement {number}")
    elif not statuses <= {MET, NOT_MET, NOT_CHECKED}:
        faults.append(f"it says {shortened(min(statuses), 40)!r} about requirement {number}")
    elif statuses == {MET} and not evidence:
        faults.append(f"it has no evidence for requirement {number}")
    elif statuses == {MET} and any(speaks_against(words) for _, words in given):
        return Judged(number, about, NOT_CHECKED, next(words for _, words in given if speaks_against(words)))
    else:
        return Judged(number, about, statuses.pop(), evidence)
    return Judged(number, about, "", evidence)


def _findings(given: Any, faults: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """What is missing, and remarks that do not speak against the work; one that plainly does is none."""
    if not isinstance(given, list):
        faults.append("the answer has no list of findings")
        return [], ()
    missing, remarks = [], []
    for finding in given:
        is_table = isinstance(finding, dict)
        text = _text(finding.get("text") if is_table else finding)
        if is_table and finding.get("missing") is False and not is_finding(text):
            remarks.append(text)
        else:
            missing.append(text or "a finding without words")
    return missing, tuple(filter(None, remarks))


def _unmet(one: Judged) -> str:
    how = "is not met" if one.status == NOT_MET else "could not be checked"
    return f"Requirement {one.number} {how}: {one.text}" + (f" ({one.evidence})" if one.evidence else "")


def _text(value: Any) -> str:
    return shortened(one_line(value[: 4 * _LONGEST]), _LONGEST) if isinstance(value, str) else ""


def rendered(found: Review, name: str, depth: str, identity: str) -> str:
    """The review as a Markdown report, for people."""
    lines = [f"# Verification of {name}", "", f"Depth: {depth}. The verdict is computed from the entries below.", ""]
    lines += ["## Summary", found.summary or "(none)", "", "## Requirements"]
    lines += [f"{one.number}. {_SIGNS.get(one.status, '?')} {_told(one)}" for one in found.requirements]
    lines += ["", "## Findings", *(_numbered(found.findings) or ["None."]), ""]
    if found.remarks:
        lines += ["## Remarks", *_numbered(found.remarks), ""]
    verdict = {VERIFIED: "VERIFIED", INCOMPLETE: "INCOMPLETE"}.get(found.verdict, "NONE")
    return "\n".join([*lines, f"VERIFICATION-ID: {identity}", f"VERDICT: {verdict}", ""])


_SIGNS = {MET: "✓", NOT_MET: "❌", NOT_CHECKED: "?"}


def _told(one: Judged) -> str:
    status = one.status.replace("_", " ") or "no clear word"
    return f"**{status}**: {one.text}" + (f"  \n   Evidence: {one.evidence}" if one.evidence else "")


def _numbered(items: Iterable[str]) -> list[str]:
    return [f"{number}. {item}" for number, item in enumerate(items, 1)]
