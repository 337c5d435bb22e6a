"""A report that Claude writes is noticed while it works on: by looks in a short call, by a watcher in a long one."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest

from tests.e2e.conftest import Loop, until

DEBOUNCE = "CLAUDE_ITERATE_NOTIFICATION__STATUS_WATCH__DEBOUNCE_MS"


def watches(pid: int) -> bool:
    """True when the process is told of changes in a folder."""
    for handle in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # it was closed meanwhile
            if os.readlink(handle) == "anon_inode:inotify":
                return True
    return False


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="only Linux shows what a process has open")
@pytest.mark.parametrize("watched", [False, True])
def test_a_report_is_noticed_in_mid_call(loop: Loop, watched: bool) -> None:
    """Each of two reports is an event before the call ends; only a long call has a watcher."""
    loop.make()
    loop.env[DEBOUNCE] = "500"
    if watched:
        loop.patch("engine.status_reports", _LOOKED_AT=0.0)
    first, second = ({"status": {"complete": False, "summary": text}} for text in ("first", "second"))
    go, end = (loop.folder / name for name in ("go", "end"))
    loop.script([{"init": {}}, first, {"wait_for": str(go)}, second, {"wait_for": str(end)}, {"result": {}}])
    process = loop.start("run", "my-task", "-m", "1")
    until(lambda: len(loop.events("StatusChanged")) == 1)
    if watched:
        until(lambda: watches(process.pid))
    else:
        assert not watches(process.pid)
    go.touch()
    until(lambda: len(loop.events("StatusChanged")) == 2)
    assert loop.events("AgentExited") == []
    end.touch()
    assert loop.finish(process).code == 0
    assert [event["status"]["summary"] for event in loop.events("StatusChanged")] == ["first", "second"]
