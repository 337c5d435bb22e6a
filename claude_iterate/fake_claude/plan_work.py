"""What the fake Claude does in the modes plan and build: it writes a sample plan, and ticks one task of a plan."""

from __future__ import annotations

import os
import re

from claude_iterate.fake_claude import tools
from claude_iterate.fake_claude.printer import Stream
from claude_iterate.fake_claude.todo_list import items_in

_FILE = "IMPLEMENTATION_PLAN.md"
_BOX = re.compile(r"([\s>]*(?:[-*+]|\d{1,9}[.)]|#{1,6}(?=\s))\s*\[)\s*([xX✓✔]|[^\w\s\]]?)\s*(\](?:\s.*)?)")
_HEADING = re.compile(r"(\s{0,3}#{1,6}\s+(?:(?:Task|Step)\s+)?\d{1,5}(?:\.\d{1,5})+[.):]?\s.*)")
_FENCE = re.compile(r"[\s>]*(```|~~~)")


def make_plan(stream: Stream, workspace: str, instructions: str) -> tuple[int, int, str]:
    """Write the items of the instructions as open tasks, unless there is a plan: tasks done, tasks in all, a word."""
    path = f"{workspace}/{_FILE}"
    text = (tools.read(stream, path) or "") if os.path.exists(path) else ""
    if not _boxes(text):
        tasks = "\n".join(f"- [ ] {item} (refs: INSTRUCTIONS.md)" for item in items_in(instructions))
        text = f"{text.rstrip()}\n\n".lstrip() + f"# Plan\n\n{tasks}\n"
        tools.write(stream, path, text)
    done = [mark for _line, mark in _boxes(text) if mark in "xX✓✔" and mark]
    return len(done), len(_boxes(text)), "Made a plan"


def build(stream: Stream, workspace: str) -> tuple[int, int, str]:
    """Tick the first task that is under way or open: tasks done, tasks in all, what was done."""
    impl = f"{workspace}/impl"
    pages = sorted(os.listdir(impl)) if os.path.isfile(f"{impl}/README.md") else []
    files = [f"{workspace}/{_FILE}", *(f"{impl}/{page}" for page in pages if page.endswith(".md"))]
    texts = {path: tools.read(stream, path) or "" for path in files if os.path.isfile(path)}
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
