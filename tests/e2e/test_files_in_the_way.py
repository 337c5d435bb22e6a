"""A file where a folder of ours belongs: every command that needs the folder names the file and says what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Loop

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
    (loop.workspace / "go").touch()
    assert loop.finish(process).code == 0
    assert named(asked, loop.workspace / "control")
