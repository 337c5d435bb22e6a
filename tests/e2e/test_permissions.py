"""How much Claude may do is asked once, on a terminal; without one a run that could do nothing is refused."""

from __future__ import annotations

import json
import re
import sys
from itertools import count
from typing import Any

import pytest

from tests.bubblewrap import needs_bwrap
from tests.e2e.agents import acts
from tests.e2e.conftest import DONE, Loop, until
from tests.e2e.terminal import Open, Terminal

QUESTION = re.compile(r"(Your choice|Commands, separated|Are you sure|Prove the work|Most US dollars)[^\n]*[\])]: ")


def on_terminal(loop: Loop, answers: list[str], *arguments: str) -> tuple[int, str]:
    """Run on a pseudo-terminal and answer each question when it is asked; when the answers are used up, by Enter."""
    screen = Terminal(loop, *arguments)
    for asked in count():
        until(lambda: len(QUESTION.findall(screen.seen)) > asked or screen.process.poll() is not None)  # noqa: B023
        if screen.process.poll() is not None:
            break
        screen.type((answers.pop(0) if answers else "") + "\n")
    code = screen.finish()
    screen.close()
    return code, screen.seen


def prepared(loop: Loop) -> None:
    loop.make()
    loop.script(DONE)
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
    loop.executable("npm", "exit 0")
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
    loop.executable("bwrap", "exit 1")
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


def installed(loop: Loop) -> None:
    """A shim called `claude` that calls Claude Code, as version managers have them."""
    prepared(loop)
    del loop.env["CLAUDE_ITERATE_CLAUDE__COMMAND"]
    version = 'if [ "$1" = --version ]; then echo "9.9.9 (Claude Code)"; exit; fi'
    loop.executable("claude", f'{version}\nexec {sys.executable} -P -m claude_iterate.fake_claude "$@"')


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
def test_claudes_own_settings_make_a_run_possible(loop: Loop, document: dict[str, Any]) -> None:
    """Rules, a mode, or a hook that may allow things: it is not for us to refuse, wherever `claude.env` says that these
    settings are."""
    installed(loop)
    folder = loop.home / "elsewhere"
    folder.mkdir()
    (folder / "settings.json").write_text(json.dumps(document))
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


def test_skipping_permissions_warns_and_is_not_saved(loop: Loop) -> None:
    """The flag reaches Claude for this run only."""
    prepared(loop)
    done = loop.run("--dangerously-skip-permissions")
    assert "--dangerously-skip-permissions" in loop.record(1)["argv"]
    assert "⚠" in done.err
    assert saved(loop) == {}


@pytest.mark.parametrize("flags", [("--dry-run",), ("--permission-mode", "acceptEdits")])
def test_nothing_is_asked_that_needs_no_answer(loop: Loop, flags: tuple[str, ...]) -> None:
    """A dry run needs no permission, and flags say what Claude may do."""
    prepared(loop)
    code, seen = on_terminal(loop, [], "run", "my-task", *flags)
    assert (code, "How much" in seen) == (0, False)


def test_an_open_question_blocks_no_other_command(loop: Loop, terminal: Open) -> None:
    """The lock is taken after the answer; what the other command wrote is kept beside the answer."""
    prepared(loop)
    screen = terminal("run", "my-task")
    screen.await_text("Your choice")
    assert loop.call("config", "-w", "my-task", "delay", "0").code == 0
    screen.type("1\n\n")
    assert screen.finish() == 0
    assert saved(loop) == {"delay": 0.0, "claude": {"permission_mode": "acceptEdits"}}


def test_what_was_set_while_the_question_was_open_counts(loop: Loop, terminal: Open) -> None:
    """The run obeys it."""
    prepared(loop)
    loop.script([{"init": {}}, {"status": {"complete": False}}, {"result": {}}])
    screen = terminal("run", "my-task")
    screen.await_text("Your choice")
    assert loop.call("config", "-w", "my-task", "max_iterations", "2").code == 0
    screen.type("1\n\n")
    assert screen.finish() == 0
    assert loop.events("RunFinished")[-1]["iterations"] == 2


def test_a_workspace_that_was_removed_while_the_question_was_open(loop: Loop, terminal: Open) -> None:
    """The message says that it is gone, and nothing is made in its place."""
    prepared(loop)
    screen = terminal("run", "my-task")
    screen.await_text("Your choice")
    assert loop.call("clean", "my-task", "--force").code == 0
    screen.type("1\n\n")
    screen.await_text("is gone")
    assert screen.finish() == 1
    assert not loop.workspace.exists()


def test_nothing_is_asked_for_a_workspace_that_is_running(loop: Loop) -> None:
    """The user is not asked in vain: the answer would be lost."""
    prepared(loop)
    loop.script([{"init": {}}, {"touch": "ready"}, {"wait_for": "go"}, *DONE[1:]])
    process = loop.working("--permission-mode", "acceptEdits")
    code, seen = on_terminal(loop, [], "run", "my-task")
    assert (code, "already running" in seen, "How much" in seen) == (1, True, False)
    loop.go()
    assert loop.finish(process).code == 0


def test_naming_no_command_is_not_an_answer(loop: Loop) -> None:
    """Choice 2 without a command asks again and says why."""
    prepared(loop)
    code, seen = on_terminal(loop, ["2", " , ", "", "npm test"], "run", "my-task")
    assert (code, seen.count("Name at least one")) == (0, 2)
    assert saved(loop)["claude"]["allowed_tools"] == ["Bash(npm test:*)"]
