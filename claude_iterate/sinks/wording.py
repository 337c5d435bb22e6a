"""Small phrases that every sink says in the same way: counts, money, times, indented text. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

INDENT = "   "


def counted(number: int, noun: str) -> str:
    """`1 line`, `3 lines`."""
    return f"1 {noun}" if number == 1 else f"{number} {noun}s"


def stamp(at: float) -> str:
    """A moment as `2025-10-15T14:23:45.000Z`."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def one_line(text: str) -> str:
    """The text without line breaks and runs of blanks."""
    return " ".join(text.split())


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
