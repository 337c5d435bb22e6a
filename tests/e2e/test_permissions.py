"""How much Claude may do is asked once, on a terminal; without one a run that could do nothing is refused."""

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

import pytest

from tests.bubblewrap import needs_bwrap
from tests.e2e.conftest import PATIENCE, Loop, until
from tests.e2e.shell_agent import acts
from tests.e2e.terminal import Terminal

QUESTION = re.compile(r"(Your choice|Commands, separated|Are you sure|Prove the work|Most US dollars)[^\n]*[\])]: $")
"""At the end of all that was shown, because a terminal hands over text in any pieces."""
WORK: list[dict[str, Any]] = [{"init": {}}, {"status": {"complete": True}}, {"result": {}}]


def on_terminal(loop: Loop, answers: list[str], *arguments: str) -> tuple[int, str]:
    """Run on a pseudo-terminal and answer each question when it is asked; when the answers are used up, by Enter."""
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
            if QUESTION.search(seen):
                os.write(ours, ((answers.pop(0) if answers else "") + "\n").encode())
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
    code, seen = on_terminal(loop, [], "run", "my-task", "--again")
    assert code == 0
    assert "How much" not in seen


def test_what_the_project_suggests_is_offered(loop: Loop) -> None:
    """Enter takes choice 2 with the commands of package.json, each of which becomes a rule; the tests become a check,
    and no limit is set. `init` asks the same, and after that `run` asks only what Claude may do."""
    prepared(loop)
    scripts = {"test": "vitest", "lint": "eslint .", "deploy": "rsync"}
    (loop.root / "package.json").write_text(json.dumps({"scripts": scripts}))
    loop.env["PATH"] = f"{loop.folder}/bin:{loop.env['PATH']}"
    (loop.folder / "bin").mkdir()
    (loop.folder / "bin" / "npm").symlink_to("/bin/true")
    code, seen = on_terminal(loop, [], "run", "my-task")
    assert code == 0, seen
    assert "found here: npm test, npm run lint)" in seen
    assert "Prove the work with `npm test`? [Y/n]: " in seen
    assert saved(loop) == {
        "claude": {"permission_mode": "acceptEdits", "allowed_tools": ["Bash(npm test:*)", "Bash(npm run lint:*)"]},
        "verification": {"checks": ["npm test"]},
    }
    assert "proven by checks" in seen
    code, seen = on_terminal(loop, ["n", "much", "2.5"], "init", "other")
    assert code == 0, seen
    config = json.loads((loop.workspace.parent / "other" / ".metadata.json").read_text())["config"]
    assert config == {"limits": {"max_cost_usd": 2.5}}
    assert "'much' is not an amount in US dollars above 0." in seen
    (loop.workspace.parent / "other" / "INSTRUCTIONS.md").write_text("- one\n")
    code, seen = on_terminal(loop, [], "run", "other")
    assert (code, seen.count("[Y/n]"), seen.count("Most US dollars")) == (0, 0, 0), seen
    assert "claude-iterate config -w other verification.checks --add 'npm test'" in seen


def test_everything_is_asked_twice_and_told_in_every_run(loop: Loop) -> None:
    """A no leads back to the question; once it is saved, each run says so in one line, and doctor names it."""
    prepared(loop)
    without_bwrap(loop)
    code, seen = on_terminal(loop, ["3", "n", "3", "y"], "run", "my-task")
    assert code == 0, seen
    assert seen.count("Are you sure?") == 2
    assert saved(loop)["claude"] == {"permission_mode": "bypassPermissions"}
    words = "⚠ Permission checks are off (claude.permission_mode is bypassPermissions): Claude can run any command."
    assert words in seen
    later = loop.run("--again")
    assert later.err.count("⚠") == 1
    assert f"{words} Use this only in a disposable sandbox." in later.err
    assert "permission checks are off: claude.permission_mode is bypassPermissions" in loop.call("doctor").out
    assert "Permission checks" not in loop.run("--dry-run").err


def without_bwrap(loop: Loop) -> None:
    """As on a computer on which no sandbox works."""
    folder = loop.folder / "bin"
    folder.mkdir()
    (folder / "bwrap").write_text("#!/bin/sh\nexit 1\n")
    (folder / "bwrap").chmod(0o755)
    loop.env["PATH"] = f"{folder}:{loop.env['PATH']}"


