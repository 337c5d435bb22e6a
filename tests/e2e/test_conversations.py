"""`setup` and `edit` on a real terminal: it is Claude's until Claude leaves, and so is every key that is pressed."""

from __future__ import annotations

import json
import os
import signal

import pytest

from tests.e2e.conftest import Loop, until
from tests.e2e.terminal import Open

WRITES = {"write": {"path": "INSTRUCTIONS.md", "text": "- tea\n"}}


@pytest.fixture(autouse=True)
def limit(loop: Loop) -> None:
    """With a limit of money set, no question for it follows."""
    loop.set(limits__max_cost_usd=5)


def counters(loop: Loop) -> tuple[int, int]:
    document = json.loads((loop.workspace / ".metadata.json").read_text())
    return document.get("setupIterations", 0), document.get("totalIterations", 0)


def activity(pid: int) -> str:
    """What a process does, in one letter: S sleeps, T is suspended."""
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0]


def test_setup_is_a_conversation(loop: Loop, terminal: Open) -> None:
    """A line says what will happen and how to leave. Claude gets the terminal, a short first message, and how to go
    about it in its system prompt; it writes the file. Then the questions that need no run."""
    del loop.env["CLAUDE_ITERATE_CLAUDE__PERMISSION_MODE"], loop.env["CLAUDE_ITERATE_LIMITS__MAX_COST_USD"]
    screen = terminal("setup", "my-task")
    screen.await_text("no limit): ")
    job = screen.job
    screen.type("5\n")
    assert screen.finish() == 0, screen.seen
    assert screen.seen.startswith("Claude will help you write INSTRUCTIONS.md. When the file is written, type /exit.")
    assert "I wrote sample instructions" in screen.seen
    assert (loop.workspace / "INSTRUCTIONS.md").read_text()
    assert counters(loop) == (1, 1)
    assert "Next: claude-iterate run my-task" in screen.seen
    assert json.loads((loop.workspace / ".metadata.json").read_text())["config"] == {"limits": {"max_cost_usd": 5.0}}
    call = loop.record(1)
    *flags, divider, prompt = call["argv"]
    assert divider == "--"
    assert prompt == 'Help me write the instructions of the task "my-task".'
    system = flags[flags.index("--append-system-prompt") + 1]
    assert 'Setup of the task "my-task"' in system
    assert "that `/exit` ends this conversation" in system
    assert not {"-p", "--print", "--output-format"} & set(flags)
    assert call["group"] == job, "Claude shares our process group"
    assert call["env"]["CLAUDE_ITERATE_WORKSPACE"] == str(loop.workspace)


def test_ctrl_c_is_for_claude(loop: Loop, terminal: Open) -> None:
    """The key reaches Claude and not us: what it wrote counts, and so does the setup (defect 21)."""
    loop.script([WRITES, {"touch": "working/ready"}, {"hang": True}])
    screen = terminal("setup", "my-task")
    until((loop.workspace / "working" / "ready").exists)
    screen.type("\x03")
    assert screen.finish() == 0, screen.seen
    assert "You pressed Ctrl-C" in screen.seen
    assert "Interrupted" not in screen.seen
    assert counters(loop) == (1, 1)
    loop.gone()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_us_ends_claude(loop: Loop, terminal: Open, number: int) -> None:
    """Claude goes first, even if it does not listen at once; then we do. The setup is counted."""
    loop.script([{"ignore": ["SIGINT"]}, {"touch": "working/ready"}, {"hang": True}])
    screen = terminal("setup", "my-task")
    until((loop.workspace / "working" / "ready").exists)
    os.kill(screen.job, number)
    assert screen.finish() == 143, screen.seen
    assert counters(loop) == (1, 1)
    loop.gone()


def test_killing_us_ends_claude(loop: Loop, terminal: Open) -> None:
    """The guardian sees it."""
    loop.script([{"touch": "working/ready"}, {"hang": True}])
    screen = terminal("setup", "my-task")
    until((loop.workspace / "working" / "ready").exists)
    os.kill(screen.job, signal.SIGKILL)
    loop.gone()


def test_what_claude_left_running_is_ended(loop: Loop, terminal: Open) -> None:
    """A tool in a session of its own carries the mark."""
    loop.script([{"grandchild": {"seconds": 300, "own_session": True}}, WRITES])
    assert terminal("setup", "my-task").finish() == 0
    assert loop.processes() == []


def test_nothing_was_written(loop: Loop, terminal: Open) -> None:
    """Exit code 1, the way on, and the new workspace stays."""
    loop.script([{"exit": 5}])
    screen = terminal("setup", "my-task")
    assert screen.finish() == 1
    assert "exit code 5" in screen.seen
    assert "Claude wrote no instructions" in screen.seen
    assert "claude-iterate setup my-task" in screen.seen
    assert counters(loop) == (1, 1)


