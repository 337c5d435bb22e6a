"""`setup --goal` and `edit --goal`: Claude writes alone, without a terminal; only what it wrote now counts."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.e2e.conftest import Loop

SAYS: list[dict[str, Any]] = [{"init": {}}, {"result": {"result": "I would rather not."}}]


def writes(text: str) -> list[dict[str, Any]]:
    return [{"init": {}}, {"write": {"path": "INSTRUCTIONS.md", "text": text}}, {"result": {"result": "There."}}]


def counters(loop: Loop) -> tuple[int, int]:
    document = json.loads((loop.workspace / ".metadata.json").read_text())
    return document.get("setupIterations", 0), document.get("totalIterations", 0)


def test_setup_from_a_goal(loop: Loop) -> None:
    """The workspace is made, the goal reaches Claude untouched, editing is allowed, the setup is counted."""
    del loop.env["CLAUDE_ITERATE_CLAUDE__PERMISSION_MODE"]
    done = loop.call("setup", "my-task", "--goal", "Boil {{ water }} & $& tea", "--mode", "iterative", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["made"] is True
    assert "Boil {{ water }} & $& tea" in (loop.workspace / "INSTRUCTIONS.md").read_text()
    assert counters(loop) == (1, 1)
    assert json.loads((loop.workspace / ".metadata.json").read_text())["mode"] == "iterative"
    argv = loop.record(1)["argv"]
    assert argv[argv.index("--permission-mode") + 1] == "acceptEdits"


def test_nothing_usable_was_written(loop: Loop) -> None:
    """An error with Claude's words; the workspace stays for the next try."""
    loop.script(writes(" \n"))
    done = loop.call("setup", "my-task", "--goal", "tea")
    assert done.code == 1
    assert "There." in done.err
    assert "claude-iterate setup my-task" in done.err
    assert loop.workspace.is_dir()
    loop.script(writes("- tea\n"))
    assert loop.call("setup", "my-task", "--goal", "tea", "--force").code == 0
    assert counters(loop) == (2, 2)


def test_old_instructions_are_no_result(loop: Loop) -> None:
    """With --force the old text is still there when Claude writes nothing: that is a failure, and the text stays."""
    loop.make("- old\n")
    loop.script(SAYS)
    assert loop.call("setup", "my-task", "--goal", "tea").code == 1
    assert not loop.state.exists()
    done = loop.call("setup", "my-task", "--goal", "tea", "--force")
    assert done.code == 1
    assert "I would rather not." in done.err
    assert (loop.workspace / "INSTRUCTIONS.md").read_text() == "- old\n"
    loop.script(writes("- new\n"))
    assert loop.call("setup", "my-task", "--goal", "tea", "--force").code == 0
    assert (loop.workspace / "INSTRUCTIONS.md.bak").read_text() == "- old\n"


def test_a_failed_call_is_told(loop: Loop) -> None:
    """Claude's own failure, with its own exit code, and no claim that something was written."""
    loop.script([{"init": {}}, {"exit": 3}])
    done = loop.call("setup", "my-task", "--goal", "tea")
    assert done.code == 1
    assert "Wrote" not in done.out


@pytest.mark.parametrize(
    ("command", "said"), [("no-such-claude", "Claude CLI not found"), ("/bin/false", "--version failed")]
)
def test_without_claude_nothing_is_made(loop: Loop, command: str, said: str) -> None:
    """One that is not there, or fails at `--version`, is known before anything is written."""
    loop.env["CLAUDE_ITERATE_CLAUDE__COMMAND"] = command
    done = loop.call("setup", "my-task", "--goal", "tea")
    assert (done.code, said in done.err) == (1, True)
    assert list(loop.root.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        ["setup", "my-task", "--goal", " "],
        ["setup", "my-task", "--goal", "x", "--from", "y"],
        ["setup", "my-task", "--editor"],
        ["setup", "my-task", "--dry-run"],
        ["setup", "my-task", "--dry-run", "--from", "y"],
    ],
)
def test_what_makes_no_sense_is_refused(loop: Loop, words: list[str]) -> None:
    """Exit code 2 and nothing is made."""
    assert loop.call(*words).code == 2
    assert list(loop.root.iterdir()) == []


def test_a_dry_setup_is_not_counted(loop: Loop) -> None:
    """--dry-run leaves a sample to play with, and says that it is one."""
    loop.env["CLAUDE_ITERATE_CLAUDE__COMMAND"] = "no-such-claude"
    done = loop.call("setup", "my-task", "--goal", "tea", "--dry-run")
    assert done.code == 0, done.err
    assert "sample" in done.out
    assert counters(loop) == (0, 0)


def test_a_dry_replacement_is_named_as_one(loop: Loop) -> None:
    """--force --dry-run says what would be written, and does not claim a sample that is not there."""
    loop.make("- old\n")
    done = loop.call("setup", "my-task", "--goal", "tea", "--force", "--dry-run")
    assert done.code == 0, done.err
    assert re.fullmatch(
        r"Dry run: the new text \(\d+ bytes\) was discarded\.\n", done.out.splitlines(keepends=True)[-1]
    )
    assert "sample" not in done.out
    assert (loop.workspace / "INSTRUCTIONS.md").read_text() == "- old\n"
    done = loop.call("setup", "my-task", "--goal", "tea", "--force", "--dry-run", "--json")
    assert json.loads(done.out)["written"] is False


def test_edit_with_a_wish(loop: Loop) -> None:
    """The change is counted and told in figures; the old text is kept."""
    loop.make("- one\n")
    done = loop.call("edit", "my-task", "--goal", "also two")
    assert done.code == 0, done.err
    assert "4 lines added, 0 removed" in done.out
    assert "also two" in (loop.workspace / "INSTRUCTIONS.md").read_text()
    assert (loop.workspace / "INSTRUCTIONS.md.bak").read_text() == "- one\n"
    assert counters(loop) == (1, 1)
    loop.script(SAYS)
    assert loop.document("edit", "my-task", "--goal", "x")["changed"] is False
    assert (loop.workspace / "INSTRUCTIONS.md.bak").read_text() == "- one\n"


@pytest.mark.parametrize("step", [{"write": {"path": "INSTRUCTIONS.md", "text": ""}}, {"remove": "INSTRUCTIONS.md"}])
def test_an_edit_that_leaves_nothing_is_undone(loop: Loop, step: dict[str, Any]) -> None:
    """Instructions are never lost to an edit, and to leave none is no success, however it was done."""
    loop.make("- one\n")
    loop.script([{"init": {}}, step, {"result": {}}])
    done = loop.call("edit", "my-task", "--goal", "shorter")
    assert done.code == 1
    assert "instructions were restored" in done.err
    assert (loop.workspace / "INSTRUCTIONS.md").read_text() == "- one\n"
    assert not (loop.workspace / "INSTRUCTIONS.md.bak").exists()
    assert loop.call("setup", "my-task", "--goal", "shorter", "--force").code == 1
    assert (loop.workspace / "INSTRUCTIONS.md").read_text() == "- one\n"


def test_edit_needs_instructions_and_someone_to_ask(loop: Loop) -> None:
    """Without a terminal there must be a wish; without instructions there is nothing to edit."""
    loop.make()
    assert loop.call("edit", "my-task").code == 2
    (loop.workspace / "INSTRUCTIONS.md").unlink()
    done = loop.call("edit", "my-task", "--goal", "x")
    assert done.code == 1
    assert "Instructions not found" in done.err
    assert not loop.state.exists()
