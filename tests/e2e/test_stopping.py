"""However a run is ended, nothing of it lives on, the log is whole and the lock is free."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from claude_iterate.system import processes
from claude_iterate.system.processes import LINUX
from tests.e2e.conftest import DONE, HANGING, PATIENT, UNDONE, Loop, until


def hanging(*before: dict[str, Any]) -> list[dict[str, Any]]:
    """A call that says that it is there, and then hangs."""
    return [{"init": {}}, {"say": "a word before the end"}, *before, {"touch": "ready"}, {"hang": True}]


def test_a_completion_after_the_first_interrupt_is_a_completion(loop: Loop) -> None:
    """Work that is done is done, whatever was asked for meanwhile."""
    loop.make()
    loop.script([*PATIENT[:-2], *DONE[1:]])
    process = loop.working()
    process.send_signal(signal.SIGINT)
    until(lambda: loop.events("StopRequested"))
    loop.go()
    assert loop.finish(process).code == 0


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
    loop.script(UNDONE)
    process = loop.start("run", "my-task")
    until(lambda: loop.events("IterationFinished"))
    process.send_signal(signal.SIGINT)
    assert loop.finish(process).code == 130


def test_an_interrupt_between_two_iterations_begins_no_third(loop: Loop) -> None:
    """Claude is gone and its stubborn child is being ended: Ctrl-C now, without any delay, and nothing more begins."""
    loop.make()
    loop.patch("agent.processes.leftovers", _POLITE=4.0, _PATIENCE=56.0)
    stubborn: list[dict[str, Any]] = [{"ignore": ["SIGTERM"]}, {"grandchild": {"seconds": 300, "own_session": True}}]
    loop.script([{"init": {}}, *stubborn, {"status": {"complete": False}}, {"result": {}}])
    process = loop.start("run", "my-task")
    claude = until(lambda: loop.events("AgentStarted"))[0]["pid"]
    until(lambda: not processes.is_alive(claude))
    process.send_signal(signal.SIGINT)
    assert loop.finish(process).code == 130
    assert len(loop.events("IterationStarted")) == 1
    loop.gone()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere every search is thorough")
def test_a_cut_ends_everything_that_carries_the_mark(loop: Loop) -> None:
    """Before the next iteration begins, not only at the end of the run: a forced end searches the whole machine."""
    loop.make()
    loop.script(HANGING, [{"init": {}}, {"wait_for": "go"}, *DONE[1:]])
    process = loop.working()
    (run,) = (event["run"] for event in loop.events("RunStarted"))
    stranger = subprocess.Popen(["sleep", "300"], env={"CLAUDE_ITERATE_RUN": run, "PATH": loop.env["PATH"]})
    try:
        assert loop.call("skip", "my-task").code == 0
        until(lambda: len(loop.events("IterationStarted")) == 2)
        assert not processes.is_alive(stranger.pid)
    finally:
        stranger.kill()
        stranger.wait()
    loop.go()
    assert loop.finish(process).code == 0
    assert loop.outcomes() == ["skipped", "ok"]
    assert ["sleep 300" in " ".join(event["processes"]) for event in loop.events("LeftoversEnded")] == [True]


def test_a_run_removes_what_killed_writers_left(loop: Loop) -> None:
    """Half-written files in the workspace and its folders, right at the next start."""
    loop.make()
    loop.script(DONE)
    names = ("..metadata.json", "notes/.1-x.md")
    left = [loop.workspace / f"{name}.4194303-abcd1234.tmp" for name in names]
    (loop.workspace / "notes").mkdir()
    for path in left:
        path.write_text("{")
    assert loop.run().code == 0
    assert not any(path.exists() for path in left)
