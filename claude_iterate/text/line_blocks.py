"""Texts of several lines: their first lines, indent, with what was left out counted. Pure functions.

A block is a list of texts that stand below each other. Only line feeds divide: other breaks are content."""

from __future__ import annotations

from collections.abc import Iterable

from claude_iterate.core.formats import plural

INDENT = "   "


def head(text: str, limit: int | None) -> tuple[str, int]:
    """The first lines of a text and how many are left out; None: all of them."""
    if limit is None or (more := text.count("\n") + 1 - limit) <= 0:
        return text, 0
    return "\n".join(text.split("\n", limit)[:limit]), more


def indent(lines: Iterable[str], by: str = INDENT) -> list[str]:
    """Each line moved to the right; an empty one stays empty."""
    return [by + line if line else line for line in lines]


def indent_text(text: str, by: str = INDENT) -> str:
    """The same for the lines of one text."""
    return "\n".join(indent(text.split("\n"), by))


def indent_head(text: str, limit: int | None, by: str = INDENT) -> list[str]:
    """The first lines of a text, moved to the right, and a line that says how many more there are."""
    shown, more = head(text, limit)
    return [indent_text(shown, by), *([f"{by}... ({plural(more, 'more line')})"] if more else ())]


def first_and_rest(text: str) -> tuple[str, list[str]]:
    """The first line that says something, and the lines after it."""
    first, *rest = text.strip().split("\n")
    return first.rstrip(), rest
