"""What the fake Claude does without a script: it works through the items of the instructions.

It really reads, ticks and reports, so that a dry run goes through everything that a real run goes through.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from claude_iterate.fake_claude import tools
from claude_iterate.fake_claude.replies import other_purpose
from claude_iterate.fake_claude.stream import Stream, timestamp
from claude_iterate.fake_claude.todo_list import Todo, items_in

BATCH = 3
"""Items per call when the prompt does not ask for one."""
PLANS = "Make or update the plan"
BUILDS = "Complete ONE task of the plan"
_PLAN = "IMPLEMENTATION_PLAN.md"
_BOX = re.compile(r"([\s>]*(?:[-*+]|\d{1,9}[.)]|#{1,6}(?=\s))\s*\[)\s*([xX✓✔]|[^\w\s\]]?)\s*(\](?:\s.*)?)")
_HEADING = re.compile(r"(\s{0,3}#{1,6}\s+(?:(?:Task|Step)\s+)?\d{1,5}(?:\.\d{1,5})+[.):]?\s.*)")
_FENCE = re.compile(r"[\s>]*(```|~~~)")
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
    elif (purpose := other_purpose(prompt)) is not None:
        purpose(stream, workspace, prompt)
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
    done, total, said = _make_plan(stream, workspace, instructions) if plans else _build(stream, workspace)
    tools.echo(stream, f"{done} of {total}")
    counted = {"completed": done, "total": total}
    _report(stream, workspace, prompt, {"complete": plans or done == total, "progress": counted, "summary": said})
    stream.say(f"{said}. {done} of {total} tasks are done.")


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


def _report(stream: Stream, workspace: Path, prompt: str, told: dict[str, object]) -> None:
    status = {**told, **asked_for(prompt), "lastUpdated": timestamp()}
    tools.write(stream, workspace / ".status.json", json.dumps(status, indent=2, ensure_ascii=False) + "\n")


def asked_for(prompt: str) -> dict[str, str]:
    """The id that the report is to have, by its name, if the prompt asks for one."""
    asked = _ASKED.findall(prompt)
    return dict(json.loads(f"{{{asked[-1]}}}")) if asked else {}


def _make_plan(stream: Stream, workspace: Path, instructions: str) -> tuple[int, int, str]:
    """Write the items of the instructions as open tasks, unless there is a plan: tasks done, tasks in all, a word."""
    path = workspace / _PLAN
    text = (tools.read(stream, path) or "") if path.exists() else ""
    if not _boxes(text):
        tasks = "\n".join(f"- [ ] {item} (refs: INSTRUCTIONS.md)" for item in items_in(instructions))
        text = f"{text.rstrip()}\n\n".lstrip() + f"# Plan\n\n{tasks}\n"
        tools.write(stream, path, text)
    done = [mark for _line, mark in _boxes(text) if mark in "xX✓✔" and mark]
    return len(done), len(_boxes(text)), "Made a plan"


def _build(stream: Stream, workspace: Path) -> tuple[int, int, str]:
    """Tick the first task that is under way or open: tasks done, tasks in all, what was done."""
    impl = workspace / "impl"
    pages = sorted(impl.glob("*.md")) if (impl / "README.md").is_file() else []
    texts = {path: tools.read(stream, path) or "" for path in [workspace / _PLAN, *pages] if path.is_file()}
    said = "Nothing was left to do"
    for wanted in ("~", ""):
        found = next(((path, line) for path, text in texts.items() for line, mark in _open(text, wanted)), None)
        if found is not None:
            path, number = found
            lines = texts[path].split("\n")
            before, lines[number] = lines[number], _ticked(lines[number])
            texts[path] = "\n".join(lines)
            tools.edit(stream, path, before, lines[number], texts[path])
            said = f"Did: {before.strip()[:100]}"
            break
    everything = [mark for text in texts.values() for _line, mark in _boxes(text)]
    return sum(mark != "" and mark in "xX✓✔✅" for mark in everything), len(everything), said


def _open(text: str, wanted: str) -> list[tuple[int, str]]:
    """Under way, or with an empty `wanted` all that is not ticked."""
    return [
        (line, mark) for line, mark in _boxes(text) if (mark == wanted if wanted else mark not in "xX✓✔✅" or not mark)
    ]


def _boxes(text: str) -> list[tuple[int, str]]:
    """Line and mark of each box, and of each numbered heading where there are no boxes."""
    boxes: list[tuple[int, str]] = []
    headings: list[tuple[int, str]] = []
    fence = ""
    for number, line in enumerate(text.split("\n")):
        opening = _FENCE.match(line)
        if opening:
            fence = "" if opening[1] == fence else fence or opening[1]
        elif not fence and (box := _BOX.fullmatch(line)):
            boxes.append((number, box[2]))
        elif not fence and _HEADING.fullmatch(line):
            headings.append((number, "✅" if re.search("[✅✓✔☑]", line) else ""))
    return boxes or headings


def _ticked(line: str) -> str:
    return _BOX.sub(r"\1x\3", line) if _BOX.fullmatch(line) else f"{line} ✅"
