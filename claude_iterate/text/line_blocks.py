"""Texts of several lines: their first lines, indented, with what was left out counted. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable

from claude_iterate.core.formats import counted
from claude_iterate.core.records import Record

INDENT = "   "


class Limits(Record):
    """Most lines of a file read, of a tool's output, of a file written; most characters of an input value.

    None means all: the log leaves nothing out."""

    read: int | None
    output: int | None
    written: int | None
    value: int | None


CONSOLE = Limits(read=15, output=20, written=0, value=200)
WHOLE = Limits(read=None, output=None, written=None, value=None)


def head(text: str, limit: int | None) -> tuple[list[str], int]:
    """The first lines of a text and how many are left out. Split at line feeds only: other breaks are content."""
    if limit is None:
        return text.split("\n"), 0
    parts = text.split("\n", limit)
    if len(parts) <= limit:
        return parts, 0
    return parts[:limit], parts[limit].count("\n") + 1


def indented(lines: Iterable[str], by: str = INDENT) -> list[str]:
    """Each line moved to the right; an empty one stays empty."""
    return [by + line if line else line for line in lines]


def indented_head(text: str, limit: int | None, by: str = INDENT) -> list[str]:
    """The first lines of a text, moved to the right, and a line that says how many more there are."""
    shown, more = head(text, limit)
    block = indented(shown, by)
    if more:
        block.append(f"{by}... ({counted(more, 'more line')})")
    return block


def first_and_rest(text: str) -> tuple[str, list[str]]:
    """The first line that says something, and the lines after it."""
    first, *rest = text.strip().split("\n")
    return first.rstrip(), rest
