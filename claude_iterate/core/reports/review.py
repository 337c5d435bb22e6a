"""A review: the requirements that it has to answer one by one, in which depth it looks, and what its answer comes to.

Boxes and list items of the instructions are requirements; headings say what they belong to; what else is written counts
as one more. A text without a list is one requirement. So nothing that the user wrote is left out.

The verdict is ours: it is computed from numbers, words of a list and flags, never from a sentence. Whatever is odd is
not a pass.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from claude_iterate.core.foreign_json import schema_of, sentence, without_nulls
from claude_iterate.core.formats import join_names, one_line, shorten
from claude_iterate.core.reports.plan_tasks import outside_fences

VERIFIED, INCOMPLETE, INVALID = "verified", "incomplete", "invalid"
MET, NOT_MET, NOT_CHECKED = "met", "not_met", "not_checked"
DEPTHS = {
    "quick": "Quick: check that every deliverable exists and that the counts are right.",
    "standard": "Standard: read the content of the deliverables, and the tests that are to show that they work.",
    "deep": "Deep: read all code that the task touches and its tests, think through edge cases, read for stubs, "
    "skipped tests and leftover TODO or FIXME marks.",
}
MOST = 100
"""Numbers in one review. Of more items, several share a number: all of them must be met."""
REST = "Everything else that the instructions ask for, outside of the items above"
_LONGEST_LINE = 500
_LONGEST_GROUP = 1500

_ITEM = re.compile(r"[ \t>]*(?:[-*+•]|\d{1,9}[.)])[ \t]+(?:\[[^\]]?\][ \t]+)?(.*)")
_HEADING = re.compile(r"[ \t]{0,3}#{1,6}[ \t]+(.*?)[ \t#]*")
_WORDS = re.compile(r"\w")


class Requirement(msgspec.Struct, frozen=True):
    """One number of the list."""

    number: int
    text: str
    heading: str = ""

    @property
    def line(self) -> str:
        """The heading and the text, shortened."""
        text = shorten(one_line(self.text), _LONGEST_GROUP if self.text.startswith("(") else _LONGEST_LINE)
        return f"[{shorten(one_line(self.heading), 100)}] {text}" if self.heading else text


class _Entry(msgspec.Struct, frozen=True):
    """What the reviewer says of a requirement, and where it saw that."""

    number: int
    status: Literal["met", "not_met", "not_checked"]
    shown_by: Literal["read", "ran", "not_shown"]
    evidence: str
    file: str = ""
    line: int = 0
    command: str = ""
    exit_code: int = -1

    @property
    def source(self) -> str:
        """The file that was read, or the command that ended with 0; empty where nothing shows it."""
        file, command = sentence(self.file), sentence(self.command)
        if self.shown_by == "read" and file:
            return f"{file}:{self.line}" if self.line else file
        return f"`{command}` ended with 0" if self.shown_by == "ran" and command and self.exit_code == 0 else ""


class _Finding(msgspec.Struct, frozen=True):
    missing: bool
    text: str


class _Answer(msgspec.Struct, frozen=True):
    summary: str
    requirements: list[_Entry]
    findings: list[_Finding]


def schema() -> str:
    """What Claude Code holds the reviewer's answer to."""
    return json.dumps(schema_of(_Answer))


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


def requirements_in(instructions: str) -> tuple[Requirement, ...]:
    """The numbered requirements of these instructions; at least one, if there is a word in them."""
    items: list[tuple[str, str]] = []
    has_more = False
    for kind, text, heading in _pieces(instructions):
        if kind == "item":
            items.append((text, heading))
        elif kind == "more" and items:
            items[-1] = (f"{items[-1][0]} {text}", items[-1][1])
        elif not text.rstrip().endswith(":"):  # a line that only introduces a list
            has_more = True
    if not items:
        whole = one_line(_without_comments(instructions))
        return (Requirement(1, whole),) if _WORDS.search(whole) else ()
    groups = [Requirement(number, *group) for number, group in enumerate(_group(items), 1)]
    return (*groups, *([Requirement(len(groups) + 1, REST)] if has_more else []))


