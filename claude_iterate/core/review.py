"""Reads the report of a review. Only a fresh, well-formed report without contradiction can say "verified".

A report must name this very review (its id), hold exactly one verdict line, and not list findings while it verifies.
"""

from __future__ import annotations

import re
from typing import NamedTuple

VERIFIED, INCOMPLETE, INVALID = "verified", "incomplete", "invalid"
DEPTHS = {
    "quick": "Quick: check that every deliverable exists and that the counts are right. Read, do not run.",
    "standard": "Standard: read the content of the deliverables, and run the commands that the instructions name.",
    "deep": "Deep: run all tests, try edge cases, read for stubs, skipped tests and leftover TODO or FIXME marks.",
}

_VERDICT = re.compile(r"^\s*VERDICT:\s*(\S+)\s*$", re.MULTILINE)
_IDENTITY = re.compile(r"^\s*VERIFICATION-ID:\s*(\S+)\s*$", re.MULTILINE)
_NONE = re.compile(r"^\W*(none|no findings|nothing)\b", re.IGNORECASE)


class Review(NamedTuple):
    """A verdict, and what it rests on; for `invalid` the summary says why it cannot be trusted."""

    verdict: str
    summary: str
    findings: tuple[str, ...] = ()


def read(text: str, identity: str) -> Review:
    """The review in this report. Whatever is odd makes it invalid, never verified."""
    summary = _section(text, "Summary")
    findings = _findings(_section(text, "Findings"))
    if not text.strip():
        return Review(INVALID, "the report is empty")
    if _IDENTITY.findall(text) != [identity]:
        return Review(INVALID, "the report does not name this review", findings)
    verdicts = _VERDICT.findall(text)
    if len(verdicts) != 1:
        many = "no verdict line" if not verdicts else "more than one verdict line"
        return Review(INVALID, f"the report has {many}", findings)
    if verdicts[0] == "INCOMPLETE":
        return Review(INCOMPLETE, summary, findings)
    if verdicts[0] != "VERIFIED":
        return Review(INVALID, f"the report's verdict is {verdicts[0]!r}", findings)
    if findings:
        return Review(INVALID, "the report says VERIFIED and lists findings", findings)
    return Review(VERIFIED, summary)


def _section(text: str, title: str) -> str:
    """The text under a `## title`, up to the next heading or the closing lines."""
    found = re.search(
        rf"^##\s+{title}\s*$\n(.*?)(?=^#|^\s*VERIFICATION-ID:|^\s*VERDICT:|\Z)",
        text,
        re.MULTILINE | re.DOTALL | re.IGNORECASE,
    )
    return found[1].strip() if found else ""


def _findings(section: str) -> tuple[str, ...]:
    """The items of the list; lines that follow an item belong to it."""
    if not section or _NONE.match(section):
        return ()
    items = re.split(r"^\s*(?:\d+[.)]|[-*+])\s+", section, flags=re.MULTILINE)
    return tuple(" ".join(item.split())[:500] for item in items if item.strip())
