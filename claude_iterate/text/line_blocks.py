"""Texts of several lines: their first lines, indented, with what was left out counted. Pure functions.

A block is a list of texts that stand below each other. A text of Claude's stays in one piece, however many lines it
has: every event comes through here, and to take texts apart and join them again would cost more than all else."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from claude_iterate.core.formats import plural

INDENT = "   "


class Limits(msgspec.Struct, frozen=True):
    """Most lines of a file read, of a tool's output, of a file written; most characters of an input value.

    None means all: the log leaves nothing out."""

    read: int | None
    output: int | None
    written: int | None
    value: int | None


CONSOLE = Limits(read=15, output=20, written=0, value=200)
WHOLE = Limits(read=None, output=None, written=None, value=None)


def head(text: str, limit: int | None) -> tuple[str, int]:
    """The first lines of a text and how many are left out. Only line feeds divide: other breaks are content."""
    if limit is None or (more := text.count("\n") + 1 - limit) <= 0:
        return text, 0
    return "\n".join(text.split("\n", limit)[:limit]), more


def indented(lines: Iterable[str], by: str = INDENT) -> list[str]:
    """Each line moved to the right; an empty one stays empty."""
    return [by + line if line else line for line in lines]


def indented_text(text: str, by: str = INDENT) -> str:
    """The same for the lines of one text."""
    if not text:
        return text
    moved = by + text.replace("\n", "\n" + by)
    if "\n\n" in text:
        empty = f"\n{by}\n"
        moved = moved.replace(empty, "\n\n").replace(empty, "\n\n")  # the second time each other one of many
    if text[0] == "\n":
        moved = moved[len(by) :]
    return moved[: -len(by)] if text[-1] == "\n" else moved


def indented_head(text: str, limit: int | None, by: str = INDENT) -> list[str]:
    """The first lines of a text, moved to the right, and a line that says how many more there are."""
    shown, more = head(text, limit)
    return [indented_text(shown, by), *([f"{by}... ({plural(more, 'more line')})"] if more else ())]


def first_and_rest(text: str) -> tuple[str, list[str]]:
    """The first line that says something, and the lines after it."""
    first, *rest = text.strip().split("\n")
    return first.rstrip(), rest
