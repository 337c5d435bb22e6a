"""The requirements in the instructions of a task, numbered: what a review has to answer, one by one.

Boxes and list items are requirements; headings say what they belong to; what else is written counts as one more. A text
without a list is one requirement. So nothing that the user wrote is left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

import msgspec

from claude_iterate.core.formats import one_line, shorten
from claude_iterate.core.reports.plan_tasks import outside_fences

MOST = 100
"""Numbers in one review. Of more items, several share a number: all of them must be met."""
REST = "Everything else that the instructions ask for, outside of the items above"
_LONGEST = 500
_LONGEST_GROUP = 1500

_ITEM = re.compile(r"[ \t>]*(?:[-*+•]|\d{1,9}[.)])[ \t]+(?:\[[^\]]?\][ \t]+)?(.*)")
_HEADING = re.compile(r"[ \t]{0,3}#{1,6}[ \t]+(.*?)[ \t#]*")
_WORDS = re.compile(r"\w")


class Requirement(msgspec.Struct, frozen=True):
    """One number of the list."""

    number: int
    text: str
    heading: str = ""


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


def listing(requirements: Sequence[Requirement]) -> str:
    """The list as the prompt shows it, one line each."""
    return "\n".join(f"{it.number}. {describe(it.text, it.heading)}" for it in requirements)


def describe(text: str, heading: str = "") -> str:
    """A requirement in one line."""
    shown = shorten(one_line(text), _LONGEST_GROUP if text.startswith("(") else _LONGEST)
    return f"[{shorten(one_line(heading), 100)}] {shown}" if heading else shown


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
    """A pattern would look for the end of each comment again where there is none."""
    kept = []
    while True:
        before, opened, rest = text.partition("<!--")
        _, closed, after = rest.partition("-->")
        kept.append(before)
        if not opened or not closed:
            return "".join([*kept, opened, rest])
        text = after
