"""The plan of a workspace on disk: one file or several, read bounded, and anything in its place told in words."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from claude_iterate.core.events import PlanRead
from claude_iterate.core.settings.modes import MODES
from claude_iterate.errors import WorkspaceProblem
from claude_iterate.workspace import plan_file
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.plan_file import refuse_bad_plan


def test_no_plan_is_no_problem(layout: Layout) -> None:
    """There is nothing to read, and planning may begin."""
    assert plan_file.read_plan(layout) == PlanRead()
    refuse_bad_plan(layout, MODES["plan"])


def test_the_files_of_a_plan_count_together(layout: Layout) -> None:
    """`impl/*.md` only with a README.md; the archive below it never."""
    layout.plan.write_text("- [x] one (refs: a)\n")
    layout.impl.mkdir()
    (layout.impl / "part.md").write_text("- [ ] two\n- [~] three\n")
    assert plan_file.read_plan(layout).tasks == 1
    (layout.impl / "README.md").write_text("- [ ] four (refs: b)\n")
    (layout.impl / ".archive").mkdir()
    (layout.impl / ".archive" / "old.md").write_text("- [ ] old\n")
    found = plan_file.read_plan(layout)
    assert (found.open, found.doing, found.done, found.without_refs) == (2, 1, 1, 2)
    layout.plan.unlink()
    assert plan_file.read_plan(layout).tasks == 3


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (Path.mkdir, "IMPLEMENTATION_PLAN.md is a folder, not a file"),
        (os.mkfifo, "IMPLEMENTATION_PLAN.md cannot be read: it is not a regular file"),
        (
            lambda plan: plan.write_text("- [ ] a task\n" * 500_000),
            "it is larger than 1 MB, which is the most",
        ),
    ],
)
@pytest.mark.parametrize("mode", ["plan", "build"])
def test_a_plan_that_cannot_be_used(layout: Layout, make: Callable[[Path], object], words: str, mode: str) -> None:
    """Both modes refuse it before anything is paid for, and name the bound."""
    make(layout.plan)
    assert plan_file.read_plan(layout).problem == words
    with pytest.raises(WorkspaceProblem) as raised:
        refuse_bad_plan(layout, MODES[mode])
    assert raised.value.message == f"The plan cannot be used: {words}."
    assert str(layout.plan) in raised.value.hint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "There is no plan. Make one: claude-iterate plan w"),
        ("", "IMPLEMENTATION_PLAN.md has no tasks."),
        ("# Plan\n\nSoon.\n", "IMPLEMENTATION_PLAN.md has no tasks."),
    ],
)
def test_build_needs_a_task(layout: Layout, text: str | None, message: str) -> None:
    """Without one it says how to get one; a loop does not ask."""
    if text is not None:
        layout.plan.write_text(text)
    with pytest.raises(WorkspaceProblem) as raised:
        refuse_bad_plan(layout, MODES["build"])
    assert raised.value.message == message
    assert "claude-iterate plan w" in raised.value.message + raised.value.hint or str(layout.plan) in raised.value.hint
    refuse_bad_plan(layout, MODES["loop"])
