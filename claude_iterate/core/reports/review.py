"""What a review comes to, in which depth it looks, and the answer that is asked for: one entry for each requirement.

The verdict is ours: it is computed from numbers, words of a list and flags, never from a sentence. Whatever is odd is
not a pass.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from claude_iterate.core.foreign_json import list_schema, sentence
from claude_iterate.core.formats import join_names, shorten
from claude_iterate.core.reports.requirements import Requirement, describe

VERIFIED, INCOMPLETE, INVALID = "verified", "incomplete", "invalid"
MET, NOT_MET, NOT_CHECKED = "met", "not_met", "not_checked"
READ, RAN, NOT_SHOWN = "read", "ran", "not_shown"
DEPTHS = {
    "quick": "Quick: check that every deliverable exists and that the counts are right.",
    "standard": "Standard: read the content of the deliverables, and the tests that are to show that they work.",
    "deep": "Deep: read all code that the task touches and its tests, think through edge cases, read for stubs, "
    "skipped tests and leftover TODO or FIXME marks.",
}

_TEXT, _NUMBER = {"type": "string"}, {"type": "integer"}
_ENTRY = {
    "number": _NUMBER,
    "status": {**_TEXT, "enum": [MET, NOT_MET, NOT_CHECKED]},
    "shown_by": {**_TEXT, "enum": [READ, RAN, NOT_SHOWN]},
    "evidence": _TEXT,
}
_WHERE = {"file": _TEXT, "line": _NUMBER, "command": _TEXT, "exit_code": _NUMBER}
_FINDING = {"missing": {"type": "boolean"}, "text": _TEXT}
_FIELDS = {"summary": _TEXT, "requirements": list_schema(_ENTRY, _WHERE), "findings": list_schema(_FINDING, {})}
SCHEMA = json.dumps({"type": "object", "properties": _FIELDS, "required": list(_FIELDS)})
"""What Claude Code holds the reviewer's answer to."""


class JudgedRequirement(msgspec.Struct, frozen=True, omit_defaults=True):
    """A requirement of the instructions as the review saw it: met, not_met, not_checked, or empty: not clear.
    `shown_by` is the file that the reviewer read or the command that succeeded."""

    number: int
    text: str
    status: str = ""
    evidence: str = ""
    shown_by: str = ""


class Review(msgspec.Struct, frozen=True):
    """A verdict, and what it rests on; for `invalid` the summary says why it cannot be trusted."""

    verdict: str
    summary: str
    findings: tuple[str, ...] = ()
    requirements: tuple[JudgedRequirement, ...] = ()
    remarks: tuple[str, ...] = ()


def judge(answer: Mapping[str, Any], asked: Sequence[Requirement]) -> Review:
    """The review in an answer of this schema. Unknown fields are not read."""
    entries, faults = _entries_by_number(answer.get("requirements"))
    found = tuple(_judge_requirement(requirement, entries, faults) for requirement in asked)
    known = {requirement.number for requirement in asked}
    unknown = [str(number) for number in entries if number not in known]
    if unknown:
        faults.append(f"it names requirement {join_names(unknown)}, which is not in the list")
    missing, remarks = _findings(answer.get("findings"), faults)
    unmet = [_describe_unmet(one) for one in found if one.status in (NOT_MET, NOT_CHECKED)]
    summary = sentence(answer.get("summary"))
    if missing or unmet:
        return Review(INCOMPLETE, summary, (*missing, *unmet, *faults), found, remarks)
    if faults or not asked:
        return Review(INVALID, "; ".join(faults) or "there is no requirement to judge", (), found, remarks)
    return Review(VERIFIED, summary, (), found, remarks)


def _entries_by_number(given: Any) -> tuple[dict[int, list[Mapping[str, Any]]], list[str]]:
    """The entries by number, and what is wrong with the list."""
    if not isinstance(given, list):
        return {}, ["the answer has no list of requirements"]
    found: dict[int, list[Mapping[str, Any]]] = {}
    odd = 0
    for entry in given:
        number = _whole(entry.get("number")) if isinstance(entry, dict) else None
        if number is None:
            odd += 1
        else:
            found.setdefault(number, []).append(entry)
    return found, [f"{odd} of its entries cannot be read"] if odd else []


