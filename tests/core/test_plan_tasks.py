"""Tasks of a plan, as people and agents write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_iterate.core.reports.plan_tasks import Task, boxes_in, fingerprint, tasks_in


def states(text: str) -> list[tuple[str, str]]:
    return [(task.text, task.state) for task in tasks_in(text)]


@pytest.mark.parametrize("bullet", ["-", "*", "+", "1.", "27)", "> -", "> > *", "  -", "    -", "\t-"])
@pytest.mark.parametrize(
    ("box", "state"),
    [
        ("[ ]", "open"),
        ("[]", "open"),
        ("[  ]", "open"),
        ("[x]", "done"),
        ("[X]", "done"),
        ("[ x ]", "done"),
        ("[✓]", "done"),
        ("[~]", "doing"),
        ("[ ~ ]", "doing"),
        ("[-]", "open"),
        ("[!]", "open"),
    ],
)
def test_a_box_is_a_task_however_it_is_written(bullet: str, box: str, state: str) -> None:
    """Any bullet, nested, in quotes; blanks in the box do not matter, and what is not ticked is open."""
    assert states(f"Intro\n{bullet} {box} Write it") == [("Write it", state)]
    if not bullet.startswith(">"):
        assert states(f"Intro\n{bullet}{box} Write it") == [("Write it", state)]


@pytest.mark.parametrize(
    "line",
    [
        "- [x](url) a link",
        "- [a] an option",
        "[ ] no bullet",
        "- item [ ] inside",
        "-- [ ] a rule",
        "- [ ]x",
        "- [xx] y",
    ],
)
def test_what_only_looks_like_a_box(line: str) -> None:
    """Links, options and brackets within a sentence are no tasks."""
    assert states(line) == []


@pytest.mark.parametrize("fence", ["```", "~~~", "````", "```markdown", "  ```", "> ```"])
def test_fenced_examples_are_no_tasks(fence: str) -> None:
    """Whatever the fence is made of; one that is not closed hides the rest."""
    marks = fence.replace("markdown", "")
    assert states(f"{fence}\n- [ ] example\n{marks}\n- [ ] real") == [("real", "open")]
    assert states(f"- [x] real\n{fence}\n- [ ] example") == [("real", "done")]


def test_numbered_headings_are_tasks() -> None:
    """With a check mark they are done. One with boxes or numbered headings below is only a title."""
    text = """# Plan
## 1. Basics
### 1.1 Parser ✅
### ✓ 1.2 Lexer (refs: specs/lexer.md)
### 1.3 Printer
Some words.
## 2.0 Proof
### 2.1 Tests
- [x] one
#### Notes
- [ ] two
### Task 2.2: Bench
## Overview
## [~] 3 Release
"""
    assert states(text) == [
        ("1.1 Parser ✅", "done"),
        ("✓ 1.2 Lexer (refs: specs/lexer.md)", "done"),
        ("1.3 Printer", "open"),
        ("one", "done"),
        ("two", "open"),
        ("Task 2.2: Bench", "open"),
        ("3 Release", "doing"),
    ]


def test_references() -> None:
    """In the line of the task or below it; several, with or without backquotes."""
    text = """- [ ] one (refs: specs/a.md, `specs/b.md#part (2)`)
- [ ] two
  because of that
  (ref: specs/c.md)
- [x] three (see above)
- [ ] four (REFS: )
"""
    assert tasks_in(text) == [
        Task("one (refs: specs/a.md, `specs/b.md#part (2)`)", "open", ("specs/a.md", "specs/b.md#part (2)"), 1),
        Task("two", "open", ("specs/c.md",), 2),
        Task("three (see above)", "done", (), 5),
        Task("four (REFS: )", "open", (), 6),
    ]


def test_a_heading_in_a_list_of_boxes_is_a_heading() -> None:
    """TODO.md has boxes; its headings count nowhere."""
    assert [task.text for task in boxes_in("## 1.1 Soon\n## 1.2 Later\n- [ ] one\n")] == ["one"]


def test_the_fingerprint_is_that_of_the_words() -> None:
    """Blanks at line ends and other line ends are the same plan; a tick, and the place of a text, are not."""
    assert fingerprint(["- [ ] a  \n- [ ] b\n"]) == fingerprint(["- [ ] a\r\n- [ ] b"])
    assert len({fingerprint([text]) for text in ("- [ ] a", "- [x] a", "- [~] a", "")}) == 4
    assert fingerprint(["a", "b"]) != fingerprint(["ab", ""]) != fingerprint(["", "ab"])


def test_a_hundred_thousand_tasks() -> None:
    """Boxes and headings alike: the work grows with the text and no faster."""
    assert len(tasks_in("- [ ] task\n" * 100_000)) == 100_000
    assert len(tasks_in("### 1.1 task\n" * 30_000)) == 30_000
    assert len(tasks_in("### 1.1 " + "(refs: " * 30_000)) == 1


@given(st.text(alphabet="-*+1.)[]xX~# \t\n>`(refs:)✅a"))
def test_any_text_is_read(text: str) -> None:
    """Nothing raises, each task is where it says, and lines are counted once."""
    lines = text.splitlines()
    found = tasks_in(text)
    assert all(task.text.split("✅")[0].strip()[:1] in lines[task.line - 1] for task in found)
    assert len({task.line for task in found}) == len(found)
