"""What the fake Claude does without a script: it works through the items of the instructions.

It really reads, ticks and reports, so that a dry run goes through everything that a real run goes through. Its list of
steps is a section of its own in TODO.md; text outside of it is the user's and is kept byte for byte.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from claude_iterate.fake_claude import tools
from claude_iterate.fake_claude.replies import find_reply
from claude_iterate.fake_claude.stream import Stream, timestamp
from claude_iterate.fake_claude.todo_list import Todo, items_in

BATCH = 3
"""Items per call when the prompt does not ask for one."""
PLANS = "Make or update the plan"
BUILDS = "Complete ONE task of the plan"
_PLAN = "IMPLEMENTATION_PLAN.md"
_TASK = re.compile(r"(\s*[-*+] \[)([ xX~])(\] .*)")
_ASKED = re.compile(r'^ *("iteration": ".*?")', re.MULTILINE)


def work(stream: Stream, workspace: Path | None, prompt: str) -> None:
    """One whole call, from the opening event to the result."""
    stream.init()
    if prompt.startswith("/"):
        # As in Claude Code: such a prompt counts as a command, nothing is done, and the result is a success.
        stream.result(result=f"Unknown command: {prompt.split(maxsplit=1)[0]}", num_turns=0)
        return
    if workspace is None or not workspace.is_dir():
        stream.say("There is no workspace here, so there is nothing to do.")
    elif (reply := find_reply(prompt)) is not None:
        reply(stream, workspace, prompt)
    else:
        _iterate(stream, workspace, prompt)
    stream.result()


def _iterate(stream: Stream, workspace: Path, prompt: str) -> None:
    stream.say("I will read the instructions and see what is left to do.")
    instructions = tools.read(stream, workspace / "INSTRUCTIONS.md") or ""
    reported = tools.load(workspace / ".status.json")
    if reported is not None:
        tools.read(stream, workspace / ".status.json")
    asked = prompt.replace(instructions, "") if instructions else prompt
    if PLANS in asked or BUILDS in asked:
        _plan_or_build(stream, workspace, instructions, prompt, PLANS in asked)
        return
    one_by_one = "ONE item" in asked
    todo = _steps(stream, workspace, instructions, _says_complete(reported))
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


def _steps(stream: Stream, workspace: Path, instructions: str, claimed: bool) -> Todo:
    """TODO.md in step with the instructions. A list finished by an earlier run starts over; one finished in this
    run stays finished, for instance when the claim was refused."""
    path = workspace / "TODO.md"
    text = tools.read(stream, path) if path.exists() else ""
    todo = Todo(text or "")
    run = os.environ.get("CLAUDE_ITERATE_RUN", "")
    finished_before = bool(todo.boxes) and not todo.open and claimed and not (run and run == todo.run)
    before = todo.run, todo.boxes
    todo.follow(items_in(instructions), run, finished_before)
    if (todo.run, todo.boxes) != before:
        tools.write(stream, path, todo.render())
    return todo


def _says_complete(reported: str | None) -> bool:
    try:
        status = json.loads(reported or "null")
    except ValueError:
        return False
    return isinstance(status, dict) and status.get("complete") is True


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
