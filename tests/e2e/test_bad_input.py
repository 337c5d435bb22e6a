"""Every problem is reported in one line with the next step, before anything is written."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Loop


def untouched(loop: Loop, act: Callable[[], Any]) -> Any:
    """The act's outcome, having made no file."""
    before = sorted(str(path) for path in loop.root.rglob("*"))
    done = act()
    assert sorted(str(path) for path in loop.root.rglob("*")) == before
    assert "Traceback" not in done.err
    return done


@pytest.mark.parametrize("name", ["..", "a/b", "-x", "x" * 300, ".hidden", "", "a b"])
def test_bad_names_are_refused(loop: Loop, name: str) -> None:
    """In `run` as everywhere, exit 2."""
    loop.make()
    assert untouched(loop, lambda: loop.call("run", "--", name)).code == 2


@pytest.mark.parametrize(
    "flags",
    [
        ["-m", "abc"],
        ["-m", "-1"],
        ["-d", "1e9x"],
        ["-d", "-5"],
        ["--output", "loud"],
        ["-v", "-q"],
        ["-v", "--output", "quiet"],
        ["--delay", "3", "--no-delay"],
        ["--max-cost", "free"],
        ["--permission-mode", "yolo"],
        ["--nonsense"],
    ],
)
def test_bad_flags_are_refused(loop: Loop, flags: list[str]) -> None:
    """Exit 2, and the message names the flag."""
    loop.make()
    done = untouched(loop, lambda: loop.run(*flags))
    assert done.code == 2
    assert flags[0] in done.err or "--verbose" in done.err


def test_no_workspace(loop: Loop) -> None:
    """Says so, and how to make one."""
    done = untouched(loop, loop.run)
    assert (done.code, done.err.splitlines()[0]) == (1, "Error: Workspace not found: my-task")


def test_no_instructions(loop: Loop) -> None:
    """The seed's words."""
    loop.make()
    (loop.workspace / "INSTRUCTIONS.md").unlink()
    done = untouched(loop, loop.run)
    assert done.code == 1
    assert "Instructions not found. Run setup first: claude-iterate setup my-task" in done.err


@pytest.mark.parametrize(
    ("content", "words"), [(b"", "is empty"), (b" \n\t", "is empty"), (b"caf\xe9", "not valid UTF-8")]
)
def test_useless_instructions(loop: Loop, content: bytes, words: str) -> None:
    """Empty, or not text."""
    loop.make(content)
    done = untouched(loop, loop.run)
    assert (done.code, words in done.err) == (1, True)


def test_instructions_that_are_a_folder(loop: Loop) -> None:
    """A folder is not a task, and `setup` writes nothing in its place."""
    loop.make()
    (loop.workspace / "INSTRUCTIONS.md").unlink()
    (loop.workspace / "INSTRUCTIONS.md").mkdir()
    done = untouched(loop, loop.run)
    assert (done.code, "is a folder" in done.err) == (1, True)
    (task := loop.folder / "task").write_text("- one\n")
    refused = untouched(loop, lambda: loop.call("setup", "my-task", "--from", str(task), "--force"))
    assert (refused.code, "Move it away" in refused.err) == (1, True)


def test_torn_metadata(loop: Loop) -> None:
    """Named, with the command that fixes it."""
    loop.make()
    (loop.workspace / ".metadata.json").write_text('{"name": "my-ta')
    done = untouched(loop, loop.run)
    assert (done.code, "init my-task --force" in done.err) == (1, True)


@pytest.mark.parametrize("config", [[], "delay", 3, False])
def test_settings_of_a_workspace_that_are_not_a_table(loop: Loop, config: Any) -> None:
    """File, key and expectation; no command takes it silently, and `init --force` makes it good."""
    loop.make()
    path = loop.workspace / ".metadata.json"
    path.write_text(json.dumps({"format": 3, "name": "my-task", "mode": "loop", "config": config}))
    before = path.read_bytes()
    done = [untouched(loop, loop.run), loop.call("config", "delay", "3", "--workspace", "my-task")]
    for answer in done:
        assert (answer.code, f"{path}: `config` must be an object" in answer.err) == (1, True)
        assert "init my-task --force" in answer.err
    assert path.read_bytes() == before
    assert loop.call("init", "my-task", "--force").code == 0
    assert loop.call("config", "delay", "--workspace", "my-task").code == 0