@needs_bwrap
def test_everything_is_offered_in_a_sandbox(loop: Loop) -> None:
    """Where one works: no second question, the sandbox is saved with the answer, and the run is in it."""
    prepared(loop)
    acts(loop, """report '{"complete": true, "iteration": "'$(id)'"}'""")
    loop.env["CLAUDE_ITERATE_SANDBOX__MOUNTS"] = f"{loop.folder}/agent:rw"
    code, seen = on_terminal(loop, ["3"], "run", "my-task")
    assert code == 0, seen
    assert "Are you sure?" not in seen
    assert "Permission checks are off" not in seen
    assert saved(loop)["claude"] == {"permission_mode": "bypassPermissions"}
    assert saved(loop)["sandbox"] == {"kind": "bwrap"}
    assert [event["sandbox"] for event in loop.events("RunStarted")] == ["bwrap"]


def test_setup_asks_nothing(loop: Loop) -> None:
    """What Claude may do is a question of the first run; a user who pastes two commands is not asked in between."""
    del loop.env["CLAUDE_ITERATE_CLAUDE__PERMISSION_MODE"]
    (loop.root / "task.md").write_text("- one\n")
    code, seen = on_terminal(loop, [], "setup", "my-task", "--from", "task.md")
    assert (code, "How much" in seen) == (0, False)
    assert "Next: claude-iterate run my-task" in seen


CLAUDE = """\
#!/bin/sh
if [ "$1" = --version ]; then echo "9.9.9 (Claude Code)"; exit; fi
exec {python} -P -m claude_iterate.fake_claude "$@"
"""


def installed(loop: Loop) -> None:
    """A shim called `claude` that calls Claude Code, as version managers have them."""
    prepared(loop)
    del loop.env["CLAUDE_ITERATE_CLAUDE__COMMAND"]
    program = loop.folder / "bin" / "claude"
    program.parent.mkdir()
    program.write_text(CLAUDE.format(python=sys.executable))
    program.chmod(0o755)
    loop.env["PATH"] = f"{program.parent}:{loop.env['PATH']}"


def test_a_run_that_could_write_nothing_is_refused(loop: Loop) -> None:
    """Before anything is paid or written, with the flags that decide; `default` is a decision, and so is a dry run."""
    installed(loop)
    before = sorted(loop.workspace.iterdir())
    done = loop.run()
    assert (done.code, done.out) == (2, "")
    assert "--permission-mode acceptEdits" in done.err
    assert "claude-iterate config -w my-task claude.permission_mode acceptEdits" in done.err
    assert sorted(loop.workspace.iterdir()) == before
    for decided in (["--permission-mode", "default"], ["--allow", "Read"], ["--dry-run"]):
        assert loop.run(*decided).code == 0, decided


@pytest.mark.parametrize(
    "document",
    [
        {"permissions": {"allow": ["Write"]}},
        {"permissions": {"defaultMode": "acceptEdits"}},
        {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "approve"}]}]}},
    ],
)
@pytest.mark.parametrize("moved", [False, True])
def test_claudes_own_settings_make_a_run_possible(loop: Loop, document: dict[str, Any], moved: bool) -> None:
    """Rules, a mode, or a hook that may allow things: it is not for us to refuse, also where `claude.env` says where
    these settings are."""
    installed(loop)
    folder = loop.home / ("elsewhere" if moved else ".claude")
    folder.mkdir()
    (folder / "settings.json").write_text(json.dumps(document))
    if moved:
        loop.call("config", "-w", "my-task", "claude.env.CLAUDE_CONFIG_DIR", str(folder))
    assert loop.run().code == 0


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
    screen.type("1\n\n")
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
    screen.type("1\n\n")
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
    screen.type("1\n\n")
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
    code, seen = on_terminal(loop, ["2", " , ", "", "npm test"], "run", "my-task")
    assert (code, seen.count("Name at least one")) == (0, 2)
    assert saved(loop)["claude"]["allowed_tools"] == ["Bash(npm test:*)"]