def list_requirements(requirements: Sequence[Requirement]) -> str:
    """The list as the prompt shows it, one line each."""
    return "\n".join(f"{one.number}. {one.line}" for one in requirements)


def _group(items: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The text and the heading of each number."""
    together = math.ceil(len(items) / MOST)
    for first in range(0, len(items), together):
        text, heading = items[first]
        if together > 1:
            group = enumerate(items[first : first + together], first + 1)
            texts = [f"({number}) {shorten(one_line(text), 120)}" for number, (text, _) in group]
            text = " ".join(texts)
            text = text if len(text) <= _LONGEST_GROUP else f"{texts[0]} and all items up to {texts[-1]}"
        yield text, heading


def _pieces(text: str) -> Iterator[tuple[str, str, str]]:
    """`item`, `more` of an item, or `prose`, with its words and the heading above it. Blocks of code are left out."""
    heading, within, after_blank = "", False, False
    for _, line in outside_fences(_without_comments(text)):
        if not _WORDS.search(line):
            after_blank = after_blank or not line.strip()
            continue
        if found := _HEADING.fullmatch(line):
            heading, within = found[1], False
        elif (found := _ITEM.fullmatch(line)) and _WORDS.search(found[1]):
            within = True
            yield "item", found[1], heading
        else:
            within = within and (not after_blank or line[:2].isspace())
            yield "more" if within else "prose", line, heading
        after_blank = False


def _without_comments(text: str) -> str:
    """Only up to the last end of a comment: there is none behind it that the pattern would look for in vain."""
    before, end, after = text.rpartition("-->")
    return re.sub(r"<!--.*?-->", "", before + end, flags=re.DOTALL) + after


def judge(document: Mapping[str, Any], asked: Sequence[Requirement]) -> Review:
    """The review in an answer of this schema. Unknown fields are not read."""
    try:
        answer = msgspec.convert(without_nulls(document), _Answer, strict=False)
    except msgspec.ValidationError as error:
        return Review(INVALID, f"the answer does not have the form that was asked for: {error}")
    faults: list[str] = []
    judged = tuple(_judge_requirement(requirement, answer.requirements, faults) for requirement in asked)
    unknown = {entry.number for entry in answer.requirements} - {requirement.number for requirement in asked}
    if unknown:
        named, many = join_names([str(number) for number in sorted(unknown)]), len(unknown) > 1
        faults.append(f"it names requirement{'s' * many} {named}, which {'are' if many else 'is'} not in the list")
    missing = [sentence(one.text) or "a finding without words" for one in answer.findings if one.missing]
    remarks = tuple(filter(None, (sentence(one.text) for one in answer.findings if not one.missing)))
    unmet = [_describe_unmet(one) for one in judged if one.status in (NOT_MET, NOT_CHECKED)]
    summary = sentence(answer.summary)
    if missing or unmet:
        return Review(INCOMPLETE, summary, (*missing, *unmet, *faults), judged, remarks)
    if faults or not asked:
        return Review(INVALID, "; ".join(faults) or "there is no requirement to judge", (), judged, remarks)
    return Review(VERIFIED, summary, (), judged, remarks)


def _judge_requirement(requirement: Requirement, entries: Sequence[_Entry], faults: list[str]) -> JudgedRequirement:
    number, about = requirement.number, requirement.line
    own = [entry for entry in entries if entry.number == number]
    evidence = next(filter(None, (sentence(entry.evidence) for entry in own)), "")
    if len({entry.status for entry in own}) != 1:
        what = "contradicts itself about" if own else "says nothing about"
        faults.append(f"it {what} requirement {number}")
        return JudgedRequirement(number, about, "", evidence)
    if own[0].status == MET and not all(entry.source for entry in own):
        return JudgedRequirement(number, about, NOT_CHECKED, evidence)
    return JudgedRequirement(number, about, own[0].status, evidence, own[0].source)


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