def test_a_torn_settings_file(loop: Loop) -> None:
    """File and line."""
    loop.make()
    (loop.root / ".claude-iterate.toml").write_text("delay = 3\nclaude = [\n")
    done = untouched(loop, loop.run)
    assert (done.code, ".claude-iterate.toml" in done.err) == (1, True)


def test_a_bad_variable_is_named(loop: Loop) -> None:
    """`CLAUDE_ITERATE_DELAY=banana`."""
    loop.make()
    loop.env["CLAUDE_ITERATE_DELAY"] = "banana"
    done = untouched(loop, loop.run)
    assert (done.code, "CLAUDE_ITERATE_DELAY" in done.err) == (1, True)


def test_no_claude(loop: Loop) -> None:
    """The seed's words, before anything is written."""
    loop.make()
    loop.env |= {"CLAUDE_ITERATE_CLAUDE__COMMAND": "claude", "PATH": str(loop.folder)}
    done = untouched(loop, loop.run)
    assert done.code == 1
    assert "Claude CLI not found. Make sure 'claude' is installed and in PATH." in done.err


def program(loop: Loop, text: str, mode: int) -> None:
    path = loop.folder / "claude"
    path.write_text(text)
    path.chmod(mode)
    loop.env["CLAUDE_ITERATE_CLAUDE__COMMAND"] = str(path)


def test_a_claude_that_is_not_executable(loop: Loop) -> None:
    """Says how to make it so."""
    loop.make()
    program(loop, "#!/bin/sh\n", stat.S_IRUSR)
    done = untouched(loop, loop.run)
    assert (done.code, "chmod +x" in done.err) == (1, True)


def test_a_claude_whose_version_fails(loop: Loop) -> None:
    """Its words are shown."""
    loop.make()
    program(loop, "#!/bin/sh\necho 'no node' >&2; exit 3\n", 0o755)
    done = untouched(loop, loop.run)
    assert (done.code, "no node" in done.err) == (1, True)


PAUSED: list[dict[str, Any]] = [{"init": {}}, {"wait_for": "go"}, {"status": {"complete": True}}, {"result": {}}]


def named(done: Any, path: Path) -> bool:
    """The message names the file, and the hint is a command that moves it away."""
    return done.code == 1 and f"{path} is a link or a file" in done.err and f"mv {path} " in done.err


@pytest.mark.parametrize("flags", [[], ["--dry-run"]])
def test_runs(loop: Loop, flags: list[str]) -> None:
    """Also for a dry run, which writes there first."""
    loop.make()
    (loop.workspace / "runs").touch()
    assert named(loop.run(*flags), loop.workspace / "runs")


def test_working(loop: Loop) -> None:
    """It is made by `init --force`."""
    loop.make()
    (loop.workspace / "working").touch()
    assert named(loop.call("init", "my-task", "--force"), loop.workspace / "working")


def test_notes(loop: Loop) -> None:
    """A note that could not be read is refused."""
    loop.make()
    (loop.workspace / "notes").touch()
    done = loop.call("note", "my-task", "Use tabs.")
    assert (done.code, "notes/ is a link or a file" in done.err, str(loop.workspace) in done.err) == (1, True, True)


@pytest.mark.parametrize("folder", ["archive", "workspaces", "templates"])
def test_folders_of_the_project(loop: Loop, folder: str) -> None:
    """Whether the command lists or writes."""
    loop.make()
    path = loop.root / "claude-iterate" / folder
    commands = {
        "archive": [["archive", "list"], ["archive", "save", "my-task"]],
        "workspaces": [["list"], ["init", "other"], ["run", "my-task"]],
        "templates": [["template", "list"], ["template", "save", "my-task"]],
    }
    if path.exists():
        path.rename(loop.root / "aside")
    path.touch()
    for command in commands[folder]:
        done = loop.call(*command)
        assert named(done, path), (command, done)


def test_control(loop: Loop) -> None:
    """The run says that no request can reach it, and so does the command that asks."""
    loop.make()
    loop.script(PAUSED)
    (loop.workspace / "control").touch()
    process = loop.start("run", "my-task")
    while not loop.events("IterationStarted"):
        assert process.poll() is None
    asked = loop.call("pause", "my-task")
    loop.go()
    assert loop.finish(process).code == 0
    assert named(asked, loop.workspace / "control")
