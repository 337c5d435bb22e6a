"""What the fake Claude does without a script: it works through the items of the instructions, and answers the prompts
of setup, edit, validate and verify, which it knows by their first words.

It really reads, ticks and reports, so that a dry run goes through everything that a real run goes through. Its list of
steps takes the place of TODO.md, of which a dry run has a copy.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

from claude_iterate.fake_claude import tools
from claude_iterate.fake_claude.stream import Stream, put, timestamp

BATCH = 3
"""Items per call when the prompt does not ask for one."""
PLANS = "Make or update the plan"
BUILDS = "Complete ONE task of the plan"
_PLAN = "IMPLEMENTATION_PLAN.md"
_TASK = re.compile(r"^([ \t]*[-*+] \[)([ xX~])\] (.*)$", re.MULTILINE)
_ASKED = re.compile(r'^ *("iteration": ".*?")', re.MULTILINE)
_GOAL = r"^<goal>\n((?s:.*?))\n</goal>$"
HEADING = "# Steps of the built-in fake Claude"
MOST = 20
MADE_UP = ["Read the instructions", "Look at the project", "Make the change", "Check the change", "Tidy up"]
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?(.*[^\W_].*)")
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


def work(stream: Stream, workspace: Path | None, prompt: str) -> None:
    """One whole call, from the opening event to the result."""
    stream.init()
    if prompt.startswith("/"):
        # As in Claude Code: such a prompt counts as a command, nothing is done, and the result is a success.
        stream.result(result=f"Unknown command: {prompt.split(maxsplit=1)[0]}", num_turns=0)
        return
    if workspace is None or not workspace.is_dir():
        stream.say("There is no workspace here, so there is nothing to do.")
    else:
        reply = next((reply for words, reply in _REPLIES.items() if prompt.startswith(words)), _iterate)
        reply(stream, workspace, prompt)
    stream.result()


def _iterate(stream: Stream, workspace: Path, prompt: str) -> None:
    stream.say("I will read the instructions and see what is left to do.")
    instructions = tools.read(stream, workspace / "INSTRUCTIONS.md") or ""
    if (workspace / ".status.json").is_file():
        tools.read(stream, workspace / ".status.json")
    asked = prompt.replace(instructions, "") if instructions else prompt
    plans, builds, one_by_one = (words in asked for words in (PLANS, BUILDS, "ONE item"))
    path = workspace / (_PLAN if plans or builds else "TODO.md")
    text = (tools.read(stream, path) or "") if path.exists() else ""
    if not builds:
        before, text = text, (_make_plan if plans else _make_steps)(text, items_in(instructions))
        if text != before:
            tools.write(stream, path, text)
    wanted = 0 if plans else 1 if builds or one_by_one else BATCH
    doing = _open_tasks(text)[:wanted]
    for task in doing:
        text = f"{text[: task.start(2)]}x{text[task.end(2) :]}"
        tools.edit(stream, path, task[0], text[task.start() : task.end()], text)
    marks = [task[2] for task in _TASK.finditer(text)]
    counted = {"completed": sum(mark in "xX" for mark in marks), "total": len(marks)}
    tools.echo(stream, f"{len(doing)} done")
    names = "; ".join(task[3].strip()[:100] for task in doing)
    summary = "Made a plan" if plans else f"Did: {names}" if doing else "Nothing was left to do"
    kind: dict[str, object] = {"progress": counted} if plans or builds or one_by_one else {"worked": bool(doing)}
    complete = plans or counted["completed"] == counted["total"]
    _report(stream, workspace, prompt, {"complete": complete, **kind, "summary": summary})
    stream.say(f"{summary}. {counted['completed']} of {counted['total']} are done.")


def _make_plan(text: str, items: list[str]) -> str:
    """The items as open tasks, unless there is a plan."""
    if _TASK.search(text):
        return text
    tasks = "\n".join(f"- [ ] {item} (refs: INSTRUCTIONS.md)" for item in items)
    return f"{text.rstrip()}\n\n".lstrip() + f"# Plan\n\n{tasks}\n"


def _make_steps(text: str, items: list[str]) -> str:
    """The items as a list in which what was ticked stays ticked; the same text if these are its items."""
    tasks = list(_TASK.finditer(text))
    if [task[3] for task in tasks] == items:
        return text
    ticked = {task[3] for task in tasks if task[2] in "xX"}
    steps = "\n".join(f"- [{'x' if item in ticked else ' '}] {item}" for item in items)
    return f"{HEADING}\n\n{steps}\n"


def _open_tasks(text: str) -> list[re.Match[str]]:
    """Those under way come first."""
    tasks = [task for task in _TASK.finditer(text) if task[2] in " ~"]
    return sorted(tasks, key=lambda task: task[2] != "~")


def _report(stream: Stream, workspace: Path, prompt: str, content: dict[str, object]) -> None:
    status = {**content, **find_asked_fields(prompt), "lastUpdated": timestamp()}
    tools.write(stream, workspace / ".status.json", json.dumps(status, indent=2, ensure_ascii=False) + "\n")


def find_asked_fields(prompt: str) -> dict[str, str]:
    """The id that the report is to have, by its name, if the prompt asks for one."""
    asked = _ASKED.findall(prompt)
    return dict(json.loads(f"{{{asked[-1]}}}")) if asked else {}


def items_in(instructions: str) -> list[str]:
    """The list items of a text, code blocks left out; made-up ones when it has none."""
    found: list[str] = []
    fence = ""
    for line in instructions.splitlines():
        opening = line.lstrip()[:3]
        if opening in ("```", "~~~"):
            fence = "" if opening == fence else fence or opening
        elif not fence and (item := _ITEM.fullmatch(line)):
            found.append(item[1].strip()[:100].strip())
    return found[:MOST] or list(MADE_UP)


def talk(workspace: Path | None) -> None:
    """Without `-p` Claude Code opens a conversation. The fake writes sample instructions if there are none."""
    said = "I have nothing to add."
    if workspace is not None and workspace.is_dir():
        path = workspace / "INSTRUCTIONS.md"
        if not (tools.load(path) or "").strip():
            tools.replace(path, SAMPLE.format(goal="A sample task, written by the built-in fake Claude.").encode())
            said = f"I wrote sample instructions: {path}"
    put(f"(built-in fake Claude) {said}\n".encode())


def _write_instructions(stream: Stream, workspace: Path, prompt: str) -> None:
    path = workspace / "INSTRUCTIONS.md"
    goal = _find_goal(prompt)
    if goal is not None or not path.exists():
        tools.write(stream, path, SAMPLE.format(goal=goal or "A sample task."))
    stream.say(f"The instructions are in {path}.")


def _revise(stream: Stream, workspace: Path, prompt: str) -> None:
    """Add the goal at the end; without one there is nothing to change."""
    goal = _find_goal(prompt)
    path = workspace / "INSTRUCTIONS.md"
    text = tools.read(stream, path) or ""
    if goal is not None:
        tools.write(stream, path, f"{text.rstrip()}\n\n## Also\n\n{goal}\n")
    stream.say(f"The instructions are in {path}.")


def _find_goal(prompt: str) -> str | None:
    found = re.search(_GOAL, prompt, re.MULTILINE)
    return found[1] if found else None


def _validate(stream: Stream, workspace: Path, _prompt: str) -> None:
    grade = "pass" if (tools.read(stream, workspace / "INSTRUCTIONS.md") or "").strip() else "fail"
    criteria = [{"number": n, "grade": grade, "evidence": "The built-in fake looked."} for n in range(1, 11)]
    stream.answer_by_schema({"summary": "The built-in fake looked.", "criteria": criteria, "changes": []})


def _verify(stream: Stream, workspace: Path, prompt: str) -> None:
    """An entry for each number in the prompt's list of requirements; a finding for each step that is open."""
    open_steps = [task[3] for task in _open_tasks(tools.read(stream, workspace / "TODO.md") or "")]
    _, _, listed = prompt.partition("numbered the requirements")
    listed, _, _ = listed.partition("\nGive your answer")
    met = {"status": "met", "shown_by": "read", "file": "TODO.md", "evidence": "Its steps are ticked."}
    entries = [{"number": int(number), **met} for number in re.findall(r"^(\d+)\. ", listed, re.MULTILINE)]
    findings = [{"missing": True, "text": f"Not done: {step}"} for step in open_steps]
    summary = f"{len(open_steps)} steps are open."
    stream.answer_by_schema({"summary": summary, "requirements": entries, "findings": findings})


_REPLIES: dict[str, Callable[[Stream, Path, str], None]] = {
    "Setup of the task": _write_instructions,
    "Revision of the instructions": _revise,
    "Validation of the instructions": _validate,
    "Independent verification": _verify,
}
"""What to do for a prompt that begins with these words and so is not of an iteration."""
