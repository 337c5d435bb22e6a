"""A tool call and its answer as lines.

Every key of the input is shown; what an Edit or a Bash does is never cut. An answer is an error only if Claude Code
says so, whatever words it contains.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from claude_iterate.core.events import ToolCalled, ToolResult
from claude_iterate.core.events.stream import telling
from claude_iterate.core.formats import INDENT, first_and_rest, head, indent, indent_head, indent_text, one_line, plural

DEEPER = INDENT * 2
SHORT = 80
READ_LINES, OUTPUT_LINES, VALUE_LENGTH = 15, 20, 200
"""What the console shows of a file that was read, of a tool's output, and of a value of its input. The log has all."""
_FILES = frozenset({"file_path", "notebook_path", "path"})


def call_lines(call: ToolCalled, whole: bool) -> list[str]:
    """The tool's name, then its input. `whole`: nothing is shortened, as in the log."""
    special, shown = _CALLS.get(call.name, (None, frozenset()))
    block = [f"🔧 {call.name} tool"]
    if special is not None:
        file = call.input.get("file_path")
        block += [f"{INDENT}File: {_text(file)}"] if file is not None and "file_path" in shown else []
        block += special(call.input)
    for key, value in call.input.items():
        if key not in shown:
            block += _value(key[:1].upper() + key[1:].replace("_", " "), _text(value), whole)
    if call.name == "Write" and whole and call.input.get("content"):
        block += indent_head(_text(call.input["content"]).removesuffix("\n"), None, DEEPER)
    return block


def name_from(folder: str, call: ToolCalled) -> ToolCalled:
    """The call with each file in this folder named from there."""
    inside = f"{folder.rstrip('/')}/"
    shown = {
        key: value.removeprefix(inside) if key in _FILES and isinstance(value, str) else value
        for key, value in call.input.items()
    }
    return replace(call, input=shown)


def headline(call: ToolCalled) -> str:
    """The call in a few words, for a place where one line is all there is: `Bash npm test`."""
    key, value = telling(call.input)
    if key.endswith("_path"):
        value = value.rstrip("/").rsplit("/", 1)[-1]
    return f"{call.name} {one_line(value[:400])}" if value else call.name


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _value(label: str, text: str, whole: bool) -> list[str]:
    """On the console one line, shortened; in the log all of it."""
    if whole:
        return [f"{INDENT}{label}:", indent_text(text, DEEPER)] if "\n" in text else [f"{INDENT}{label}: {text}"]
    # Cut before joining: a value can be megabytes, and only its beginning is wanted.
    flat = one_line(text[: VALUE_LENGTH * 4])
    missing = len(flat) > VALUE_LENGTH or len(text) > VALUE_LENGTH * 4
    return [f"{INDENT}{label}: {flat[: VALUE_LENGTH - 1] + '…' if missing else flat}"]


def _read_call(values: dict[str, Any]) -> list[str]:
    offset, limit = values.get("offset"), values.get("limit")
    if offset is None and limit is None:
        return []
    first = offset if isinstance(offset, int) and offset > 0 else 1
    last = str(first + limit - 1) if isinstance(limit, int) else "end"
    return [f"{INDENT}Range: Lines {first}-{last}"]


def _edit_call(values: dict[str, Any]) -> list[str]:
    block = []
    for key, label in (("old_string", "Replacing"), ("new_string", "With")):
        if key not in values:
            continue
        text = _text(values[key])
        if "\n" not in text and len(text) < SHORT:
            block.append(f'{INDENT}{label}: "{text}"')
        else:
            block += [f"{INDENT}{label}:", DEEPER + text.replace("\n", "\n" + DEEPER)]
    return [*block, f"{INDENT}Mode: Replace all occurrences"] if values.get("replace_all") else block


def _write_call(values: dict[str, Any]) -> list[str]:
    if "content" not in values:
        return []
    text = _text(values["content"])
    size = len(text.encode("utf-8", "replace")) / 1024
    lines = text.count("\n") + (1 if text and not text.endswith("\n") else 0)
    return [f"{INDENT}Content size: {f'{size:.1f}' if size >= 0.1 else f'{size:.2f}'} KB ({plural(lines, 'line')})"]


def _bash_call(values: dict[str, Any]) -> list[str]:
    return _value("Command", _text(values["command"]), whole=True) if "command" in values else []


