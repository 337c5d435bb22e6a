"""How values are written for people and documents: durations, money, moments, counts, sizes, shortened text.

Each form exists once, here. Pure functions; a moment is written in UTC unless a zone is given.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any
from unicodedata import category, east_asian_width

_INVISIBLE = frozenset({"Mn", "Me", "Cf"})


def duration(seconds: float) -> str:
    """Short, for people: `0.4s`, `12s`, `3m 05s`, `1h 02m`."""
    seconds = max(0.0, seconds)
    if seconds < 9.95:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02d}s"
    if whole < 86400:
        return f"{whole // 3600}h {whole % 3600 // 60:02d}m"
    return f"{whole // 86400}d {whole % 86400 // 3600:02d}h"


def age(seconds: float) -> str:
    """A duration that grows while one looks: whole seconds, because tenths would only flicker."""
    whole = max(0, int(seconds))
    return f"{whole}s" if whole < 60 else duration(whole)


def typed_duration(seconds: float) -> str:
    """As the user would type it: `24h`, `90m`, `2s`."""
    for unit, size in (("h", 3600), ("m", 60)):
        if seconds and seconds % size == 0:
            return f"{seconds / size:.0f}{unit}"
    return f"{seconds:g}s"


def money(dollars: float) -> str:
    """`$0.42`; a fraction of a cent is not shown as zero."""
    return f"${dollars:.4f}" if 0 < dollars < 0.01 else f"${dollars:.2f}"


def cost(dollars: float, lower_bound: bool = False) -> str:
    """`$0.42`; `at least $0.42` when there may be more; `not known` when nothing is known."""
    if not lower_bound:
        return money(dollars)
    return at_least(money(dollars)) if dollars else "not known"


def at_least(text: str, lower_bound: bool = True) -> str:
    """`at least 3 iterations`, when there may be more."""
    return f"at least {text}" if lower_bound else text


def moment(epoch: float) -> str:
    """ISO 8601 in UTC: `2025-10-15T14:23:45Z`. A number that is not a moment is shown as it is."""
    return _moment(epoch, "seconds")


def precise_moment(epoch: float) -> str:
    """With milliseconds: `2025-10-15T14:23:45.000Z`."""
    return _moment(epoch, "milliseconds")


def _moment(epoch: float, timespec: str) -> str:
    try:
        return datetime.fromtimestamp(epoch, UTC).isoformat(timespec=timespec).replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):
        return f"{epoch:g}"


def plural(number: int, noun: str) -> str:
    """`1 line`, `3 lines`."""
    return f"1 {noun}" if number == 1 else f"{number} {noun}s"


def join_names(names: Sequence[str], most: int = 3) -> str:
    """`a, b, c and 4 more`."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def size(count: int) -> str:
    """Bytes for people: `340 B`, `12.5 KB`, `3.1 MB`."""
    amount = float(count)
    for unit in ("B", "KB", "MB"):
        if amount < 1000:
            return f"{count} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


def one_line(text: str) -> str:
    """The text without line breaks and runs of blanks."""
    return " ".join(text.split())


def plain(value: Any) -> Any:
    """The value of a setting as JSON has it: lists for tuples, whole numbers without a point."""
    if isinstance(value, tuple):
        return list(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def shorten(text: str, longest: int, mark: str = "...") -> str:
    """The text, or its beginning and a mark: never more than `longest` characters."""
    return text if len(text) <= longest else text[: longest - len(mark)].rstrip() + mark


def width(text: str) -> int:
    """Columns on a terminal of a text without control characters. Terminals disagree on emoji."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def clip(text: str, columns: int) -> str:
    """As much of the beginning as fits into the columns, with an ellipsis when something is missing."""
    if width(text) <= columns:
        return text
    room = columns - 1
    if text.isascii():
        return f"{text[:room]}…" if columns > 0 else ""
    for position, character in enumerate(text):
        room -= _columns(character)
        if room < 0:
            return f"{text[:position]}…" if columns > 0 else ""
    return text


def _columns(character: str) -> int:
    if character.isascii():
        return 1
    if east_asian_width(character) in {"W", "F"}:
        return 2
    return 0 if category(character) in _INVISIBLE else 1


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
