"""What the fake Claude does without a script: it works through the items of the instructions, and answers the prompts
of setup, edit, validate and verify, which it knows by their first words.

It really reads, ticks and reports, so that a dry run goes through everything that a real run goes through. Its list of
steps is a section of its own in TODO.md; text outside of it is the user's and is kept byte for byte.
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
_TASK = re.compile(r"(\s*[-*+] \[)([ xX~])(\] .*)")
_ASKED = re.compile(r'^ *("iteration": ".*?")', re.MULTILINE)
_GOAL = r"^<goal>\n((?s:.*?))\n</goal>$"
HEADING = "## Steps of the built-in fake Claude"
MOST = 20
MADE_UP = ["Read the instructions", "Look at the project", "Make the change", "Check the change", "Tidy up"]
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?(.*[^\W_].*)")
_BOX = re.compile(r"^- \[([ x])\] (.*)$", re.MULTILINE)
_SECTION = re.compile(rf"^{re.escape(HEADING)}\n((?:[^\S\n]*\n|- \[[ x]\] .*(?:\n|\Z))*)", re.MULTILINE)
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
    if PLANS in asked or BUILDS in asked:
        _plan_or_build(stream, workspace, instructions, prompt, PLANS in asked)
        return
    one_by_one = "ONE item" in asked
    todo = _steps(stream, workspace, instructions)
    doing = todo.open[: 1 if one_by_one else BATCH]
    for item in doing:
        todo.tick(item)
        tools.edit(stream, workspace / "TODO.md", f"- [ ] {item}", f"- [x] {item}", todo.render())
    tools.echo(stream, f"{len(doing)} done")
    left = len(todo.open)
    summary = f"Did: {'; '.join(doing)}" if doing else "Nothing was left to do"
    counted = {"completed": len(todo.boxes) - left, "total": len(todo.boxes)}
    kind: dict[str, object] = {"progress": counted} if one_by_one else {"worked": bool(doing)}
    _report(stream, workspace, prompt, {"complete": left == 0, **kind, "summary": summary})
    stream.say(f"{summary}. {left} left." if left else f"{summary}. Everything is done.")


def _plan_or_build(stream: Stream, workspace: Path, instructions: str, prompt: str, plans: bool) -> None:
    """The modes plan and build: the plan takes the place of TODO.md."""
    done, total, summary = _make_plan(stream, workspace, instructions) if plans else _build(stream, workspace)
    tools.echo(stream, f"{done} of {total}")
    counted = {"completed": done, "total": total}
    _report(stream, workspace, prompt, {"complete": plans or done == total, "progress": counted, "summary": summary})
    stream.say(f"{summary}. {done} of {total} tasks are done.")


def _steps(stream: Stream, workspace: Path, instructions: str) -> Todo:
    """TODO.md in step with the instructions: what was ticked stays ticked."""
    path = workspace / "TODO.md"
    todo = Todo((tools.read(stream, path) or "") if path.exists() else "")
    before = todo.boxes
    ticked = [item for done, item in before if done]
    todo.boxes = [(item in ticked, item) for item in items_in(instructions)]
    if todo.boxes != before:
        tools.write(stream, path, todo.render())
    return todo


def _report(stream: Stream, workspace: Path, prompt: str, content: dict[str, object]) -> None:
    status = {**content, **find_asked_fields(prompt), "lastUpdated": timestamp()}
    tools.write(stream, workspace / ".status.json", json.dumps(status, indent=2, ensure_ascii=False) + "\n")


def find_asked_fields(prompt: str) -> dict[str, str]:
    """The id that the report is to have, by its name, if the prompt asks for one."""
    asked = _ASKED.findall(prompt)
    return dict(json.loads(f"{{{asked[-1]}}}")) if asked else {}


def _make_plan(stream: Stream, workspace: Path, instructions: str) -> tuple[int, int, str]:
    """Write the items of the instructions as open tasks, unless there is a plan: tasks done, tasks in all, a word."""
    path = workspace / _PLAN
    text = (tools.read(stream, path) or "") if path.exists() else ""
    if not _tasks(text):
        tasks = "\n".join(f"- [ ] {item} (refs: INSTRUCTIONS.md)" for item in items_in(instructions))
        text = f"{text.rstrip()}\n\n".lstrip() + f"# Plan\n\n{tasks}\n"
        tools.write(stream, path, text)
    marks = [mark for _line, mark in _tasks(text)]
    return sum(mark in "xX" for mark in marks), len(marks), "Made a plan"


def _build(stream: Stream, workspace: Path) -> tuple[int, int, str]:
    """Tick the first task that is under way or open: tasks done, tasks in all, what was done."""
    path = workspace / _PLAN
    text = (tools.read(stream, path) or "") if path.exists() else ""
    tasks = _tasks(text)
    open_tasks = [line for wanted in "~ " for line, mark in tasks if mark == wanted]
    done = sum(mark in "xX" for _line, mark in tasks)
    if not open_tasks:
        return done, len(tasks), "Nothing was left to do"
    lines = text.split("\n")
    before = lines[open_tasks[0]]
    lines[open_tasks[0]] = after = _TASK.sub(r"\1x\3", before)
    tools.edit(stream, path, before, after, "\n".join(lines))
    return done + 1, len(tasks), f"Did: {before.strip()[:100]}"


def _tasks(text: str) -> list[tuple[int, str]]:
    """Line and mark of each box."""
    return [(number, box[2]) for number, line in enumerate(text.split("\n")) if (box := _TASK.fullmatch(line))]


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


class Todo:
    """The parts of TODO.md: the text before and after our section, and our boxes."""

    def __init__(self, text: str) -> None:
        found = _SECTION.search(text)
        if found is None:
            self.before, self.after = (text.rstrip("\n") + "\n\n" if text.strip() else ""), ""
        else:
            self.before, self.after = text[: found.start()], text[found.end() :]
        self.boxes = [(mark == "x", item) for mark, item in _BOX.findall(found[1] if found else "")]

    @property
    def open(self) -> list[str]:
        """Steps still to do."""
        return [item for done, item in self.boxes if not done]

    def tick(self, item: str) -> None:
        """Mark the first open step of this name as done."""
        self.boxes[self.boxes.index((False, item))] = (True, item)

    def render(self) -> str:
        """The whole file."""
        boxes = "\n".join(f"- [{'x' if done else ' '}] {item}" for done, item in self.boxes)
        return f"{self.before}{HEADING}\n\n{boxes}\n" + (f"\n{self.after}" if self.after else "")


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
    open_steps = Todo(tools.read(stream, workspace / "TODO.md") or "").open
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
