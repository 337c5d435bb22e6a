"""A report that Claude writes is noticed while it works on, from the first call on, by a watcher and nothing else."""

from __future__ import annotations

from typing import Any

from tests.e2e.conftest import Loop, until

DEBOUNCE = "CLAUDE_ITERATE_NOTIFICATION__STATUS_WATCH__DEBOUNCE_MS"


def test_a_report_is_noticed_in_mid_call(loop: Loop) -> None:
    """Each of two reports is an event before the call ends; the second falls into the watch's own time, because the
    first was told after it began."""
    loop.make()
    loop.env[DEBOUNCE] = "500"
    first, second = ({"status": {"complete": False, "summary": text}} for text in ("first", "second"))
    go, end = (loop.folder / name for name in ("go", "end"))
    loop.script([{"init": {}}, first, {"wait_for": str(go)}, second, {"wait_for": str(end)}, {"result": {}}])
    process = loop.start("run", "my-task", "-m", "1")
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