_CALLS: dict[str, tuple[Callable[[dict[str, Any]], list[str]] | None, frozenset[str]]] = {
    "Read": (_read_call, frozenset({"file_path", "offset", "limit"})),
    "Edit": (_edit_call, frozenset({"file_path", "old_string", "new_string", "replace_all"})),
    "Write": (_write_call, frozenset({"file_path", "content"})),
    "Bash": (_bash_call, frozenset({"command"})),
}
"""Tools whose input has a form of its own, and the keys that it shows."""


STRING_NOT_FOUND = (
    "❌ Edit failed: String not found in file",
    "",
    "   The search string was not found in the file. This could be because:",
    "   - The string has already been changed",
    "   - The string contains special characters that don't match exactly",
    "   - The line breaks or spacing differ from what's in the file",
    "",
    "   Tip: Use the Read tool to verify the current file content",
)


def result_lines(answer: ToolResult, whole: bool) -> list[str]:
    """What became of a call."""
    block = _error(answer, whole) if answer.is_error else _success(answer, whole)
    if answer.cut:
        block.append(f"{INDENT}... ({plural(answer.cut, 'more character')} in the raw output)")
    return block


def _error(answer: ToolResult, whole: bool) -> list[str]:
    text = answer.text.strip().removeprefix("<tool_use_error>").removesuffix("</tool_use_error>")
    if answer.name == "Edit" and "not found in file" in text:
        # The console has shown the string with the call; the log keeps Claude's words as well.
        return [*STRING_NOT_FOUND, *(["", indent_text(text)] if whole else [])]
    first, rest = first_and_rest(text.removeprefix("Error: "))
    return [f"❌ {answer.name or 'Tool'} failed: {first or 'no reason given'}", *indent(rest)]


def _success(answer: ToolResult, whole: bool) -> list[str]:
    match answer.name:
        case "Read":
            return _read_result(answer, whole)
        case "Edit" | "Write":
            created = answer.facts.get("type") == "create" or answer.text.startswith("File created")
            done = "Edit applied" if answer.name == "Edit" else "File created" if created else "File written"
            # Claude's sentence about a file it changed says nothing new, so only the log has it.
            return [f"✓ {done}", *([indent_text(answer.text.rstrip("\n"))] if whole and answer.text else [])]
        case "Bash":
            title = _command_end(answer.facts)
        case name:
            title = [f"✓ {name or 'Tool'} finished"]
    return [*title, *_body(answer.text, None if whole else OUTPUT_LINES)]


def _read_result(answer: ToolResult, whole: bool) -> list[str]:
    text = answer.text.rstrip("\n")
    if not text[:12].lstrip()[:1].isdecimal():
        # An image, an empty file, a file unchanged since the last Read: there are no numbered lines.
        return ["✓ File read successfully", *_body(text, None if whole else READ_LINES)]
    shown, more = head(text, None if whole else READ_LINES)
    file = answer.facts.get("file")
    count = file.get("numLines") if isinstance(file, dict) else None
    lines = plural(count if isinstance(count, int) else shown.count("\n") + 1 + more, "line")
    block = ["✓ File read successfully" if answer.cut else f"✓ File read successfully ({lines})"]
    block += map(_number_line, shown.split("\n"))
    return [*block, f"     ... ({plural(more, 'more line')})"] if more else block


def _number_line(line: str) -> str:
    """Claude Code separates number and text with a tab."""
    number, found, text = line.partition("\t")
    return f"{number.strip():>6} | {text}" if found and number.strip().isdecimal() else f"       | {line}"


def _command_end(facts: Mapping[str, object]) -> list[str]:
    """Claude Code names an exit code only with an error; an answer without one is that of exit code 0, unless it says
    that it means something else (`grep` without a match)."""
    if facts.get("backgroundTaskId"):
        return ["✓ Command started in the background"]
    if facts.get("interrupted") is True:
        return ["✓ Command interrupted"]
    if isinstance(facts.get("returnCodeInterpretation"), str):
        return [f"✓ Command finished: {facts['returnCodeInterpretation']}"]
    return ["✓ Command finished", f"{INDENT}Exit code: 0"]


def _body(text: str, limit: int | None) -> list[str]:
    text = text.rstrip("\n")
    return indent_head(text, limit) if text else [f"{INDENT}(no output)"]
