"""A long stream in the recorded mix of kinds: lines of about 1 KB, ids that fit together, numbered texts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).resolve().parents[1] / "tests" / "fixtures" / "claude-2.1.197"
SIZE = 1000
NUMBER, CYCLE = "@NUMBR@", "@CYCLE@"
"""Stand-ins of seven characters, so that a line keeps its length."""
_IDS = frozenset({"id", "tool_use_id", "parent_tool_use_id", "task_id", "uuid"})
_LONG_INPUTS = ("command", "content", "new_string", "prompt")
_WORDS = "the quick brown fox reads a file, edits two lines and runs the tests again\n"
GOOD = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "result": "Done.",
    "num_turns": 9,
    "session_id": "s",
}


def write(path: Path, count: int) -> int:
    """Write a stream of `count` lines that ends well; returns how many texts in it are numbered."""
    templates = [_template(document) for document in _recorded()]
    number = 0
    with path.open("wb") as file:
        for index in range(count - 1):
            cycle, place = divmod(index, len(templates))
            line = templates[place].replace(CYCLE.encode(), b"%07d" % cycle)
            if NUMBER.encode() in line:
                line = line.replace(NUMBER.encode(), b"%07d" % number)
                number += 1
            file.write(line)
        file.write(json.dumps(GOOD).encode() + b"\n")
    return number


def marker(number: int | str) -> str:
    """How a numbered text ends."""
    return f"[#{number:07d}#]" if isinstance(number, int) else f"[#{number}#]"


def _recorded() -> Iterator[dict[str, Any]]:
    for path in sorted(RECORDED.glob("*.ndjson")):
        for line in path.read_bytes().splitlines():
            try:
                yield json.loads(line)
            except ValueError:
                continue  # one recording was cut short on purpose


def _template(document: dict[str, Any]) -> bytes:
    document = _with_cycle(document)
    missing = max(0, SIZE - len(_encoded(document)))
    filler = (_WORDS * (missing // len(_WORDS) + 1))[:missing]
    if not _fill(document, filler):
        document["request_id"] = filler  # a field that the runner ignores
    return _encoded(document)


def _encoded(document: dict[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"


def _with_cycle(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _with_cycle(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_with_cycle(item, key) for item in value]
    return f"{value}.{CYCLE}" if isinstance(value, str) and key in _IDS else value


def _fill(document: dict[str, Any], filler: str) -> bool:
    """Lengthen the text that people read, and number it where the log must show it; False where there is none."""
    message = document.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    block = content[-1] if isinstance(content, list) and content and isinstance(content[-1], dict) else {}
    kind, said = block.get("type"), block.get("content")
    if document.get("type") == "assistant" and kind == "text":
        block["text"] += f"\n{filler}{marker(NUMBER)}"
        return True
    if kind == "tool_result" and isinstance(said, str):
        block["content"] = f"{said}\n{filler}{marker(NUMBER)}"
        return True
    given = block.get("input")
    if kind == "tool_use" and isinstance(given, dict):
        for key in _LONG_INPUTS:
            if isinstance(given.get(key), str):
                given[key] += filler
                return True
    return False
