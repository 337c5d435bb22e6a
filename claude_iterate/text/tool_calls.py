"""A tool call as lines. Every key of the input is shown; what an Edit or a Bash does is never cut."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from claude_iterate.core.events import ToolCalled
from claude_iterate.core.events.stream_events import telling
from claude_iterate.core.formats import counted, one_line
from claude_iterate.text.line_blocks import INDENT, Limits, indented_head, indented_text

DEEPER = INDENT * 2
SHORT = 80
LABELS = {
    "file_path": "File",
    "notebook_path": "File",
    "path": "Path",
    "pattern": "Pattern",
    "command": "Command",
    "description": "Description",
    "prompt": "Prompt",
    "query": "Query",
    "url": "URL",
}


def call_lines(call: ToolCalled, limits: Limits) -> list[str]:
    """The tool's name, then its input."""
    block = [f"🔧 {call.name} tool"]
    values = call.input
    special = _SPECIAL.get(call.name)
    shown: frozenset[str] = frozenset()
    if special is not None:
        write, shown = special
        write(values, block)
    for key, value in values.items():
        if key not in shown:
            _value(LABELS.get(key, key), value, limits.value, block)
    if call.name == "Write" and limits.written != 0 and values.get("content"):
        block += indented_head(_text(values["content"]).removesuffix("\n"), limits.written, DEEPER)
    return block


def headline(call: ToolCalled) -> str:
    """The call in a few words, for a place where one line is all there is: `Bash npm test`."""
    key, value = telling(call.input)
    if key.endswith("_path"):
        value = value.rstrip("/").rsplit("/", 1)[-1]
    return f"{call.name} {one_line(value[:400])}" if value else call.name


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def _value(label: str, value: Any, limit: int | None, block: list[str]) -> None:
    """On the console one line, shortened; in the log all of it."""
    text = _text(value)
    if limit is not None:
        # Cut before joining: a value can be megabytes, and only its beginning is wanted.
        flat = one_line(text[: limit * 4])
        missing = len(flat) > limit or len(text) > limit * 4
        block.append(f"{INDENT}{label}: {flat[: limit - 1] + '…' if missing else flat}")
    else:
        _whole(label, text, block)


def _whole(label: str, text: str, block: list[str]) -> None:
    if "\n" in text:
        block.append(f"{INDENT}{label}:")
        block.append(indented_text(text, DEEPER))
    else:
        block.append(f"{INDENT}{label}: {text}")


def _file(values: dict[str, Any], block: list[str]) -> None:
    if "file_path" in values:
        block.append(f"{INDENT}File: {_text(values['file_path'])}")


def _read(values: dict[str, Any], block: list[str]) -> None:
    _file(values, block)
    offset, limit = values.get("offset"), values.get("limit")
    if offset is None and limit is None:
        return
    first = offset if isinstance(offset, int) and offset > 0 else 1
    last = str(first + limit - 1) if isinstance(limit, int) else "end"
    block.append(f"{INDENT}Range: Lines {first}-{last}")


def _edit(values: dict[str, Any], block: list[str]) -> None:
    _file(values, block)
    for key, label in (("old_string", "Replacing"), ("new_string", "With")):
        if key not in values:
            continue
        text = _text(values[key])
        if "\n" not in text and len(text) < SHORT:
            block.append(f'{INDENT}{label}: "{text}"')
        else:
            block.append(f"{INDENT}{label}:")
            block.append(DEEPER + text.replace("\n", "\n" + DEEPER))
    if values.get("replace_all"):
        block.append(f"{INDENT}Mode: Replace all occurrences")


def _write(values: dict[str, Any], block: list[str]) -> None:
    _file(values, block)
    if "content" not in values:
        return
    text = _text(values["content"])
    size = len(text.encode("utf-8", "replace")) / 1024
    lines = text.count("\n") + (1 if text and not text.endswith("\n") else 0)
    block.append(
        f"{INDENT}Content size: {f'{size:.1f}' if size >= 0.1 else f'{size:.2f}'} KB ({counted(lines, 'line')})"
    )


def _bash(values: dict[str, Any], block: list[str]) -> None:
    if "command" in values:
        _whole("Command", _text(values["command"]), block)


_Special = Callable[[dict[str, Any], list[str]], None]
_SPECIAL: dict[str, tuple[_Special, frozenset[str]]] = {
    "Read": (_read, frozenset({"file_path", "offset", "limit"})),
    "Edit": (_edit, frozenset({"file_path", "old_string", "new_string", "replace_all"})),
    "Write": (_write, frozenset({"file_path", "content"})),
    "Bash": (_bash, frozenset({"command"})),
}