def test_ctrl_z_suspends_us_too(loop: Loop, terminal: Open) -> None:
    """Else the shell would never get its terminal back; both go on together."""
    loop.script([WRITES, {"kill_self": "SIGSTOP"}])
    screen = terminal("setup", "my-task")
    screen.await_text("SUSPENDED")
    until(lambda: activity(loop.record(1)["pid"]) == "S")
    screen.type("\x03")
    assert screen.finish() == 0, screen.seen
    assert counters(loop) == (1, 1)


def test_the_terminal_is_given_back_as_it_was(loop: Loop, terminal: Open) -> None:
    """A Claude that is killed leaves the terminal raw; the questions that follow need it as it was."""
    loop.make()
    loop.claude("stty raw -echo\nkill -9 $$")
    screen = terminal("edit", "my-task")
    assert screen.finish() == 0, screen.seen
    assert "by signal 9" in screen.seen


def test_a_prompt_too_long_for_a_command_line(loop: Loop, terminal: Open) -> None:
    """It lies in a file while Claude needs it, and is gone afterwards."""
    loop.make()
    (loop.workspace / "prompts").mkdir()
    (loop.workspace / "prompts" / "edit.md").write_text("word " * 40_000)
    (loop.workspace / "prompts" / "workspace-system.md").write_text("rule " * 40_000)
    screen = terminal("edit", "my-task")
    assert screen.finish() == 0, screen.seen
    argv = loop.record(1)["argv"]
    assert argv[-1] == 'Help me improve the instructions of the task "my-task".'
    assert "--append-system-prompt-file" in argv
    assert list((loop.workspace / "working").iterdir()) == []


def test_without_claude_the_editor_opens(loop: Loop, terminal: Open) -> None:
    """One line says why; --editor asks for it outright."""
    loop.env["EDITOR"] = str(loop.executable("editor", 'echo "- written by $$" > "$1"'))
    screen = terminal("setup", "my-task", "--editor")
    assert screen.finish() == 0, screen.seen
    assert not loop.state.exists()
    loop.env["CLAUDE_ITERATE_CLAUDE__COMMAND"] = "no-such-claude"
    screen = terminal("setup", "my-task", "--force")
    assert screen.finish() == 0, screen.seen
    assert "Claude CLI not found" in screen.seen
    assert "Opening your editor instead" in screen.seen
    assert (loop.workspace / "INSTRUCTIONS.md").read_text().startswith("- written by ")
    assert (loop.workspace / "INSTRUCTIONS.md.bak").exists()


@pytest.mark.parametrize(
    ("editor", "said"),
    [("vi 'x", "No closing quotation."), ("""sh -c 'printf "\\377" > "$0"'""", "is not UTF-8 text")],
)
def test_an_editor_that_cannot_be_used(loop: Loop, terminal: Open, editor: str, said: str) -> None:
    """It is an error with the next step, and nothing is written."""
    loop.env["EDITOR"] = editor
    screen = terminal("setup", "my-task", "--editor")
    assert screen.finish() == 2, screen.seen
    assert said in screen.seen
    assert not (loop.workspace / "INSTRUCTIONS.md").exists()


def test_edit_is_a_conversation(loop: Loop, terminal: Open) -> None:
    """It says what changed and keeps the old text; a talk that changed nothing says that."""
    loop.make("- one\n")
    loop.script([{"write": {"path": "INSTRUCTIONS.md", "text": "- one\n- two\n"}}], [{"exit": 0}])
    screen = terminal("edit", "my-task")
    assert screen.finish() == 0, screen.seen
    assert "1 line added, 0 removed" in screen.seen
    assert (loop.workspace / "INSTRUCTIONS.md.bak").read_text() == "- one\n"
    screen = terminal("edit", "my-task")
    assert screen.finish() == 0
    assert "left as they were" in screen.seen
    assert counters(loop) == (2, 2)
    assert 'Revision of the instructions of "my-task"' in " ".join(loop.record(1)["argv"])


def test_a_busy_workspace_is_left_alone(loop: Loop, terminal: Open) -> None:
    """No run begins during a conversation about the instructions, and the other way round."""
    loop.make()
    loop.script([{"touch": "working/ready"}, {"hang": True}])
    screen = terminal("edit", "my-task")
    until((loop.workspace / "working" / "ready").exists)
    done = loop.run()
    assert (done.code, "already running" in done.err) == (1, True)
    screen.type("\x03")
    assert screen.finish() == 0
