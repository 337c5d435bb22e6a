"""JSON as `json` reads and writes it, without its price at every start: it is loaded only for what msgspec refuses.
Both are loaded when they are needed: most commands never read JSON."""

from __future__ import annotations

from typing import Any


def parsed(text: bytes | str) -> Any:
    """The value; a ValueError when it is not JSON."""
    import msgspec

    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError):  # NaN, half of a pair, a mark at the beginning: `json` takes them
        import json

        return json.loads(text)


def written(value: Any) -> str:
    """The value on indented lines."""
    import msgspec

    try:
        return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    except (TypeError, ValueError, msgspec.MsgspecError, RecursionError):
        import json

        return json.dumps(value, indent=2, ensure_ascii=False)
