"""Fingerprints of texts, in a few characters that a journal can keep: which task instructions are, which error it was.

A ticked box and blanks at the ends of lines do not make another task; a box that is open again does. The
error is made from what tools and the result report, never from Claude's prose: the same for the same error, whenever it
comes up again. What differs from one try to the next is taken out: dates, times, line numbers, addresses, identities,
paths of temporary files.
"""

from __future__ import annotations

import hashlib
import re

from claude_iterate.core.formats import one_line, shorten

UNREADABLE = "unreadable"
"""Stands for instructions that are missing, empty or not text."""
_BOX = re.compile(r"^(\s*(?:[-*+]|\d{1,9}[.)])\s+)\[[xX]\](?=\s|$)")
_LONGEST_ERROR = 4000
"""Characters of an error that count: its end, where programs say what is wrong."""
_LONGEST_LINE = 200

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


def checksum(data: bytes, size: int = 8) -> str:
    """The same for the same bytes: two hexadecimal digits for each byte of `size`."""
    return hashlib.blake2b(data, digest_size=size).hexdigest()


def task_identity(text: str) -> str:
    """The same for the same task: a checksum of the text with its boxes open, and how many are ticked."""
    ticked = 0
    lines = []
    for line in text.splitlines():
        opened, boxes = _BOX.subn(r"\1[ ]", line) if "[" in line else (line, 0)
        ticked += boxes
        lines.append(opened.rstrip())
    words = "\n".join(lines).strip()
    return f"{checksum(words.encode('utf-8', 'replace'))}+{ticked}" if words else UNREADABLE


def open_boxes(text: str) -> str:
    """The text with every box open."""
    return "".join(_BOX.sub(r"\1[ ]", line) for line in text.splitlines(keepends=True))


def is_same_task(before: str, now: str) -> bool:
    """The task is the one it was, perhaps with more boxes ticked."""
    (old, _, done), (new, _, still_done) = before.partition("+"), now.partition("+")
    return old == new and _count(still_done) >= _count(done)


def _count(ticked: str) -> int:
    return int(ticked) if ticked.isdecimal() else 0


def error_signature(error: str) -> str:
    """16 hexadecimal digits; empty when there is no error."""
    words = error[-_LONGEST_ERROR:]
    for changing, stands in _CHANGING:
        words = changing.sub(stands, words)
    words = one_line(words)
    return checksum(words.encode("utf-8", "replace")) if words else ""


def last_words(error: str) -> str:
    """The end of an error in one line: there programs say what is wrong."""
    words = one_line(error)
    fits = len(words) <= _LONGEST_LINE
    return words if fits else shorten(one_line(error.strip().splitlines()[-1]), _LONGEST_LINE)
