"""A tool's answer as lines. It is an error only if Claude Code says so, whatever words it contains."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from claude_iterate.core.events import ToolAnswered
from claude_iterate.core.formats import counted
from claude_iterate.text.line_blocks import (
    INDENT,
    Limits,
    first_and_rest,
    head,
    indented,
    indented_head,
    indented_text,
)

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


def result_lines(answer: ToolAnswered, limits: Limits) -> list[str]:
    """What became of a call."""
    block = _error(answer, limits) if answer.is_error else _SUCCESS.get(answer.name, _other)(answer, limits)
    if answer.cut:
        block.append(f"{INDENT}... ({counted(answer.cut, 'more character')} in the raw output)")
    return block


def _error(answer: ToolAnswered, limits: Limits) -> list[str]:
    text = answer.text.strip().removeprefix("<tool_use_error>").removesuffix("</tool_use_error>")
    if answer.name == "Edit" and "not found in file" in text:
        # The console has shown the string with the call; the log keeps Claude's words as well.
        said = [] if limits.output is not None else ["", indented_text(text)]
        return [*STRING_NOT_FOUND, *said]
    first, rest = first_and_rest(text.removeprefix("Error: "))
    return [f"❌ {answer.name or 'Tool'} failed: {first or 'no reason given'}", *indented(rest)]


def _read(answer: ToolAnswered, limits: Limits) -> list[str]:
    text = answer.text.rstrip("\n")
    if not text[:12].lstrip()[:1].isdecimal():
        # An image, an empty file, a file unchanged since the last Read: there are no numbered lines.
        return ["✓ File read successfully", *_body(text, limits.read)]
    shown, more = head(text, limits.read)
    file = answer.facts.get("file")
    count = file.get("numLines") if isinstance(file, dict) else None
    if not isinstance(count, int):
        count = shown.count("\n") + 1 + more
    block = ["✓ File read successfully" if answer.cut else f"✓ File read successfully ({counted(count, 'line')})"]
    block += [_numbered(line) for line in shown.split("\n")]
    if more:
        block.append(f"     ... ({counted(more, 'more line')})")
    return block


def _numbered(line: str) -> str:
    """Claude Code separates number and text with a tab; older versions with an arrow after a padded number."""
    number, found, text = line.partition("\t")
    if not (found and number.isdecimal()):
        number, found, text = line.partition("\t" if found and number.strip().isdecimal() else "→")
        number = number.strip()
        if not (found and number.isdecimal()):
            return f"       | {line}"
    return f"{number:>6} | {text}"


def _edit(answer: ToolAnswered, limits: Limits) -> list[str]:
    return ["✓ Edit applied", *_for_the_log(answer, limits)]


def _write(answer: ToolAnswered, limits: Limits) -> list[str]:
    created = answer.facts.get("type") == "create" or answer.text.startswith("File created")
    return ["✓ File created" if created else "✓ File written", *_for_the_log(answer, limits)]


def _bash(answer: ToolAnswered, limits: Limits) -> list[str]:
    return [*_command_end(answer.facts), *_body(answer.text, limits.output)]


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


def _other(answer: ToolAnswered, limits: Limits) -> list[str]:
    return [f"✓ {answer.name or 'Tool'} finished", *_body(answer.text, limits.output)]


def _body(text: str, limit: int | None) -> list[str]:
    text = text.rstrip("\n")
    return indented_head(text, limit) if text else [f"{INDENT}(no output)"]


def _for_the_log(answer: ToolAnswered, limits: Limits) -> list[str]:
    """Claude's sentence about a file it changed says nothing new, so only the log has it."""
    return [] if limits.output is not None or not answer.text else [indented_text(answer.text.rstrip("\n"))]


_SUCCESS: dict[str, Callable[[ToolAnswered, Limits], list[str]]] = {
    "Read": _read,
    "Edit": _edit,
    "Write": _write,
    "Bash": _bash,
}
