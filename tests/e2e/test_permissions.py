"""How much Claude may do is asked once, on a terminal; without one it is one line of warning."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from typing import Any

from tests.e2e.conftest import PATIENCE, Loop, until
from tests.e2e.terminal import Terminal

QUESTION = re.compile(r"(Your choice|Commands, separated)[^\n]*[\])]: $")
"""At the end of all that was shown, because a terminal hands over text in any pieces."""
WORK: list[dict[str, Any]] = [{"init": {}}, {"status": {"complete": True}}, {"result": {}}]


def on_terminal(loop: Loop, answers: list[str], *arguments: str) -> tuple[int, str]:
    """Run on a pseudo-terminal and answer each question when it is asked."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "claude_iterate", *arguments],
        cwd=loop.root,
        env=loop.env,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    loop.started.append(process)
    os.close(theirs)
    seen, deadline = "", time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        ready, _, _ = select.select([ours], [], [], 0.2)
        if ready:
            try:
                part = os.read(ours, 65536).decode("utf-8", "replace")
            except OSError:
                break
            if not part:
                break
            seen += part
            if answers and QUESTION.search(seen):
                os.write(ours, (answers.pop(0) + "\n").encode())
        elif process.poll() is not None:
            break
    process.wait(timeout=PATIENCE)
    os.close(ours)
    return process.returncode, seen


def prepared(loop: Loop) -> None:
    loop.make()
    loop.script(WORK)
    del loop.env["CLAUDE_ITERATE_CLAUDE__PERMISSION_MODE"]


def saved(loop: Loop) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((loop.workspace / ".metadata.json").read_text()).get("config", {})
    return found


def test_the_first_run_asks_and_the_second_does_not(loop: Loop) -> None:
    """The answer is saved in the workspace and reaches Claude's command line."""
    prepared(loop)
    code, seen = on_terminal(loop, ["2", "npm test, git commit"], "run", "my-task")
    assert code == 0, seen
    assert "How much may Claude do" in seen
    assert saved(loop)["claude"] == {
        "permission_mode": "acceptEdits",
        "allowed_tools": ["Bash(npm test:*)", "Bash(git commit:*)"],
    }
    argv = loop.record(1)["argv"]
    assert argv[argv.index("--permission-mode") + 1] == "acceptEdits"
    assert "Bash(git commit:*)" in argv
    code, seen = on_terminal(loop, [], "run", "my-task")
    assert code == 0
    assert "How much" not in seen


def test_without_a_terminal_it_warns_once_and_goes_on(loop: Loop) -> None:
    """One warning with the flags that change it."""
    prepared(loop)
    done = loop.run()
    assert done.code == 0
    assert done.err.count("⚠") == 1
    assert "--permission-mode" in done.err
    assert saved(loop) == {}


def test_nothing_is_asked_when_claudes_own_settings_decide(loop: Loop) -> None:
    """A project's `.claude/settings.json` with permissions is a decision."""
    prepared(loop)
    (loop.root / ".claude").mkdir()
    (loop.root / ".claude" / "settings.json").write_text(json.dumps({"permissions": {"allow": ["Write"]}}))
    code, seen = on_terminal(loop, [], "run", "my-task")
    assert (code, "How much" in seen) == (0, False)


def test_skipping_permissions_warns_and_is_not_saved(loop: Loop) -> None:
    """The flag reaches Claude for this run only."""
    prepared(loop)
    done = loop.run("--dangerously-skip-permissions")
    assert "--dangerously-skip-permissions" in loop.record(1)["argv"]
    assert "⚠" in done.err
    assert saved(loop) == {}


def test_a_dry_run_asks_nothing(loop: Loop) -> None:
    """The fake needs no permission."""
    prepared(loop)
    code, seen = on_terminal(loop, [], "run", "my-task", "--dry-run")
    assert (code, "How much" in seen) == (0, False)


def test_an_open_question_blocks_no_other_command(loop: Loop) -> None:
    """The lock is taken after the answer; what the other command wrote is kept beside the answer."""
    prepared(loop)
    screen = Terminal(loop, "run", "my-task")
    screen.await_text("Your choice")
    assert loop.call("config", "-w", "my-task", "delay", "0").code == 0
    screen.type("1\n")
    assert screen.finish() == 0
    screen.close()
    assert saved(loop) == {"delay": 0.0, "claude": {"permission_mode": "acceptEdits"}}


def test_what_was_set_while_the_question_was_open_counts(loop: Loop) -> None:
    """The run obeys it, and permissions that were set meanwhile are not overwritten by the answer."""
    prepared(loop)
    loop.script([{"init": {}}, {"status": {"complete": False}}, {"result": {}}])
    screen = Terminal(loop, "run", "my-task")
    screen.await_text("Your choice")
    assert loop.call("config", "-w", "my-task", "max_iterations", "2").code == 0
    assert loop.call("config", "-w", "my-task", "claude.permission_mode", "plan").code == 0
    screen.type("1\n")
    assert screen.finish() == 0
    screen.close()
    assert loop.events("RunFinished")[-1]["iterations"] == 2
    assert saved(loop)["claude"] == {"permission_mode": "plan"}
    argv = loop.record(1)["argv"]
    assert argv[argv.index("--permission-mode") + 1] == "plan"


def test_a_workspace_that_was_removed_while_the_question_was_open(loop: Loop) -> None:
    """The message says that it is gone, and nothing is made in its place."""
    prepared(loop)
    screen = Terminal(loop, "run", "my-task")
    screen.await_text("Your choice")
    assert loop.call("clean", "my-task", "--force").code == 0
    screen.type("1\n")
    screen.await_text("is gone")
    assert screen.finish() == 1
    screen.close()
    assert not loop.workspace.exists()


def test_nothing_is_asked_for_a_workspace_that_is_running(loop: Loop) -> None:
    """The user is not asked in vain: the answer would be lost."""
    prepared(loop)
    loop.script([{"init": {}}, {"touch": "ready"}, {"wait_for": "go"}, *WORK[1:]])
    process = loop.start("run", "my-task", "--permission-mode", "acceptEdits")
    until((loop.workspace / "ready").exists)
    code, seen = on_terminal(loop, [], "run", "my-task")
    assert (code, "already running" in seen, "How much" in seen) == (1, True, False)
    (loop.workspace / "go").touch()
    assert loop.finish(process).code == 0


def test_naming_no_command_is_not_an_answer(loop: Loop) -> None:
    """Choice 2 without a command asks again and says why."""
    prepared(loop)
    code, seen = on_terminal(loop, ["2", " , ", "npm test"], "run", "my-task")
    assert (code, "Name at least one" in seen) == (0, True)
    assert saved(loop)["claude"]["allowed_tools"] == ["Bash(npm test:*)"]
