"""A report that Claude writes is noticed while it works on, from the first call on, by a watcher and nothing else."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

from claude_iterate.system.processes import LINUX
from tests.e2e.conftest import Loop, until

DEBOUNCE = "CLAUDE_ITERATE_NOTIFICATION__STATUS_WATCH__DEBOUNCE_MS"


def is_watching(pid: int) -> bool:
    """True when the system tells the process of changes in a folder. Only Linux shows it."""
    for handle in Path(f"/proc/{pid}/fd").iterdir() if LINUX else ():
        with contextlib.suppress(FileNotFoundError):  # it was closed meanwhile
            if os.readlink(handle) == "anon_inode:inotify":
                return True
    return not LINUX


def test_a_report_is_noticed_in_mid_call(loop: Loop) -> None:
    """Each of two reports is an event before the call ends, and the watcher is there before the first."""
    loop.make()
    loop.env[DEBOUNCE] = "500"
    first, second = ({"status": {"complete": False, "summary": text}} for text in ("first", "second"))
    go, end = (loop.folder / name for name in ("go", "end"))
    begin = loop.folder / "begin"
    reporting: list[dict[str, Any]] = [
        {"wait_for": str(begin)},
        first,
        {"wait_for": str(go)},
        second,
        {"wait_for": str(end)},
    ]
    loop.script([{"init": {}}, *reporting, {"result": {}}])
    process = loop.start("run", "my-task", "-m", "1")
    until(lambda: is_watching(process.pid))
    begin.touch()
    until(lambda: len(loop.events("StatusChanged")) == 1)
    go.touch()
    until(lambda: len(loop.events("StatusChanged")) == 2)
    assert loop.events("AgentExited") == []
    end.touch()
    assert loop.finish(process).code == 0
    assert [event["status"]["summary"] for event in loop.events("StatusChanged")] == ["first", "second"]


def test_a_report_is_noticed_in_a_workspace_that_was_made_again(loop: Loop) -> None:
    """Claude deleted the folder that was watched."""
    loop.make()
    loop.env[DEBOUNCE] = "500"
    end = str(loop.folder / "end")
    sweep: list[dict[str, Any]] = [{"init": {}}, {"shell": "rm -rf $WORKSPACE"}, {"result": {}}]
    loop.script(sweep, [{"init": {}}, {"status": {"complete": True}}, {"wait_for": end}, {"result": {}}])
    process = loop.start("run", "my-task", "--no-delay")
    until(lambda: bool(loop.workspace.exists() and loop.events("StatusChanged")))
    assert len(loop.events("AgentExited")) == 1
    (loop.folder / "end").touch()
    assert loop.finish(process).code == 0
