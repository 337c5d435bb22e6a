"""JSON as `json` reads and writes it, by msgspec where that does the same."""

from __future__ import annotations

import json
from typing import Any

import msgspec


def parsed(text: bytes | str) -> Any:
    """The value; a ValueError when it is not JSON."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError):  # NaN, half of a pair, a mark at the beginning: `json` takes them
        return json.loads(text)


def written(value: Any) -> str:
    """The value on indented lines."""
    try:
        return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    except (TypeError, ValueError, msgspec.MsgspecError, RecursionError):
        return json.dumps(value, indent=2, ensure_ascii=False)
