"""Which task a text of instructions is, in a few characters that a journal can keep.

A ticked box and blanks at the ends of lines do not make it another task; a box that is open again does.
"""

from __future__ import annotations

import hashlib
import re

UNREADABLE = "unreadable"
"""Stands for instructions that are missing, empty or not text."""
_BOX = re.compile(r"^(\s*(?:[-*+]|\d{1,9}[.)])\s+)\[[xX]\](?=\s|$)")


def checksum(data: bytes, size: int = 8) -> str:
    """The same for the same bytes: two hexadecimal digits for each byte of `size`."""
    return hashlib.blake2b(data, digest_size=size).hexdigest()


def identity(text: str) -> str:
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
