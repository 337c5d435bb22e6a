"""The tasks of a plan in Markdown, as people and agents write them: boxes in lists, and numbered headings.

A box is a task: open, `[~]` under way, `[x]` done. A heading such as `### 1.2 Parser` is one, done with a check mark,
unless there are boxes below it. What stands in a fence is an example.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec
from msgspec.structs import replace

from claude_iterate.core.fingerprints import checksum

OPEN, DOING, DONE = "open", "doing", "done"
_STATES = {"": OPEN, "~": DOING, "x": DONE, "X": DONE, "✓": DONE, "✔": DONE, "✅": DONE}
"""What a mark in a box means. One that is not a letter and not known is open: it is not ticked."""
_BOX = re.compile(r"^[\s>]*(?:[-*+]|\d{1,9}[.)]|\#{1,6}(?=\s))\s*\[\s*([xX]|[^\w\s\]]?)\s*\](?=\s|$)\s*(.*)")
_HEADING = re.compile(r"^\s{0,3}(\#{1,6})\s+(.*)")
_NUMBERED = re.compile(r"[✅✓✔☑\s]*(?:(?:Task|Step)\s+)?\d{1,5}(?:\.\d{1,5})+[.):]?\s+\S")
_CHECK_MARKS = "✅✓✔☑"
_REFERENCES = re.compile(r"\(\s*refs?\s*:\s*([^()]*(?:\([^()]*\)[^()]*)*)\)", re.IGNORECASE)
_FENCE = re.compile(r"^[\s>]*(?:(`{3,})([^`]*)|(~{3,})(.*))$")
"""The marks of a fence, and what follows them. Backquotes after backquotes are code within a line, not a fence."""


class Task(msgspec.Struct, frozen=True):
    """One task: its text, its state (open, doing or done), the specifications it refers to, and its line from 1."""

    text: str
    state: str
    refs: tuple[str, ...]
    line: int


_Heading = tuple[int, int, Task]
"""A heading's rank, how many boxes stand before it, and what it would be as a task."""


def tasks_in(text: str) -> list[Task]:
    """The tasks of one file, in order."""
    tasks: list[Task] = []
    headings: list[_Heading] = []
    for number, line in outside_fences(text):
        task = _box(line, number)
        if task is not None:
            tasks.append(task)
        elif line.lstrip().startswith("#") and (heading := _HEADING.match(line)):
            headings.append((len(heading[1]), len(tasks), _heading(heading[2], number)))
        elif tasks and "ref" in line and (more := _references(line)):
            tasks[-1] = replace(tasks[-1], refs=tasks[-1].refs + more)
    own = _heading_tasks(headings, len(tasks))
    return sorted([*tasks, *own], key=lambda task: task.line) if own else tasks


def boxes_in(text: str) -> list[Task]:
    """The boxes of a list alone, as in TODO.md, where a heading is a heading."""
    found = (_box(line, number) for number, line in outside_fences(text))
    return [task for task in found if task is not None]


def fingerprint(texts: Sequence[str]) -> str:
    """The same for the same plan; blanks at the ends of lines do not matter."""
    plain = ("\n".join(line.rstrip() for line in text.splitlines()) for text in texts)
    return checksum(b"".join(text.encode("utf-8", "replace") + b"\0" for text in plain))


def _box(line: str, number: int) -> Task | None:
    found = _BOX.match(line) if "[" in line else None
    if found is None:
        return None
    text = found[2].strip()
    return Task(text, _STATES.get(found[1], OPEN), _references(text) if "(" in text else (), number)


def _heading(text: str, number: int) -> Task:
    state = DONE if any(mark in text for mark in _CHECK_MARKS) else OPEN
    return Task(text.strip().rstrip("#").strip(), state, _references(text), number)


def _heading_tasks(headings: list[_Heading], boxes: int) -> list[Task]:
    """The numbered headings that have neither boxes nor numbered headings below them, up to the next one of the same
    rank."""
    found: list[Task] = []
    # From the end: for each rank, how many boxes and numbered headings there were where the last such heading stood.
    since = [(boxes, 0)] * 7
    numbered = 0
    for rank, before, task in reversed(headings):
        is_numbered = _NUMBERED.match(task.text) is not None
        if is_numbered and since[rank] == (before, numbered):
            found.append(task)
        numbered += is_numbered
        since[rank:] = [(before, numbered)] * (7 - rank)
    return found


def _references(text: str) -> tuple[str, ...]:
    found = _REFERENCES.search(text)
    if found is None:
        return ()
    return tuple(part.strip().strip("`") for part in found[1].split(",") if part.strip().strip("`"))


def outside_fences(text: str) -> Iterator[tuple[int, str]]:
    """The lines, with their numbers from 1, that do not stand in a fence. One is closed by at least as many of its
    marks, alone."""
    fence = ""
    for number, line in enumerate(text.splitlines(), 1):
        mark = _FENCE.match(line) if "```" in line or "~~~" in line else None
        if not mark:
            if not fence:
                yield number, line
            continue
        marks, rest = mark[1] or mark[3], mark[2] or mark[4] or ""
        if not fence:
            fence = marks
        elif marks.startswith(fence) and not rest.strip():
            fence = ""
