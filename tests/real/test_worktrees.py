"""The real Claude works in a worktree, and in the workspace, which is elsewhere: in every permission mode."""

from __future__ import annotations

import json
import shlex

import pytest

from tests.mocks.messages_api import text, tool
from tests.real.conftest import RealLoop

pytestmark = [pytest.mark.real_claude, pytest.mark.needs_git]

WAYS = {
    "acceptEdits": ["--permission-mode", "acceptEdits"],
    "dontAsk": ["--permission-mode", "dontAsk", "--allow", "Edit", "--allow", "Write"],
    "default": ["--permission-mode", "default", "--allow", "Edit", "--allow", "Write"],
}


@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_denied_in_a_worktree(real: RealLoop, way: str) -> None:
    """Notes and report are in the workspace, which is not below the worktree. The review reads them, too."""
    repository(real)
    todo = real.workspace / "TODO.md"
    todo.write_text("- [ ] one\n")
    place = real.root / "claude-iterate" / "worktrees" / "my-task"
    entry = {"number": 1, "status": "met", "shown_by": "read", "file": "a.txt", "line": 1, "evidence": "seen"}
    real.api.script(
        tool("Read", file_path=str(todo)),
        tool("Edit", file_path=str(todo), old_string="[ ]", new_string="[x]"),
        tool("Write", file_path=str(place / "a.txt"), content="one\n"),
        real.report(True),
        text("Done."),
        tool("Read", file_path=str(todo)),
        tool("Read", file_path=str(place / "a.txt")),
        tool("StructuredOutput", summary="Looked.", requirements=[entry], findings=[]),
        text("Met."),
    )
    real.env.pop("CLAUDE_ITERATE_CLAUDE__PERMISSION_MODE")
    done = real.run("--worktree", "--verify", *WAYS[way])
    assert done.code == 0, done.err
    assert todo.read_text() == "- [x] one\n"
    answers = [answer for request in real.api.requests for answer in request.tool_results]
    assert [answer for answer in answers if answer.get("is_error")] == []
    assert f"Commit and merge it: git -C {shlex.quote(str(place))} add -A" in done.out


def test_nothing_is_denied_in_a_workspace_outside_of_the_project(real: RealLoop) -> None:
    """`paths.workspaces_dir` may lead anywhere."""
    elsewhere = real.folder / "elsewhere"
    real.set(paths__workspaces_dir=str(elsewhere))
    real.env["CLAUDE_ITERATE_CLAUDE__PERMISSION_MODE"] = "acceptEdits"
    (real.folder / "task.md").write_text("- one\n")
    assert real.call("setup", "my-task", "--from", str(real.folder / "task.md")).code == 0
    status = elsewhere / "my-task" / ".status.json"
    real.api.script(tool("Write", file_path=str(status), content=json.dumps({"complete": True})), text("Done."))
    done = real.call("run", "my-task", "--no-delay")
    assert done.code == 0, done.err
    assert "Denied" not in done.err


def repository(real: RealLoop) -> None:
    real.make("- one\n")
    (real.root / ".gitignore").write_text("claude-iterate/\n")
    for words in (("init", "-q"), ("add", ".gitignore"), ("commit", "-qm", "first")):
        real.git(*words)
