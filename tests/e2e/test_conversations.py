"""`setup` and `edit` on a real terminal: it is Claude's until Claude leaves, and so is every key that is pressed."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator

import pytest

from tests.e2e.conftest import PATIENCE, Loop, until

# Makes the terminal the controlling one, as a terminal window does: only then does Ctrl-C become a signal.
OPEN = "import fcntl, os, sys, termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
DIRECTLY = OPEN + "os.execv(sys.argv[1], sys.argv[1:])"
# A shell with just enough job control: tells when its job was suspended, and continues it when told to.
FROM_A_SHELL = (
    OPEN
    + """
import pathlib, signal, time
folder = pathlib.Path(os.environ["CLAUDE_ITERATE_FAKE_STATE"])
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
job = os.fork()
if not job:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.argv[1], sys.argv[1:])
_, status = os.waitpid(job, os.WUNTRACED)
if os.WIFSTOPPED(status):
    (folder / "suspended.mark").touch()
    while not (folder / "go.mark").exists():
        time.sleep(0.01)
    os.killpg(job, signal.SIGCONT)
    _, status = os.waitpid(job, 0)
sys.exit(os.waitstatus_to_exitcode(status))
"""
)
WRITES = {"write": {"path": "INSTRUCTIONS.md", "text": "- tea\n"}}


class Terminal:
    """A terminal window with one command in it."""

    def __init__(self, loop: Loop, arguments: tuple[str, ...], opening: str) -> None:
        self.keyboard, screen = pty.openpty()
        self.settings = termios.tcgetattr(self.keyboard)
        program = [sys.executable, "-m", "claude_iterate", *arguments]
        self.process = subprocess.Popen(
            [sys.executable, "-c", opening, *program],
            cwd=loop.root,
            env=loop.env,
            stdin=screen,
            stdout=screen,
            stderr=screen,
        )
        loop.started.append(self.process)
        os.close(screen)
        self.seen = ""

    def press(self, keys: str) -> None:
        os.write(self.keyboard, keys.encode())

    def await_words(self, words: str) -> None:
        until(lambda: self._read() and words in self.seen)

    def close(self) -> int:
        """Read on until the command has ended; its exit code."""
        deadline = time.monotonic() + PATIENCE
        while self.process.poll() is None and time.monotonic() < deadline:
            self._read()
        while self._read():
            pass
        return self.process.wait(timeout=1)

    def _read(self) -> bool:
        """Take what is on the screen; False at its end."""
        if not select.select([self.keyboard], [], [], 0.05)[0]:
            return self.process.poll() is None
        try:
            part = os.read(self.keyboard, 65536)
        except OSError:  # nobody is left at the other end
            return False
        self.seen += part.decode("utf-8", "replace")
        return bool(part)


OpenWindow = Callable[..., Terminal]


@pytest.fixture
def window(loop: Loop) -> Iterator[OpenWindow]:
    """Open a terminal window with a command. The limit of money is set, so no question for it follows."""
    loop.env["CLAUDE_ITERATE_LIMITS__MAX_COST_USD"] = "5"
    opened: list[Terminal] = []

    def open_window(*arguments: str, opening: str = DIRECTLY) -> Terminal:
        opened.append(Terminal(loop, arguments, opening))
        return opened[-1]

    yield open_window
    for terminal in opened:
        os.close(terminal.keyboard)


def counters(loop: Loop) -> tuple[int, int]:
    document = json.loads((loop.workspace / ".metadata.json").read_text())
    return document.get("setupIterations", 0), document.get("totalIterations", 0)


def activity(pid: int) -> str:
    """What a process does, in one letter: S sleeps, T is suspended."""
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0]


def test_setup_is_a_conversation(loop: Loop, window: OpenWindow) -> None:
    """A line says what will happen and how to leave. Claude gets the terminal, a short first message, and how to go
    about it in its system prompt; it writes the file. Then the questions that need no run."""
    del loop.env["CLAUDE_ITERATE_CLAUDE__PERMISSION_MODE"], loop.env["CLAUDE_ITERATE_LIMITS__MAX_COST_USD"]
    terminal = window("setup", "my-task")
    terminal.await_words("no limit): ")
    terminal.press("5\n")
    assert terminal.close() == 0, terminal.seen
    assert terminal.seen.startswith("Claude will help you write INSTRUCTIONS.md. When the file is written, type /exit.")
    assert "I wrote sample instructions" in terminal.seen
    assert (loop.workspace / "INSTRUCTIONS.md").read_text()
    assert counters(loop) == (1, 1)
    assert "Next: claude-iterate run my-task" in terminal.seen
    assert json.loads((loop.workspace / ".metadata.json").read_text())["config"] == {"limits": {"max_cost_usd": 5.0}}
    call = loop.record(1)
    *flags, divider, prompt = call["argv"]
    assert divider == "--"
    assert prompt == 'Help me write the instructions of the task "my-task".'
    system = flags[flags.index("--append-system-prompt") + 1]
    assert 'Setup of the task "my-task"' in system
    assert "that `/exit` ends this conversation" in system
    assert not {"-p", "--print", "--output-format"} & set(flags)
    assert call["group"] == terminal.process.pid, "Claude shares our process group"
    assert call["env"]["CLAUDE_ITERATE_WORKSPACE"] == str(loop.workspace)


def test_ctrl_c_is_for_claude(loop: Loop, window: OpenWindow) -> None:
    """The key reaches Claude and not us: what it wrote counts, and so does the setup (defect 21)."""
    loop.script([WRITES, {"touch": "working/ready"}, {"hang": True}])
    terminal = window("setup", "my-task")
    until((loop.workspace / "working" / "ready").exists)
    terminal.press("\x03")
    assert terminal.close() == 0, terminal.seen
    assert "You pressed Ctrl-C" in terminal.seen
    assert "Interrupted" not in terminal.seen
    assert counters(loop) == (1, 1)
    loop.gone()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_us_ends_claude(loop: Loop, window: OpenWindow, number: int) -> None:
    """Claude goes first, even if it does not listen at once; then we do. The setup is counted."""
    loop.script([{"ignore": ["SIGINT"]}, {"touch": "working/ready"}, {"hang": True}])
    terminal = window("setup", "my-task")
    until((loop.workspace / "working" / "ready").exists)
    terminal.process.send_signal(number)
    assert terminal.close() == 143, terminal.seen
    assert counters(loop) == (1, 1)
    loop.gone()


def test_killing_us_ends_claude(loop: Loop, window: OpenWindow) -> None:
    """The guardian sees it."""
    loop.script([{"touch": "working/ready"}, {"hang": True}])
    terminal = window("setup", "my-task")
    until((loop.workspace / "working" / "ready").exists)
    terminal.process.kill()
    terminal.close()
    loop.gone()


def test_what_claude_left_running_is_ended(loop: Loop, window: OpenWindow) -> None:
    """A tool in a session of its own carries the mark."""
    loop.script([{"grandchild": {"seconds": 300, "own_session": True}}, WRITES])
    assert window("setup", "my-task").close() == 0
    assert loop.processes() == []


def test_nothing_was_written(loop: Loop, window: OpenWindow) -> None:
    """Exit code 1, the way on, and the new workspace stays."""
    loop.script([{"exit": 5}])
    terminal = window("setup", "my-task")
    assert terminal.close() == 1
    assert "exit code 5" in terminal.seen
    assert "Claude wrote no instructions" in terminal.seen
    assert "claude-iterate setup my-task" in terminal.seen
    assert counters(loop) == (1, 1)


def test_ctrl_z_suspends_us_too(loop: Loop, window: OpenWindow) -> None:
    """Else the shell would never get its terminal back; both go on together."""
    loop.script([WRITES, {"kill_self": "SIGSTOP"}])
    terminal = window("setup", "my-task", opening=FROM_A_SHELL)
    until((loop.state / "suspended.mark").exists)
    (loop.state / "go.mark").touch()
    until(lambda: activity(loop.record(1)["pid"]) == "S")
    terminal.press("\x03")
    assert terminal.close() == 0, terminal.seen
    assert counters(loop) == (1, 1)


def test_the_terminal_is_given_back_as_it_was(loop: Loop, window: OpenWindow) -> None:
    """A Claude that is killed leaves the terminal raw; the questions that follow need it as it was."""
    loop.make()
    program = loop.folder / "rude"
    program.write_text("#!/bin/sh\nstty raw -echo\nkill -9 $$\n")
    program.chmod(0o755)
    loop.env["CLAUDE_ITERATE_CLAUDE__COMMAND"] = str(program)
    terminal = window("edit", "my-task")
    assert terminal.close() == 0, terminal.seen
    assert "by signal 9" in terminal.seen
    assert termios.tcgetattr(terminal.keyboard) == terminal.settings


def test_a_prompt_too_long_for_a_command_line(loop: Loop, window: OpenWindow) -> None:
    """It lies in a file while Claude needs it, and is gone afterwards."""
    loop.make()
    (loop.workspace / "prompts").mkdir()
    (loop.workspace / "prompts" / "edit.md").write_text("word " * 40_000)
    (loop.workspace / "prompts" / "workspace-system.md").write_text("rule " * 40_000)
    terminal = window("edit", "my-task")
    assert terminal.close() == 0, terminal.seen
    argv = loop.record(1)["argv"]
    assert argv[-1] == 'Help me improve the instructions of the task "my-task".'
    assert "--append-system-prompt-file" in argv
    assert list((loop.workspace / "working").iterdir()) == []


def test_without_claude_the_editor_opens(loop: Loop, window: OpenWindow) -> None:
    """One line says why; --editor asks for it outright."""
    editor = loop.folder / "editor"
    editor.write_text('#!/bin/sh\necho "- written by $$" > "$1"\n')
    editor.chmod(0o755)
    loop.env["EDITOR"] = str(editor)
    terminal = window("setup", "my-task", "--editor")
    assert terminal.close() == 0, terminal.seen
    assert not loop.state.exists()
    loop.env["CLAUDE_ITERATE_CLAUDE__COMMAND"] = "no-such-claude"
    terminal = window("setup", "my-task", "--force")
    assert terminal.close() == 0, terminal.seen
    assert "Claude CLI not found" in terminal.seen
    assert "your editor opens" in terminal.seen
    assert (loop.workspace / "INSTRUCTIONS.md").read_text().startswith("- written by ")
    assert (loop.workspace / "INSTRUCTIONS.md.bak").exists()


@pytest.mark.parametrize(
    ("editor", "said"),
    [("vi 'x", "No closing quotation."), ("""sh -c 'printf "\\377" > "$0"'""", "is not UTF-8 text")],
)
def test_an_editor_that_cannot_be_used(loop: Loop, window: OpenWindow, editor: str, said: str) -> None:
    """It is an error with the next step, and nothing is written."""
    loop.env["EDITOR"] = editor
    terminal = window("setup", "my-task", "--editor")
    assert terminal.close() == 2, terminal.seen
    assert said in terminal.seen
    assert not (loop.workspace / "INSTRUCTIONS.md").exists()


def test_edit_is_a_conversation(loop: Loop, window: OpenWindow) -> None:
    """It says what changed and keeps the old text; a talk that changed nothing says that."""
    loop.make("- one\n")
    loop.script([{"write": {"path": "INSTRUCTIONS.md", "text": "- one\n- two\n"}}], [{"exit": 0}])
    terminal = window("edit", "my-task")
    assert terminal.close() == 0, terminal.seen
    assert "1 line added, 0 removed" in terminal.seen
    assert (loop.workspace / "INSTRUCTIONS.md.bak").read_text() == "- one\n"
    terminal = window("edit", "my-task")
    assert terminal.close() == 0
    assert "left as they were" in terminal.seen
    assert counters(loop) == (2, 2)
    assert 'Revision of the instructions of "my-task"' in " ".join(loop.record(1)["argv"])


def test_a_busy_workspace_is_left_alone(loop: Loop, window: OpenWindow) -> None:
    """No run begins during a conversation about the instructions, and the other way round."""
    loop.make()
    loop.script([{"touch": "working/ready"}, {"hang": True}])
    terminal = window("edit", "my-task")
    until((loop.workspace / "working" / "ready").exists)
    done = loop.run()
    assert (done.code, "already running" in done.err) == (1, True)
    terminal.press("\x03")
    assert terminal.close() == 0
