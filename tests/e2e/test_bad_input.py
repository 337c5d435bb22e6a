"""Every problem is reported in one line with the next step, before anything is written."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import DONE, Loop


def untouched(loop: Loop, *words: str) -> Any:
    """How the command ended, which made no file."""
    before = sorted(str(path) for path in loop.root.rglob("*"))
    done = loop.call(*words)
    assert sorted(str(path) for path in loop.root.rglob("*")) == before
    assert "Traceback" not in done.err
    return done


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--", ".."], ""),
        (["--", "a/b"], "a/b"),
        (["--", ""], ""),
        (["my-task", "-m", "-1"], "-m"),
        (["my-task", "-d", "1e9x"], "-d"),
        (["my-task", "-v", "--output", "quiet"], "--verbose"),
        (["my-task", "--delay", "3", "--no-delay"], "--delay"),
        (["my-task", "--permission-mode", "yolo"], "--permission-mode"),
        (["my-task", "--nonsense"], "--nonsense"),
    ],
)
def test_bad_words_are_refused(loop: Loop, words: list[str], named: str) -> None:
    """Exit 2, and the message names the word."""
    loop.make()
    done = untouched(loop, "run", *words)
    assert (done.code, named in done.err) == (2, True)


def instructions(text: bytes) -> Callable[[Loop], object]:
    return lambda loop: loop.layout.instructions.write_bytes(text)


def metadata(text: str) -> Callable[[Loop], object]:
    return lambda loop: loop.layout.metadata.write_text(text)


def settings(document: dict[str, Any]) -> Callable[[Loop], object]:
    return lambda loop: (loop.root / ".claude-iterate.json").write_text(json.dumps(document))


def environment(**variables: str) -> Callable[[Loop], object]:
    return lambda loop: loop.env.update({f"CLAUDE_ITERATE_{name}": value for name, value in variables.items()})


def no_claude(loop: Loop) -> None:
    loop.env |= {"CLAUDE_ITERATE_CLAUDE__COMMAND": "claude", "PATH": str(loop.folder)}


def claude(text: str, mode: int = 0o755) -> Callable[[Loop], object]:
    def install(loop: Loop) -> None:
        program = loop.executable("claude", text)
        program.chmod(mode)
        loop.set(claude__command=str(program))

    return install


INIT = "claude-iterate init my-task --force"
SPOILED: dict[str, tuple[Callable[[Loop], object], list[str]]] = {
    "no workspace": (lambda loop: shutil.rmtree(loop.workspace), ["Error: Workspace not found: my-task\n"]),
    "no instructions": (
        lambda loop: loop.layout.instructions.unlink(),
        ["Instructions not found. Run setup first: claude-iterate setup my-task"],
    ),
    "empty": (instructions(b" \n\t"), ["is empty"]),
    "too long": (instructions(b"x" * 10_000_001), ["is larger than 10 MB", "files of its own"]),
    "not text": (instructions(b"caf\xe9"), ["not valid UTF-8"]),
    "torn metadata": (metadata('{"name": "my-ta'), [INIT]),
    "no table": (metadata('{"format": 3, "name": "my-task", "config": []}'), ["`config` must be an object", INIT]),
    "torn settings": (
        lambda loop: (loop.root / ".claude-iterate.toml").write_text("delay = 3\nclaude = [\n"),
        [".claude-iterate.toml"],
    ),
    "a NUL": (settings({"claude": {"env": {"A": "x\0y"}}}), ["claude.env"]),
    "an address": (settings({"notifyUrl": "ntfy.sh/topic"}), ["notifyUrl", "https://ntfy.sh/my-topic"]),
    "a variable": (environment(DELAY="banana"), ["CLAUDE_ITERATE_DELAY"]),
    "no Claude": (no_claude, ["Claude CLI not found. Make sure 'claude' is installed and in PATH."]),
    "no program": (claude("true", mode=0o400), ["chmod +x"]),
    "a Claude that fails": (claude("echo 'no node' >&2; exit 3"), ["no node"]),
}


@pytest.mark.parametrize("what", SPOILED)
def test_what_a_run_cannot_begin_with_is_named(loop: Loop, what: str) -> None:
    """With what to do."""
    loop.make()
    spoil, words = SPOILED[what]
    spoil(loop)
    done = untouched(loop, "run", "my-task")
    assert (done.code, [word for word in words if word not in done.err]) == (1, [])


def test_init_repairs_metadata_that_hold_no_settings(loop: Loop) -> None:
    """No command takes them silently until then."""
    loop.make()
    SPOILED["no table"][0](loop)
    before = loop.layout.metadata.read_bytes()
    assert INIT in loop.call("config", "delay", "3", "--workspace", "my-task").err
    assert loop.layout.metadata.read_bytes() == before
    assert loop.call("init", "my-task", "--force").code == 0
    assert loop.call("config", "delay", "--workspace", "my-task").code == 0


def test_instructions_that_are_a_folder(loop: Loop) -> None:
    """A folder is not a task, and `setup` writes nothing in its place."""
    loop.make()
    loop.layout.instructions.unlink()
    loop.layout.instructions.mkdir()
    done = untouched(loop, "run", "my-task")
    assert (done.code, "INSTRUCTIONS.md is a folder, not a file" in done.err) == (1, True)
    (task := loop.folder / "task").write_text("- one\n")
    refused = untouched(loop, "setup", "my-task", "--from", str(task), "--force")
    assert (refused.code, "Move it away" in refused.err) == (1, True)


def is_named(done: Any, path: Path) -> bool:
    """The message names the file, and the hint is a command that moves it away."""
    return done.code == 1 and f"{path} is a link or a file" in done.err and f"mv {path} " in done.err


IN_THE_WAY = {
    "workspaces/my-task/runs": ["run my-task", "run my-task --dry-run"],
    "workspaces/my-task/working": ["init my-task --force"],
    "archive": ["archive list", "archive save my-task"],
    "workspaces": ["list", "init other", "run my-task"],
    "templates": ["template list", "template save my-task"],
}


@pytest.mark.parametrize("folder", IN_THE_WAY)
def test_a_file_where_a_folder_belongs_is_named(loop: Loop, folder: str) -> None:
    """By every command that needs the folder, whether it lists or writes."""
    loop.make()
    path = loop.root / "claude-iterate" / folder
    if path.exists():
        path.rename(loop.root / "aside")
    path.touch()
    for command in IN_THE_WAY[folder]:
        done = loop.call(*command.split())
        assert is_named(done, path), (command, done)


def test_a_file_where_requests_and_notes_belong_is_named(loop: Loop) -> None:
    """The run says that no request can reach it, and so does the command that asks; a note is refused."""
    loop.make()
    loop.script([{"init": {}}, {"wait_for": "go"}, *DONE[1:]])
    for name in ("control", "notes"):
        (loop.workspace / name).touch()
    process = loop.start_run()
    loop.until(lambda: loop.events("IterationStarted"), "the iteration")
    asked, noted = loop.call("pause", "my-task"), loop.call("note", "my-task", "Use tabs.")
    loop.go()
    assert loop.finish(process).code == 0
    assert is_named(asked, loop.workspace / "control")
    assert (noted.code, "notes/ is a link or a file" in noted.err, str(loop.workspace) in noted.err) == (1, True, True)
