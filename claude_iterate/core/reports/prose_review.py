"""Reads a review that was written as a text, by an agent that cannot answer in our schema. Strictly.

A report must name this very review (its id) right before its last line, which is the only verdict in it in whatever
dress; it must have a section of findings and say of each numbered requirement that it is met, and nothing in it may say
that something is missing while it verifies.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain

from claude_iterate.core.formats import listed
from claude_iterate.core.reports.doubtful_evidence import speaks_against
from claude_iterate.core.reports.requirements import Requirement
from claude_iterate.core.reports.review import INCOMPLETE, INVALID, VERIFIED, Review

_DRESS = r"[ \t>*_`#-]*"
_ANY_VERDICT = re.compile(rf"^{_DRESS}VERDICT\b{_DRESS}:(.*)$", re.MULTILINE | re.IGNORECASE)
_LAST = re.compile(r"^[*_` \t]*VERDICT[*_ \t]*:[*_` \t]*(VERIFIED|INCOMPLETE)[*_`. \t]*$")
_IDENTITY = re.compile(rf"^{_DRESS}VERIFICATION-ID{_DRESS}:[*_` \t]*(\w+)[*_` \t]*$", re.MULTILINE)
_EMPHASIS = re.compile(r"[*`~]+|(?<!\w)_+|_+(?!\w)")
_TITLE = re.compile(r"[ \t>]*(?:\*\*|__)[^*_|]{1,60}(?:\*\*|__):?[ \t]*|[ \t>]*[\w -]{1,60}:[ \t]*")
"""A line that serves as a heading without being one."""
_ITEM = re.compile(r"^[ \t]*(?:\d+[.)]|[-*+])[ \t]+", re.MULTILINE)

_THINGS = r"(?:findings?|issues?|problems?|defects?|gaps?|concerns?|failures?|errors?|bugs?|blockers?)"
_NONE = re.compile(
    rf"[\W\d]*(?:there (?:are|is|were) )?(?:none|nothing|not applicable|n/a|no (?:\w+ ){{0,2}}{_THINGS})"
    r"(?: (?:was|were|is|are))?"
    r"(?: (?:at all|found|left|missing|open|to report|identified|detected|noted|remain\w*))?[\W\d]*",
    re.IGNORECASE,
)
_OF_FINDINGS = re.compile(
    r"finding|issue|problem|defect|gap|concern|missing|remain|open|unmet|not met|incomplete|to.?do|left|fail|bug|block",
    re.IGNORECASE,
)
"""Headings under which something may be listed that speaks against the work."""

_DONE = r"(?:met|done|complete[d]?|satisfied|fulfilled|implemented|verified|checked|tested|finished|working|passing)"
_LACKING = r"(?:missing|fail(?:s|ed|ing|ure)?|incomplete|broken|absent|open|pending|wrong|unfinished|undone|stubbed)"
_UNMET = re.compile(
    rf"\bnot[ _](?:yet |fully |entirely |all |completely |been |really ){{0,3}}{_DONE}\b"
    r"|\b(?:unmet|unverified|unchecked|untested|unimplemented|unsatisfied|unfulfilled|incomplete|unfinished)\b"
    r"|\b(?:partial(?:ly)?|partly)\b|\b(?:could|can) ?not be \w+|\bunable to (?:check|verify|run|confirm)\b"
    rf"|\b(?:is|are|was|were|still|has|have|be|remains?)[ ](?:still ){{0,1}}{_LACKING}\b"
    rf"|(?:^|[:|=(—–→]|[ ]-[ ])[ \t]*{_LACKING}(?=[ \t]*(?:$|[.,;:|)—–(]|[ ]-[ ]))"
    rf"|\b{_LACKING}[ \t]*$|\b[1-9]\d* (?:\w+ ){{0,2}}?{_LACKING}\b|\b(?:item|requirement)s? \S{{1,20}} {_LACKING}\b"
    r"|[✗✘❌✖☒🔴⛔🚫⚠]|\[ \]",
    re.IGNORECASE | re.MULTILINE,
)
"""Words for a requirement that is not met: anywhere, or where a status stands."""
_DENIED = re.compile(
    rf"\b(?:no|not|nothing|none|zero|0|never|without|neither)\b(?:[ ][\w`'/.-]+){{0,5}}?[ ]{_LACKING}\b"
    rf"|\b{_LACKING}[ ]*[:=][ ]*0\b",
    re.IGNORECASE,
)
"""Nothing is missing, 0 failed: such words speak for the work."""
_NUMBERED = re.compile(
    r"[ \t>|*_`#+-]*(?:\[[xX]\][ \t]*)?(?:(?:requirements?|items?|no\.?|nr\.?|r)[ \t]*)?#?"
    r"(\d{1,3}(?:[ \t]*(?:-|–|to|and|&|,)[ \t]*\d{1,3})*)(?=[ \t]*(?:[.):|*_`—–=-]|$))",
    re.IGNORECASE,
)
"""A line that begins with the numbers of requirements: `2.`, `Requirement 2:`, `| 2 |`, `1-3:`."""
_WORD = re.compile(r"\w")
_STATUS = re.compile(
    rf"^[ \t|:.)—–=-]*(?:{_DONE}|yes|ok|holds?|true|[✓✔✅☑])(?![\w'])[ \t|:.,;—–-]*", re.IGNORECASE | re.MULTILINE
)
"""The status at the beginning of what is said of a requirement."""
_MET = re.compile(rf"\b(?:{_DONE}|pass(?:es|ed)?|yes|ok|holds?|green|true|there)\b|[✓✔✅☑]|\[[xX]\]", re.IGNORECASE)


def read(text: str, identity: str, answer: str = "", asked: Sequence[Requirement] = ()) -> Review:
    """The review in this report; `answer` is what the reviewer said at the end, `asked` are the requirements that it
    had to judge. Whatever is odd makes it invalid."""
    lines = [line.rstrip() for line in text.strip().splitlines() if line.strip()]
    if not lines:
        return Review(INVALID, "the report is empty")
    sections = list(_sections(text))
    findings = tuple(item for name, body in sections if name == "findings" for item in _items(body))
    verdict = _LAST.match(lines[-1])
    trouble = _trouble(text, lines, identity, verdict is not None)
    if trouble:
        return Review(INVALID, trouble, findings)
    summary = " ".join(" ".join(body for name, body in sections if name == "summary").split())
    if verdict is not None and verdict[1] == "INCOMPLETE":
        return Review(INCOMPLETE, summary, findings)
    contradiction = _contradiction(text, sections, findings, answer) or _left_out(text, asked)
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


def _contradiction(text: str, sections: list[tuple[str, str]], findings: tuple[str, ...], answer: str) -> str:
    """What speaks against a report that verifies; empty when nothing does."""
    if [name for name, _ in sections].count("findings") != 1:
        return "the report says VERIFIED without one section of findings"
    if findings:
        return "the report says VERIFIED and lists findings"
    more = next((name for name, body in sections if _OF_FINDINGS.search(name) and _items(body)), "")
    if more:
        return f"the report says VERIFIED and lists something under {more[:60]!r}"
    if unmet := _unmet(text):
        return f"the report says VERIFIED and names a requirement that is not met: {unmet!r}"
    if any("INCOMPLETE" in said.upper() or "NOT VERIFIED" in said.upper() for said in _ANY_VERDICT.findall(answer)):
        return "the report says VERIFIED and the reviewer's answer says otherwise"
    return ""


def _left_out(text: str, asked: Sequence[Requirement]) -> str:
    """Which requirement the report does not call met, or not with evidence for it; empty when there is none."""
    said = _said_of_each(text, asked)
    unmet = [str(one.number) for one in asked if not _MET.search(said[one.number])]
    if unmet:
        return f"the report says VERIFIED and does not call requirement {listed(unmet)} met"
    doubtful = [str(one.number) for one in asked if speaks_against(_evidence(said[one.number]))]
    if doubtful:
        return f"the report says VERIFIED, and its evidence for requirement {listed(doubtful)} says otherwise"
    bare = [str(one.number) for one in asked if not _WORD.search(_evidence(said[one.number]))]
    return f"the report says VERIFIED without evidence for requirement {listed(bare)}" if bare else ""


def _said_of_each(text: str, asked: Sequence[Requirement]) -> dict[int, str]:
    """What the lines say that begin with the number of a requirement, and those that follow them."""
    said: dict[int, list[list[str]]] = {one.number: [] for one in asked}
    lines: list[str] = []
    for line in text.splitlines():
        found = _NUMBERED.match(line)
        if found or line.lstrip().startswith("#"):
            lines = []
            for number in _numbers(found[1]) & said.keys() if found else ():
                said[number].append(lines)
        lines.append(line[found.end() :] if found else line)
    return {number: "\n".join(chain.from_iterable(parts)) for number, parts in said.items()}


def _evidence(said: str) -> str:
    """Without the words that only say that it is met."""
    return _STATUS.sub("", _EMPHASIS.sub("", said))


def _numbers(words: str) -> set[int]:
    """Of `1-3, 5`: 1, 2, 3 and 5."""
    found: set[int] = set()
    for part in re.split(r"and|&|,", words):
        ends = [int(number) for number in re.findall(r"\d+", part)]
        found |= set(range(ends[0], ends[-1] + 1)) if ends else set()
    return found


def _unmet(text: str) -> str:
    """The first words that say that something is not met; emphasis hides none."""
    before = ""
    for line in text.splitlines():
        plain = " ".join(_EMPHASIS.sub("", line).split())
        if _NONE.fullmatch(plain) or plain.startswith("#"):
            plain = ""
        # A sentence may go on in the next line; an item begins a new one.
        for words in (plain, "" if _ITEM.match(line) else f"{before} {plain}"):
            found = _UNMET.search(_DENIED.sub(" ", words))
            if found:
                return found[0].strip()[:60]
        before = plain[-100:]
    return ""


def _sections(text: str) -> Iterator[tuple[str, str]]:
    """The text under each heading with a name that counts, in lower case; deeper headings without one belong to it."""
    name, level, body = "", 0, list[str]()
    for line in text.splitlines():
        title = line.lstrip("> \t")
        depth = len(title) - len(title.lstrip("#"))
        is_end = _IDENTITY.match(line) is not None
        if not depth and name != "findings" and _TITLE.fullmatch(line) and _OF_FINDINGS.search(title):
            depth = 7
        if depth or is_end:
            called = " ".join(title.strip("# \t:*_").lower().split())
            if is_end or depth <= level or called == "summary" or _OF_FINDINGS.search(called):
                if name:
                    yield name, "\n".join(body)
                name, level, body = "" if is_end else called, depth, []
        else:
            body.append(line)
    if name:
        yield name, "\n".join(body)


def _items(section: str) -> tuple[str, ...]:
    """The items of a list; lines that follow an item belong to it. None when it says that there is nothing."""
    plain = section.strip()
    if not plain or (len(plain) <= 200 and _NONE.fullmatch(plain)):
        return ()
    return tuple(" ".join(item.split())[:500] for item in _ITEM.split(section) if item.strip())
