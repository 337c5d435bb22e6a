"""The fake's answers to the other prompts: setup, edit, validate, verify. Each is recognised by its first words."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

from claude_iterate.fake_claude import tools
from claude_iterate.fake_claude.stream import Stream
from claude_iterate.fake_claude.todo_list import Todo

SAMPLE = """# Task

{goal}

## Items

1. Look at the project and note what is there
2. Make the change
3. Write a test for it
4. Run all tests
5. Describe the change

## Completion criteria

All items are done and all tests pass.
"""
_GOAL = r"^<goal>\n((?s:.*?))\n</goal>$"


def find_reply(prompt: str) -> Callable[[Stream, Path, str], None] | None:
    """What to do for a prompt that is not an iteration; None for an iteration."""
    return next((reply for words, reply in _REPLIES.items() if prompt.startswith(words)), None)


def write_sample_instructions(workspace: Path, goal: str = "") -> bool:
    """Write instructions if there are none; True when it did."""
    path = workspace / "INSTRUCTIONS.md"
    if (tools.load(path) or "").strip():
        return False
    tools.replace(path, SAMPLE.format(goal=goal or "A sample task, written by the built-in fake Claude.").encode())
    return True


def _write_instructions(stream: Stream, workspace: Path, prompt: str) -> None:
    goal = _find(_GOAL, prompt)
    path = workspace / "INSTRUCTIONS.md"
    if goal is not None:
        tools.write(stream, path, SAMPLE.format(goal=goal))
    elif path.exists():
        tools.read(stream, path)
    else:
        tools.write(stream, path, SAMPLE.format(goal="A sample task."))
    stream.say(f"The instructions are in {path}.")


def _revise(stream: Stream, workspace: Path, prompt: str) -> None:
    """Add the goal at the end; without one there is nothing to change."""
    goal = _find(_GOAL, prompt)
    path = workspace / "INSTRUCTIONS.md"
    text = tools.read(stream, path) or ""
    if goal is not None:
        tools.write(stream, path, f"{text.rstrip()}\n\n## Also\n\n{goal}\n")
    stream.say(f"The instructions are in {path}.")


def _validate(stream: Stream, workspace: Path, _prompt: str) -> None:
    text = tools.read(stream, workspace / "INSTRUCTIONS.md") or ""
    grade = "pass" if text.strip() else "fail"
    criteria = [{"number": n, "grade": grade, "evidence": "The built-in fake looked."} for n in range(1, 11)]
    _answer(stream, {"summary": "The built-in fake looked.", "criteria": criteria, "changes": []})


def _verify(stream: Stream, workspace: Path, prompt: str) -> None:
    open_steps = Todo(tools.read(stream, workspace / "TODO.md") or "").open
    _answer(stream, _judge(prompt, open_steps))


def _answer(stream: Stream, document: dict[str, object]) -> None:
    """By schema; an agent that was not given one writes the same as text."""
    if stream.by_schema:
        stream.answer_by_schema(document)
    else:
        stream.say(json.dumps(document))


def _judge(prompt: str, open_steps: list[str]) -> dict[str, object]:
    """An entry for each number in the prompt's list of requirements; a finding for each step that is open."""
    entries = [
        {
            "number": number,
            "status": "met",
            "shown_by": "read",
            "file": "TODO.md",
            "evidence": "Its steps are ticked.",
        }
        for number in _numbers(prompt)
    ]
    findings = [{"missing": True, "text": f"Not done: {step}"} for step in open_steps]
    return {"summary": f"{len(open_steps)} steps are open.", "requirements": entries, "findings": findings}


def _numbers(prompt: str) -> list[int]:
    """Of the requirements in the prompt."""
    _, _, listed = prompt.partition("numbered the requirements")
    listed = listed.partition("\nGive your answer")[0]
    return [int(number) for number in re.findall(r"^(\d+)\. ", listed, re.MULTILINE)]


def _find(pattern: str, prompt: str) -> str | None:
    """The group of a pattern for lines."""
    found = re.search(pattern, prompt, re.MULTILINE)
    return found[1] if found else None


_REPLIES: dict[str, Callable[[Stream, Path, str], None]] = {
    "Setup of the task": _write_instructions,
    "Help me write the instructions": _write_instructions,
    "Help me improve the instructions": _revise,
    "Revision of the instructions": _revise,
    "Validation of the instructions": _validate,
    "Independent verification": _verify,
}
