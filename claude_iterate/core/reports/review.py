"""Reads the report of a review. Only a fresh, well-formed report without contradiction can say "verified".

A report must name this very review (its id) right before its last line, which is the only verdict in it in whatever
dress; it must have a section of findings, and list none while it verifies.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from claude_iterate.core.expressions import expression
from claude_iterate.core.reports.json_input import short_lines

VERIFIED, INCOMPLETE, INVALID = "verified", "incomplete", "invalid"
DEPTHS = {
    "quick": "Quick: check that every deliverable exists and that the counts are right. Read, do not run.",
    "standard": "Standard: read the content of the deliverables, and run the commands that the instructions name.",
    "deep": "Deep: run all tests, try edge cases, read for stubs, skipped tests and leftover TODO or FIXME marks.",
}

_DRESS = r"[ \t>*_`#-]*"
_ANY_VERDICT = expression(rf"^{_DRESS}VERDICT\b{_DRESS}:(.*)$", re.MULTILINE | re.IGNORECASE)
_LAST = expression(r"^[*_` \t]*VERDICT[*_ \t]*:[*_` \t]*(VERIFIED|INCOMPLETE)[*_`. \t]*$")
_IDENTITY = expression(rf"^{_DRESS}VERIFICATION-ID{_DRESS}:[*_` \t]*(\w+)[*_` \t]*$", re.MULTILINE)
_HEADING = expression(r"^#{1,6}[ \t]+(.+?)[ \t:#]*$")
_SECTIONS = frozenset({"summary", "requirements", "findings"})
_NONE = expression(r"^[\W\d]*(none|no findings|nothing)[\W\d]*$", re.IGNORECASE)
_UNMET = expression(r"\bnot met\b|\bcould not be checked\b|\bunmet\b", re.IGNORECASE)


class Review(NamedTuple):
    """A verdict, and what it rests on; for `invalid` the summary says why it cannot be trusted."""

    verdict: str
    summary: str
    findings: tuple[str, ...] = ()


def read(text: str, identity: str, answer: str = "") -> Review:
    """The review in this report; `answer` is what the reviewer said at the end. Whatever is odd makes it invalid."""
    text = short_lines(text)
    lines = [line.rstrip() for line in text.strip().splitlines() if line.strip()]
    if not lines:
        return Review(INVALID, "the report is empty")
    sections = _sections(text)
    findings = tuple(item for body in sections.get("findings", []) for item in _findings(body))
    verdict = _LAST.match(lines[-1])
    trouble = _trouble(text, lines, identity, verdict is not None)
    if trouble:
        return Review(INVALID, trouble, findings)
    summary = " ".join(" ".join(sections.get("summary", [])).split())
    if verdict is not None and verdict[1] == "INCOMPLETE":
        return Review(INCOMPLETE, summary, findings)
    contradiction = _contradiction(sections, findings, short_lines(answer))
    return Review(INVALID, contradiction, findings) if contradiction else Review(VERIFIED, summary)


def _trouble(text: str, lines: list[str], identity: str, ends_with_verdict: bool) -> str:
    """Why this is not a report of this review at all; empty when it is."""
    if _IDENTITY.findall(text) != [identity]:
        return "the report does not name this review"
    count = len(_ANY_VERDICT.findall(text))
    if count != 1:
        return "the report has no verdict line" if not count else "the report has more than one verdict line"
    if not ends_with_verdict:
        return "the report does not end with its verdict"
    if len(lines) < 2 or not _IDENTITY.match(lines[-2]):
        return "the verdict does not stand right after the review's id"
    return ""


def _contradiction(sections: dict[str, list[str]], findings: tuple[str, ...], answer: str) -> str:
    """What speaks against a report that verifies; empty when nothing does."""
    if len(sections.get("findings", [])) != 1:
        return "the report says VERIFIED without one section of findings"
    if findings:
        return "the report says VERIFIED and lists findings"
    if any(_UNMET.search(body) for body in sections.get("requirements", [])):
        return "the report says VERIFIED and names a requirement that is not met"
    if any("INCOMPLETE" in said.upper() or "NOT VERIFIED" in said.upper() for said in _ANY_VERDICT.findall(answer)):
        return "the report says VERIFIED and the reviewer's answer says otherwise"
    return ""


def _sections(text: str) -> dict[str, list[str]]:
    """The text under each of the sections that count, at any level of heading; deeper headings belong to it."""
    found: dict[str, list[str]] = {}
    body: list[str] | None = None
    level = 0
    for line in text.splitlines():
        heading = _HEADING.match(line)
        depth = len(line) - len(line.lstrip("#"))
        name = heading[1].strip("*_ ").lower() if heading else ""
        if _IDENTITY.match(line) or (heading and depth <= level):
            body = None
        if name in _SECTIONS:
            body, level = found.setdefault(name, []), depth
            body.append("")
        elif body is not None and not heading:
            body[-1] += line + "\n"
    return found


def _findings(section: str) -> tuple[str, ...]:
    """The items of the list; lines that follow an item belong to it."""
    if not section.strip() or _NONE.match(section.strip()):
        return ()
    items = re.split(r"^[ \t]*(?:\d+[.)]|[-*+])[ \t]+", section, flags=re.MULTILINE)
    return tuple(" ".join(item.split())[:500] for item in items if item.strip())
