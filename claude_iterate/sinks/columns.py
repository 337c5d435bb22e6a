"""How many columns a text takes on a terminal. Reasonable, not perfect: terminals disagree on emoji."""

from __future__ import annotations

from unicodedata import category, east_asian_width

_INVISIBLE = frozenset({"Mn", "Me", "Cf"})


def width(text: str) -> int:
    """Columns of a text without control characters."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def clip(text: str, columns: int) -> str:
    """As much of the beginning as fits, with an ellipsis when something is missing."""
    if width(text) <= columns:
        return text
    room = columns - 1
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
