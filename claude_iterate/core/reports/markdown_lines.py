"""The lines of a Markdown text that are not code: what stands in a fence, or indented by itself, is an example."""

from __future__ import annotations

import re
from collections.abc import Iterator

_FENCE = re.compile(r"^[\s>]*(?:(`{3,})([^`]*)|(~{3,})(.*))$")
"""The marks of a fence, and what follows them. Backquotes after backquotes are code within a line, not a fence."""
_ITEM = re.compile(r"^[\s>]*(?:[-*+]|\d{1,9}[.)])(?:\s|\[|$)")


def outside_fences(text: str) -> Iterator[str]:
    """The lines that do not stand in a fence."""
    return (line for _number, line in _numbered(text))


def outside_code(text: str) -> Iterator[tuple[int, str]]:
    """The lines, with their numbers from 1, that stand neither in a fence nor in a block of indented code. Such a block
    comes after an empty line and not within a list, where the same indentation means a nested item."""
    in_list = in_code = False
    after_blank = True
    for number, line in _numbered(text):
        if not line.strip():
            after_blank = True
            continue
        indented = line.startswith(("    ", "\t", " \t", "  \t", "   \t"))
        in_code = indented and not in_list and (after_blank or in_code)
        if _ITEM.match(line) and not in_code:
            in_list = True
        elif not indented and (after_blank or line.startswith("#")) and not line.startswith((" ", ">")):
            in_list = False
        after_blank = False
        if not in_code:
            yield number, line


def _numbered(text: str) -> Iterator[tuple[int, str]]:
    fence = ""
    for number, line in enumerate(text.splitlines(), 1):
        mark = _FENCE.match(line) if "```" in line or "~~~" in line else None
        if mark:
            fence = _fence_after(fence, mark[1] or mark[3], mark[2] or mark[4] or "")
        elif not fence:
            yield number, line


def _fence_after(fence: str, marks: str, rest: str) -> str:
    """The open fence after such a line; empty for none. One is closed by at least as many of its marks, alone."""
    if not fence:
        return marks
    closes = marks.startswith(fence) and not rest.strip()
    return "" if closes else fence
