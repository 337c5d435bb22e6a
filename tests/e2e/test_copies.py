"""A live run is never touched from a copy of its workspace, and it notices when its own folder is taken away."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from claude_iterate.system import processes
from tests.e2e.conftest import DONE, HANGING, Loop, until


@pytest.fixture
def live(loop: Loop) -> subprocess.Popen[bytes]:
    """A run whose Claude is busy."""
    loop.make()
    loop.script(HANGING, DONE)
    process: subprocess.Popen[bytes] = loop.working()
    return process


def claude(loop: Loop) -> int:
    """The busy one's number."""
    return int(loop.events("AgentStarted")[0]["pid"])


def test_a_copy_does_not_touch_the_run_that_it_was_copied_from(loop: Loop, live: subprocess.Popen[bytes]) -> None:
    """`doctor --fix`, `show` and `run` say what it is; once it is reset, it runs beside the original."""
    shutil.copytree(loop.workspace, loop.workspace.parent / "copy")
    told = loop.call("doctor", "--fix").out
    assert f"workspace copy: it is a copy of a workspace that is running now (pid {live.pid})" in told
    assert "workspace my-task" not in told
    assert f"a copy of a workspace that is running now (pid {live.pid})" in loop.call("show", "copy").out
    rows = {row["name"]: row for row in loop.document("list")["workspaces"]}
    assert [rows[name]["state"] for name in ("my-task", "copy")] == ["running", "copy"]
    assert rows["copy"]["next"] == "claude-iterate reset copy"
    refused = loop.call("run", "copy")
    assert (refused.code, "claude-iterate reset copy" in refused.err) == (1, True)
    assert loop.call("verify", "copy").code == 1
    assert loop.call("reset", "copy").code == 0
    assert "workspace copy" not in loop.call("doctor").out
    shown = loop.call("show", "copy").out
    assert ("Status: new" in shown, "Last run, before the reset" in shown) == (True, True)
    assert loop.call("run", "copy").code == 0
    assert live.poll() is None
    assert processes.is_alive(claude(loop))


def test_a_copied_project_is_a_copy_too(loop: Loop, live: subprocess.Popen[bytes]) -> None:
    """Wherever it lies; and when the original's runner is dead, the copy goes on where that was."""
    elsewhere = loop.folder / "elsewhere"
    shutil.copytree(loop.root, elsewhere)
    loop.call("-C", str(elsewhere), "doctor", "--fix")
    assert loop.call("-C", str(elsewhere), "run", "my-task").code == 1
    assert processes.is_alive(claude(loop))
    loop.kill(live)
    done = loop.call("-C", str(elsewhere), "run", "my-task")
    assert (done.code, "Continuing run" in done.err) == (0, True)


def test_a_workspace_that_is_moved_under_a_run_keeps_its_lock(loop: Loop, live: subprocess.Popen[bytes]) -> None:
    """Under its new name it is running, too."""
    loop.workspace.rename(loop.workspace.parent / "moved")
    loop.call("doctor", "--fix")
    assert "already running" in loop.call("run", "moved").err
    assert live.poll() is None


@pytest.mark.parametrize("made_again", [False, True])
def test_a_run_ends_when_its_folder_is_taken_away(loop: Loop, made_again: bool) -> None:
    """Renamed, or deleted and made again: what stands there now is not written to, and the message covers it."""
    loop.make()
    ready, go = loop.folder / "ready", loop.folder / "go"
    loop.script([{"init": {}}, {"touch": str(ready)}, {"wait_for": str(go)}, {"result": {}}])
    process = loop.start("run", "my-task")
    until(ready.exists)
    moved = loop.workspace.rename(loop.workspace.parent / "moved")
    if made_again:
        loop.make()
    go.touch()
    done = loop.finish(process)
    assert (done.code, "folder is gone, or another one" in done.err, "renamed or moved" in done.err) == (1, True, True)
    assert not made_again or "run" not in json.loads((loop.workspace / ".metadata.json").read_text())
    rows = {row["name"]: row["reason"] for row in loop.document("list")["workspaces"]}
    assert rows[moved.name] == "agent_failed"
