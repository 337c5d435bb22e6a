"""Reads foreign JSON: strictly and fast, and where that fails once more, forgivingly. Never raises."""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec

DEEPEST = 60
"""Real data is not nested deeper than this, and deeper nesting breaks code that walks through it."""


def decode(data: bytes) -> Any:
    """The JSON value, or None. Broken UTF-8, lone surrogates, NaN and giant numbers cost only themselves."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        found = _loads(data.decode("utf-8", "replace"))
        return _loads(json.dumps(found, ensure_ascii=False).encode("utf-8", "replace").decode())
    except (ValueError, RecursionError):
        return None


def short_lines(text: str, most: int = 400) -> str:
    """The text with its lines cut: what is looked for in foreign text stands in short lines, and a pattern that meets
    a very long one can take very long."""
    return "\n".join(line[:most] for line in text.splitlines())


def is_deep(value: Any, levels: int = DEEPEST) -> bool:
    """True when lists and tables are nested beyond `levels`."""
    if type(value) is dict:
        value = value.values()
    elif type(value) is not list:
        return False
    if levels <= 0:
        return True
    # Most values are neither: a call for each would cost more than the rest of a tool's input.
    for item in value:
        kind = type(item)
        if (kind is dict or kind is list) and is_deep(item, levels - 1):
            return True
    return False


def _loads(text: str) -> Any:
    return json.loads(text, parse_constant=lambda _: None, parse_int=_whole, parse_float=_finite)


def _whole(digits: str) -> int | None:
    """The journal cannot hold a number of more than 64 bits, and none that is meant is that large."""
    return int(digits) if len(digits) <= 18 else None


def _finite(digits: str) -> float | None:
    value = float(digits)
    return value if math.isfinite(value) else None
