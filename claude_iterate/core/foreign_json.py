"""Reads foreign JSON: whole documents, strictly and where that fails forgivingly; and single fields. Never raises.

A field has a value of the right type, or an empty one: a wrong type in one must not cost the rest.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import msgspec

from claude_iterate.core.formats import one_line, shorten

DEEPEST = 60
"""Real data is not nested deeper than this, and deeper nesting breaks code that walks through it."""
_LONGEST_TEXT = 2000


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


def decode_written(data: bytes) -> Any:
    """The JSON value that an agent wrote, perhaps in a Markdown fence; or None."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    found = decode(data)
    return decode(_within_fence(data)) if found is None else found


def _within_fence(data: bytes) -> bytes:
    """What stands in a Markdown fence, if the whole text is one; else nothing."""
    first, _, rest = data.strip().partition(b"\n")
    within, _, last = rest.rpartition(b"\n")
    marks = last.strip()
    fenced = marks in {b"`" * len(marks), b"~" * len(marks)} and len(marks) >= 3
    return within if fenced and first.startswith(marks) else b""


def _loads(text: str) -> Any:
    return json.loads(text, parse_constant=lambda _: None, parse_int=_parse_int, parse_float=_parse_float)


def _parse_int(digits: str) -> int | None:
    """The journal cannot hold a number of more than 64 bits, and none that is meant is that large."""
    return int(digits) if len(digits) <= 18 else None


def _parse_float(digits: str) -> float | None:
    value = float(digits)
    return value if math.isfinite(value) else None


def is_deep(value: Any, levels: int = DEEPEST) -> bool:
    """True when lists and tables are nested beyond `levels`."""
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list):
        return False
    return levels <= 0 or any(is_deep(item, levels - 1) for item in value)


def word(value: Any) -> str:
    """A string, or the empty string."""
    return value if isinstance(value, str) else ""


def sentence(value: Any) -> str:
    """A string as one line that is not too long, or the empty string."""
    return shorten(one_line(word(value)[: 4 * _LONGEST_TEXT]), _LONGEST_TEXT)


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
    return tuple(text_of(item) for item in value) if isinstance(value, list) else ()


def text_of(content: Any, levels: int = 20) -> str:
    """The text of a block, of a list of blocks, or of any other value in the place of a text."""
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if levels <= 0:
        return "(nested too deeply to show)"
    if isinstance(content, list):
        return "\n".join(text_of(item, levels - 1) for item in content)
    if isinstance(content, dict):
        if isinstance(content.get("text"), str):
            return str(content["text"])
        if content.get("type") in ("image", "document"):
            return f"({content['type']})"
        return "(nested too deeply to show)" if is_deep(content) else json.dumps(content, ensure_ascii=False)
    return str(content)


def without_nulls(document: Mapping[str, Any]) -> dict[str, Any]:
    """The table, and the tables in its lists, without fields that are null: so an agent writes what it leaves out."""
    return {
        key: [
            {name: given for name, given in item.items() if given is not None} if isinstance(item, dict) else item
            for item in value
        ]
        if isinstance(value, list)
        else value
        for key, value in document.items()
    }


def schema_of(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON Schema of such a table in one piece: a tool of Claude Code takes no references."""
    (root,), parts = msgspec.json.schema_components((kind,), ref_template="{name}")

    def expand(schema: Any) -> Any:
        if isinstance(schema, list):
            return [expand(item) for item in schema]
        if not isinstance(schema, dict):
            return schema
        found = parts[schema["$ref"]] if "$ref" in schema else schema
        return {key: expand(value) for key, value in found.items() if key not in {"title", "default"}}

    schema: dict[str, Any] = expand(root)
    return schema
