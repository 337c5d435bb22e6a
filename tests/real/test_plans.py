"""The real Claude Code makes a plan and works it off."""

from __future__ import annotations

import pytest

from tests.mocks.messages_api import text, tool
from tests.real.conftest import RealLoop

pytestmark = pytest.mark.real_claude


def test_plan_build_and_then_nothing_to_do(real: RealLoop) -> None:
    """`plan` is done when Claude wrote a plan and reported it; `build` takes one call for each task, is done when all
    are ticked though the reports never say so, and makes no call when nothing is open."""
    real.make()
    plan = str(real.workspace / "IMPLEMENTATION_PLAN.md")
    real.api.script(
        tool("Write", file_path=plan, content="# Plan\n\n- [ ] one (refs: specs/a.md)\n1. [ ] two\n"),
        *(real.report(True), text("Planned.")),
    )
    planned = real.call("plan", "my-task")
    assert planned.code == 0, planned.err
    assert "✓ Planned after 1 iteration: 2 tasks, 1 of them without refs, 2 to do" in planned.out
    assert plan in str(real.api.requests[0].body), "the prompt names the plan"
    for before, after in (("- [ ] one", "- [x] one"), ("1. [ ] two", "1. [x] two")):
        real.api.script(
            tool("Read", file_path=plan),
            tool("Edit", file_path=plan, old_string=before, new_string=after),
            *(real.report(False), text("One task is done.")),
        )
    built = real.call("build", "my-task")
    assert built.code == 0, built.err
    assert "All tasks of the plan are ticked; nothing has proven that they are done (after 2 iterations)" in built.out
    called = len(real.api.requests)
    again = real.call("build", "my-task", "--again")
    assert (again.code, len(real.api.requests)) == (0, called), again.err
    assert "after 0 iterations" in again.out
