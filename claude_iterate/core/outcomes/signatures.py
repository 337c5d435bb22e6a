"""The signature of an error: the same for the same error, whenever and wherever it comes up again.

Made from what tools and the result report as an error, never from Claude's prose. What differs from one try to the
next is taken out: dates, times, line numbers, addresses, identities, paths of temporary files.
"""

from __future__ import annotations

import re

from claude_iterate.core.formats import one_line, shorten
from claude_iterate.core.task_identity import checksum

_LONGEST = 4000
"""Characters of an error that count: its end, where programs say what is wrong."""
_SHOWN = 200

_CHANGING = (
    (re.compile(r"\x1b\[[0-9;?]*[A-Za-z]"), ""),
    (re.compile(r"(?:/private)?(?:/var)?/(?:tmp|folders|run/user)/[^\s'\":,;)\]]+"), "<temporary>"),
    (re.compile(r"[A-Za-z]:\\[^\s'\":,;)\]]*\\Temp\\[^\s'\":,;)\]]+"), "<temporary>"),
    (re.compile(r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b"), "<id>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)?"), "<date>"),
    (re.compile(r"\b\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d+)?(?: ?[AP]M)?\b"), "<time>"),
    (re.compile(r"\b0x[0-9a-fA-F]+\b"), "<address>"),
    (re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b"), "<id>"),
    (re.compile(r"\d+(?:[.,]\d+)*"), "<number>"),
)
"""In this order: a date is more than its numbers."""


def signature(error: str) -> str:
    """16 hexadecimal digits; empty when there is no error."""
    words = normal(error) if error else ""
    return checksum(words.encode("utf-8", "replace")) if words else ""


def normal(error: str) -> str:
    """The error without what changes from one try to the next."""
    words = error[-_LONGEST:]
    for changing, stands in _CHANGING:
        words = changing.sub(stands, words)
    return " ".join(words.split())


def shown(error: str) -> str:
    """The end of the error in one line: there programs say what is wrong."""
    words = one_line(error)
    return words if len(words) <= _SHOWN else shorten(one_line(error.strip().splitlines()[-1]), _SHOWN)
