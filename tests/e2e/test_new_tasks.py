"""A claim is about the instructions that Claude was given: with other ones nothing is done yet."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.agents import acts, prompt
from tests.e2e.conftest import Loop, until

CLAIM = """report '{"complete": true, "progress": {"completed": 2, "total": 2}, "iteration": "'$(id)'"}'"""
MORE = "echo '- [ ] a third item' >> $W/INSTRUCTIONS.md"
DROPPED = "⚠ The claim does not count: INSTRUCTIONS.md has another text now."


def row(loop: Loop) -> dict[str, Any]:
    (found,) = loop.document("list")["workspaces"]
    return dict(found)


def test_instructions_that_change_during_the_iteration_are_worked_on_first(loop: Loop) -> None:
    """One line says that the claim does not count; the next prompt has the new text and says why it is there."""
    loop.make()
    acts(loop, f"{CLAIM}; {MORE}", CLAIM)
    done = loop.run()
    assert (done.code, len(loop.events("IterationFinished"))) == (0, 2)
    assert done.err.count(DROPPED) == 1
    assert "a third item" in prompt(loop, 2)
    assert "did not count" in prompt(loop, 2)
    assert row(loop)["status"] == "completed"


def test_a_claim_about_the_old_text_in_the_last_iteration_completes_nothing(loop: Loop) -> None:
    """The run ends for want of iterations, and its figures are not those of the claim."""
    loop.make()
    acts(loop, f"{CLAIM}; {MORE}")
    done = loop.run("-m", "1", "--detailed-exit-code")
    assert (done.code, DROPPED in done.err, "2/2" in done.out) == (3, True, False)
    assert row(loop)["status"] == "in_progress"


def test_boxes_that_claude_ticks_in_the_instructions_are_no_change(loop: Loop) -> None:
    """It is told not to, but does so at times."""
    loop.make("- [ ] one\n- [ ] two\n")
    acts(loop, f"sed -i.bak 's/\\[ \\]/[x]/' $W/INSTRUCTIONS.md; {CLAIM}")
    done = loop.run()
    assert (done.code, len(loop.events("IterationFinished"))) == (0, 1)
    assert row(loop)["status"] == "completed"


def test_instructions_that_are_lost_complete_nothing(loop: Loop) -> None:
    """The end names them, the prompt that has their text, and one command, which can be typed."""
    loop.make()
    acts(loop, f"{CLAIM}; : > $W/INSTRUCTIONS.md")
    done = loop.run()
    assert done.code == 1
    assert "⚠ The claim does not count: INSTRUCTIONS.md can no longer be read." in done.err
    assert f"{loop.layout.instructions} is empty" in done.err
    assert f"The last iteration had the text that is in {loop.layout.runs}/" in done.err
    assert "0001.prompt.md\n" in done.err
    assert done.err.endswith("\n  Next: claude-iterate setup my-task\n")
    assert "--accept-changes" not in done.err
    assert [event["reason"] for event in loop.events("RunFinished")] == ["agent_failed"]


def test_instructions_that_change_during_the_proof_are_worked_on(loop: Loop) -> None:
    """The proof was about the old text."""
    loop.make()
    text = loop.workspace / "INSTRUCTIONS.md"
    loop.checks(f"grep -q third {text} || echo '- third' >> {text}")
    acts(loop, CLAIM)
    done = loop.run()
    assert (done.code, len(loop.events("IterationFinished"))) == (0, 2)
    assert DROPPED in done.err


def killed_while_checking(loop: Loop) -> None:
    """Claude claims completion, and the runner is killed while the check runs; the next time it is green."""
    loop.make()
    ready = loop.workspace / "ready"
    check = f"test -e {ready} || {{ touch {ready}; sleep 300; }}"
    loop.checks(check)
    acts(loop, CLAIM)
    process = loop.start_run()
    until(ready.exists)
    loop.kill(process)


@pytest.mark.parametrize("way", ["setup", "edited"])
def test_a_claim_that_outlived_a_kill_is_not_about_a_new_task(loop: Loop, way: str) -> None:
    """The runner is killed while the check runs; then the task is replaced; then the check is green."""
    killed_while_checking(loop)
    (loop.folder / "task").write_text("- [ ] write a novel\n")
    if way == "setup":
        assert loop.call("setup", "my-task", "--force", "--from", str(loop.folder / "task")).code == 0
    else:
        (loop.workspace / "INSTRUCTIONS.md").write_bytes((loop.folder / "task").read_bytes())
    done = loop.run()
    assert (done.code, DROPPED in done.err) == (0, True)
    assert "write a novel" in prompt(loop, 2)
    assert [event["number"] for event in loop.events("IterationStarted")] == [1, 2]


def test_a_completed_workspace_with_other_instructions_has_a_new_task(loop: Loop) -> None:
    """In `list`, `show` and the metadata, however they came; the next run tells Claude, and completes the new task."""
    loop.make("- [ ] one\n")
    acts(loop, CLAIM)
    assert loop.run().code == 0
    instructions, metadata = loop.workspace / "INSTRUCTIONS.md", loop.workspace / ".metadata.json"
    assert (row(loop)["status"], row(loop)["progress"]) == ("completed", {"completed": 2, "total": 2})
    instructions.write_text("- [x] one  \n")
    assert row(loop)["state"] == "completed"
    instructions.write_text("- [ ] something else\n")
    assert (row(loop)["status"], row(loop)["state"], row(loop)["progress"]) == ("in_progress", "new_task", None)
    instructions.write_text("- [x] one\n")
    assert row(loop)["state"] == "completed"
    (loop.folder / "task").write_text("- [ ] something new\n")
    assert loop.call("setup", "my-task", "--force", "--from", str(loop.folder / "task")).code == 0
    assert json.loads(metadata.read_text())["status"] == "in_progress"
    assert "new task" in loop.call("list").out
    assert loop.call("watch", "--plain", "my-task").out.startswith("my-task · new task · iteration 1 of 50 · Its last")
    shown = loop.call("show", "my-task").out
    assert "Status: new task: the instructions changed since it was completed" in shown
    assert "Last report of the task before: 2/2" in shown
    asked = loop.call("report", "my-task", "--format", "md", "-o", "-").out
    assert ("another text now than this run was given" in asked, "something new" in asked) == (True, False)
    assert loop.run().code == 0
    assert "The instructions have changed since the task was completed." in prompt(loop, 2)
    assert row(loop)["state"] == "completed"


def test_a_verify_of_a_new_task_does_not_take_the_report_of_the_old_one(loop: Loop) -> None:
    """Its checks are green, so it is completed; what Claude reported before is told as what it is."""
    loop.make("- [ ] one\n")
    loop.checks("true")
    acts(loop, CLAIM)
    assert loop.run().code == 0
    (loop.workspace / "INSTRUCTIONS.md").write_text("- [ ] something else\n")
    assert loop.call("verify", "my-task", "--checks-only").code == 0
    assert (row(loop)["state"], row(loop)["knownBy"], row(loop)["progress"]) == ("completed", "checks", None)
    shown = loop.call("show", "my-task").out
    assert "Last report of the task before: 2/2" in shown
    assert "No run has worked on the task that the instructions describe now." in shown
    assert "Progress: 2/2" not in shown
    assert loop.run("--again").code == 0
    assert "Progress: 2/2" in loop.call("show", "my-task").out


def test_a_note_that_came_too_late_is_told(loop: Loop) -> None:
    """It arrived during the iteration that completed the task, so no prompt had it."""
    loop.make()
    acts(loop, f"mkdir -p $W/notes; echo 'Use tabs.' > $W/notes/1.md; {CLAIM}")
    done = loop.run()
    assert done.code == 0
    assert "1 note" in done.out
