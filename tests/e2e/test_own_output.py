"""What a run prints may go to a file in the project: that is no work, and it changes no proof."""

from __future__ import annotations

import shlex

import pytest

from claude_iterate.selftest.harness.script_steps import INIT, RESULT, finish
from tests.e2e.conftest import Loop
from tests.e2e.shell_agent import with_git


@pytest.mark.parametrize("repository", [True, False])
def test_a_file_with_the_own_output_is_no_work(loop: Loop, repository: bool) -> None:
    """The claim is proven at once, and nothing but the work is measured."""
    loop.make()
    if repository:
        with_git(loop)
    loop.env["CLAUDE_ITERATE_VERIFICATION__CHECKS"] = '["test -e a.txt"]'
    loop.script(finish({"shell": "echo a > a.txt"}))
    command = f"{shlex.join(loop.program)} run my-task > run.log 2>&1"
    loop.finish(loop.start("-c", command, program=("/bin/sh",)))
    assert "✓ Task completed successfully after 1 iteration: proven by checks" in (loop.root / "run.log").read_text()
    assert [event["changes"]["files"] for event in loop.events("WorkMeasured")] == [["a.txt"]]


def test_the_own_output_keeps_no_idle_run_going(loop: Loop) -> None:
    """The breaker ends it as if the output went elsewhere."""
    loop.make()
    loop.env["CLAUDE_ITERATE_STOP__NO_PROGRESS"] = "2"
    loop.script([INIT, RESULT])
    command = f"{shlex.join(loop.program)} run my-task > nohup.out 2>&1"
    loop.finish(loop.start("-c", command, program=("/bin/sh",)))
    (ended,) = loop.events("RunFinished")
    assert (ended["reason"], len(loop.events("IterationFinished"))) == ("no_progress", 2)
