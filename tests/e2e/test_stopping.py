"""However a run is ended, nothing of it lives on, the log is whole and the lock is free."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from claude_iterate.system.processes import LINUX
from tests.e2e.conftest import Loop, until

GRANDCHILD = {"grandchild": {"seconds": 300, "own_session": True, "hold_stdout": True}}
WORK: list[dict[str, Any]] = [{"init": {}}, {"status": {"complete": True}}, {"result": {}}]


def hanging(*before: dict[str, Any]) -> list[dict[str, Any]]:
    """A call that says that it is there, and then hangs."""
    return [{"init": {}}, {"say": "a word before the end"}, *before, {"touch": "ready"}, {"hang": True}]


def lock_is_free(loop: Loop) -> bool:
    loop.script(WORK)
    return bool(loop.run("-m", "1").code == 0)


def test_a_completion_after_the_first_interrupt_is_a_completion(loop: Loop) -> None:
    """Work that is done is done, whatever was asked for meanwhile."""
    loop.make()
    loop.script([{"init": {}}, {"touch": "ready"}, {"wait_for": "go"}, {"status": {"complete": True}}, {"result": {}}])
    process = loop.start("run", "my-task")
    until((loop.workspace / "ready").exists)
    process.send_signal(signal.SIGINT)
    until(lambda: loop.events("StopRequested"))
    (loop.workspace / "go").touch()
    assert loop.finish(process).code == 0


def test_a_killed_runner_leaves_nothing_behind(loop: Loop) -> None:
    """kill -9 while Claude ignores SIGINT: the guardian ends Claude and its tools; the journal has what it printed."""
    loop.make()
    loop.script(hanging({"ignore": ["SIGINT"]}, GRANDCHILD))
    process = loop.start("run", "my-task")
    until((loop.workspace / "ready").exists)
    until(lambda: loop.events("Said"))
    process.kill()
    process.wait()
    loop.gone()
    assert [entry["seq"] for entry in loop.journal()] == list(range(1, len(loop.journal()) + 1))
    assert lock_is_free(loop)


@pytest.mark.skipif(not LINUX, reason="reads /proc")
def test_after_pkill_by_our_name_nothing_is_left(loop: Loop) -> None:
    """As `pkill -9 -f claude`, typed again and again: it kills runner, Claude and every helper with our name in its
    words. A tool that ignores the signals which come first is ended all the same."""
    loop.make()
    loop.script(hanging({"ignore": ["SIGINT", "SIGTERM"]}, {"grandchild": {"seconds": 300, "own_session": True}}))
    process = loop.start("-P", "-m", "claude_iterate", "run", "my-task", program=(sys.executable,))
    until((loop.workspace / "ready").exists)

    def kill_by_name() -> bool:
        for pid in (*loop.processes(), *([process.pid] if process.poll() is None else [])):
            with contextlib.suppress(OSError):
                if b"claude" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    os.kill(pid, signal.SIGKILL)
        return process.poll() is not None and not loop.processes()

    until(kill_by_name)


def test_a_stop_between_iterations_is_immediate(loop: Loop) -> None:
    """During the delay the first Ctrl-C is enough."""
    loop.make()
    loop.env["CLAUDE_ITERATE_DELAY"] = "1h"
    loop.script([{"init": {}}, {"status": {"complete": False}}, {"result": {}}])
    process = loop.start("run", "my-task")
    until(lambda: loop.events("IterationFinished"))
    process.send_signal(signal.SIGINT)
    assert loop.finish(process).code == 130


def test_an_interrupt_between_two_iterations_begins_no_third(loop: Loop) -> None:
    """Claude is gone and its stubborn child is being ended: Ctrl-C now, without any delay, and nothing more begins."""
    loop.make()
    loop.patch("agent.processes.leftovers", _POLITE=4.0, _PATIENCE=60.0)
    stubborn: list[dict[str, Any]] = [{"ignore": ["SIGTERM"]}, {"grandchild": {"seconds": 300, "own_session": True}}]
    loop.script([{"init": {}}, *stubborn, {"status": {"complete": False}}, {"result": {}}])
    process = loop.start("run", "my-task")
    claude = until(lambda: loop.events("AgentStarted"))[0]["pid"]
    until(lambda: not alive(claude))
    process.send_signal(signal.SIGINT)
    assert loop.finish(process).code == 130
    assert len(loop.events("IterationStarted")) == 1
    loop.gone()


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_leftover_without_our_mark_is_ended_too(loop: Loop) -> None:
    """A process that cleared its environment cannot hide: it becomes our child when its parent dies."""
    loop.make()
    pid_file = loop.workspace / "pid"
    loop.script(
        [
            {"init": {}},
            {
                "grandchild": {
                    "seconds": 300,
                    "own_session": True,
                    "hold_stdout": True,
                    "clear_environment": True,
                    "pidfile": str(pid_file),
                }
            },
            {"status": {"complete": True}},
            {"result": {}},
        ]
    )
    assert loop.run().code == 0
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)
