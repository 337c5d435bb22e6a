"""Where instructions come from: a file or standard input, byte for byte, or the user's editor."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from claude_iterate.cli.invocation import on_terminal
from claude_iterate.errors import UsageProblem

_SCISSORS = "<!-- Everything from this line on is left out. -->"
_START = """# Task

What should be there when the work is done?

## Done means

- [ ] a result that can be checked, for example: `npm test` passes

## Limits

What must not be touched? What needs a person?
"""
_ADVICE = f"""
{_SCISSORS}

Write down the goal, how to tell that it is reached, and what is out of bounds. Claude reads this text at the start of
every iteration and remembers nothing else, so name files and commands. Save to keep it; close without saving to
leave everything as it was.
"""


def obtain(name: str, source: str | None, before: bytes | None) -> bytes | None:
    """The instructions, or None when the user saved nothing. Bad input is a UsageProblem."""
    if source is not None and source != "-":
        return _good(_from_file(source), source)
    if source == "-" or not on_terminal():
        data = sys.stdin.buffer.read() if sys.stdin is not None else b""
        if not data.strip():
            raise UsageProblem(
                "No instructions came on standard input.",
                f"Give a file: claude-iterate setup {name} --from FILE",
            )
        return _good(data, "standard input")
    return _from_editor(before)


def _from_file(source: str) -> bytes:
    try:
        return Path(source).read_bytes()
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageProblem(
            f"The instructions in {source} cannot be read: {said}.", "Give a text file, or - for standard input."
        ) from None


def _good(data: bytes, where: str) -> bytes:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise UsageProblem(
            f"The instructions in {where} are not UTF-8 text (line {line}).", "Save them as UTF-8 and try again."
        ) from None
    if not data.removeprefix(b"\xef\xbb\xbf").strip():
        raise UsageProblem(f"The instructions in {where} are empty.", "Say what Claude should do.")
    return data


def _from_editor(before: bytes | None) -> bytes | None:
    start = before.decode("utf-8", "replace") if before is not None else _START
    try:
        edited = click.edit(start + _ADVICE, extension=".md")
    except UnicodeDecodeError:
        raise UsageProblem("What the editor saved is not UTF-8 text.", "Save it as UTF-8 and try again.") from None
    except (click.ClickException, ValueError) as problem:  # a ValueError: $EDITOR has a quote without its pair
        why = problem.format_message() if isinstance(problem, click.ClickException) else f"$EDITOR: {problem}."
        raise UsageProblem(f"No editor could be used: {why}", "Set $EDITOR, or give a file with --from FILE.") from None
    if edited is None:
        return None
    text = edited.partition(_SCISSORS)[0].rstrip() + "\n"
    if not text.strip() or text.strip() == start.strip():
        return None
    return text.encode()