def _judge_requirement(
    requirement: Requirement, entries: Mapping[int, list[Mapping[str, Any]]], faults: list[str]
) -> JudgedRequirement:
    number, about = requirement.number, describe(requirement.text, requirement.heading)
    given = entries.get(number, [])
    statuses = {sentence(entry.get("status")) for entry in given}
    evidence = next(filter(None, (sentence(entry.get("evidence")) for entry in given)), "")
    shown = [_shown_by(entry) for entry in given]
    if not given:
        faults.append(f"it says nothing about requirement {number}")
    elif len(statuses) > 1:
        faults.append(f"it contradicts itself about requirement {number}")
    elif not statuses <= {MET, NOT_MET, NOT_CHECKED}:
        faults.append(f"it says {shorten(min(statuses), 40)!r} about requirement {number}")
    elif statuses == {MET} and None in shown:
        faults.append(f"it does not say how requirement {number} was shown to be met")
    elif statuses == {MET} and "" in shown:
        return JudgedRequirement(number, about, NOT_CHECKED, evidence)
    else:
        return JudgedRequirement(number, about, statuses.pop(), evidence, shown[0] or "")
    return JudgedRequirement(number, about, "", evidence)


def _shown_by(entry: Mapping[str, Any]) -> str | None:
    """Where the reviewer saw it: a file that it read, or a command that ended with 0. Empty where nothing shows it;
    None where the entry does not say."""
    file, command = sentence(entry.get("file")), sentence(entry.get("command"))
    match sentence(entry.get("shown_by")):
        case "read" if file:
            line = _whole(entry.get("line"))
            return f"{file}:{line}" if line else file
        case "ran" if command:
            code = _whole(entry.get("exit_code"))
            return None if code is None else "" if code else f"`{command}` ended with 0"
        case "not_shown":
            return ""
    return None


def _whole(value: Any) -> int | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if type(value) is int else None


def _findings(given: Any, faults: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """What is missing, and remarks that do not speak against the work. What is not called a remark is missing."""
    if not isinstance(given, list):
        faults.append("the answer has no list of findings")
        return [], ()
    missing, remarks = [], []
    for finding in given:
        is_table = isinstance(finding, dict)
        text = sentence(finding.get("text") if is_table else finding)
        if is_table and finding.get("missing") is False:
            remarks.append(text)
        else:
            missing.append(text or "a finding without words")
    return missing, tuple(filter(None, remarks))


def _describe_unmet(one: JudgedRequirement) -> str:
    how = "is not met" if one.status == NOT_MET else "could not be checked"
    return f"Requirement {one.number} {how}: {one.text}" + (f" ({one.evidence})" if one.evidence else "")


def render_report(found: Review, name: str, depth: str) -> str:
    """The review as a Markdown report, for people."""
    lines = [f"# Verification of {name}", "", f"Depth: {depth}. The verdict is computed from the entries below.", ""]
    lines += ["## Summary", found.summary or "(none)", "", "## Requirements"]
    lines += [f"{one.number}. {_SIGNS.get(one.status, '?')} {_render_requirement(one)}" for one in found.requirements]
    lines += ["", "## Findings", *(_number_items(found.findings) or ["None."]), ""]
    if found.remarks:
        lines += ["## Remarks", *_number_items(found.remarks), ""]
    verdict = {VERIFIED: "VERIFIED", INCOMPLETE: "INCOMPLETE"}.get(found.verdict, "NONE")
    return "\n".join([*lines, f"VERDICT: {verdict}", ""])


_SIGNS = {MET: "✓", NOT_MET: "❌", NOT_CHECKED: "?"}


def _render_requirement(one: JudgedRequirement) -> str:
    status = one.status.replace("_", " ") or "no clear word"
    seen = ". ".join(filter(None, (one.shown_by, one.evidence)))
    return f"**{status}**: {one.text}" + (f"  \n   Evidence: {seen}" if seen else "")


def _number_items(items: Iterable[str]) -> list[str]:
    return [f"{number}. {item}" for number, item in enumerate(items, 1)]
