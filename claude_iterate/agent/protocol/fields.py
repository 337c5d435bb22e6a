"""Reads single fields of foreign JSON: a value of the right type, or an empty one."""

from __future__ import annotations

import math
from typing import Any, TypeVar

from claude_iterate.core.reports import json_input

T = TypeVar("T")


class Recent(dict[str, T]):
    """The last so many entries: a stream without end must not fill our memory."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: str, value: T) -> None:
        super().__setitem__(key, value)
        if len(self) > self._most:
            del self[next(iter(self))]


def word(value: Any) -> str:
    """A string, or the empty string."""
    return value if type(value) is str else ""


def number(value: Any) -> float | None:
    """A finite number, or None. Numbers in strings are not numbers."""
    if type(value) is not float and type(value) is not int:
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def whole(value: Any) -> int:
    """A whole number, or 0."""
    if type(value) is int:
        return value
    found = number(value)
    return int(found) if found is not None else 0


def table(value: Any) -> dict[str, Any]:
    """A table, or an empty one."""
    return value if isinstance(value, dict) else {}


def tables(value: Any) -> list[dict[str, Any]]:
    """The tables in a list; anything else in it is left out."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def texts(value: Any) -> tuple[str, ...]:
    """The strings of a list; anything else in it as text."""
    if not isinstance(value, list):
        return ()
    return tuple([item if type(item) is str else text_of(item) for item in value])


def text_of(content: Any, levels: int = 20) -> str:
    """The text of a block, of a list of blocks, or of any other value in the place of a text."""
    if type(content) is str:
        return content
    if content is None:
        return ""
    if levels <= 0:
        return "(nested too deeply to show)"
    if isinstance(content, list):
        return "\n".join(text_of(item, levels - 1) for item in content)
    if isinstance(content, dict):
        if type(content.get("text")) is str:
            return str(content["text"])
        kind = word(content.get("type"))
        if kind in {"image", "document"}:
            return f"({kind})"
        return "(nested too deeply to show)" if json_input.is_deep(content) else str(content)[:2000]
    return str(content)
