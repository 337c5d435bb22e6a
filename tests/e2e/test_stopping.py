"""However a run is ended, nothing of it lives on, the log is whole and the lock is free."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

from tests.e2e.conftest import until

GRANDCHILD = {"grandchild": {"seconds": 300, "own_session": True, "hold_stdout": True}}
WORK = [{"init": {}}, {"status": {"complete": True}}, {"result": {}}]


def hanging(*before: dict[str, Any]) -> list[dict[str, Any]]:
    """A call that says that it is there, and then hangs."""
    return [{"init": {}}, {"say": "a word before the end"}, *before, {"touch": "ready"}, {"hang": True}]


def lock_is_free(loop: Any) -> bool:
    loop.script(WORK)
    return bool(loop.run("-m", "1").code == 0)


def test_the_first_interrupt_lets_the_iteration_finish(loop: Any) -> None:
    """Ctrl-C once: the report of the running iteration still counts; exit 130."""
    loop.make()
    loop.script([{"init": {}}, {"touch": "ready"}, {"wait_for": "go"}, {"status": {"complete": False}}, {"result": {}}])
    process = loop.start("run", "my-task")
    until((loop.workspace / "ready").exists)
    process.send_signal(signal.SIGINT)
    until(lambda: loop.events("StopRequested"))
    (loop.workspace / "go").touch()
    done = loop.finish(process)
    assert done.code == 130
    assert "✓ Iteration 1 complete" in done.err
    assert loop.events("IterationFinished")[0]["outcome"]["kind"] == "ok"
    loop.gone()


def test_a_completion_after_the_first_interrupt_is_a_completion(loop: Any) -> None:
    """Work that is done is done, whatever was asked for meanwhile."""
    loop.make()
    loop.script([{"init": {}}, {"touch": "ready"}, {"wait_for": "go"}, {"status": {"complete": True}}, {"result": {}}])
    process = loop.start("run", "my-task")
    until((loop.workspace / "ready").exists)
    process.send_signal(signal.SIGINT)
    until(lambda: loop.events("StopRequested"))
    (loop.workspace / "go").touch()
    assert loop.finish(process).code == 0


@pytest.mark.parametrize(
    ("signals", "code"),
    [
        ([signal.SIGINT, signal.SIGINT], 130),
        ([signal.SIGTERM], 143),
        ([signal.SIGHUP], 143),
    ],
)
def test_an_urgent_stop_ends_everything_now(loop: Any, signals: list[int], code: int) -> None:
    """Claude, and what its tools started in sessions of their own, are gone; the log has the last word."""
    loop.make()
    loop.script(hanging(GRANDCHILD))
    process = loop.start("run", "my-task")
    until((loop.workspace / "ready").exists)
    for count, number in enumerate(signals, 1):
        process.send_signal(number)
        until(lambda expected=count: len(loop.events("StopRequested")) >= expected or process.poll() is not None)
    assert loop.finish(process).code == code
    assert loop.processes() == []
    assert "a word before the end" in loop.log()
    assert "Reason: " in loop.log()
    assert lock_is_free(loop)


@pytest.mark.parametrize("ignored", [[], ["SIGINT"], ["SIGINT", "SIGTERM"]])
def test_a_killed_runner_leaves_nothing_behind(loop: Any, ignored: list[str]) -> None:
    """kill -9 of the runner: the guardian ends Claude and its tools; what was printed before is in the journal."""
    loop.make()
    loop.script(hanging({"ignore": ignored}, GRANDCHILD))
    process = loop.start("run", "my-task")
    until((loop.workspace / "ready").exists)
    until(lambda: loop.events("Said"))
    process.kill()
    process.wait()
    loop.gone()
    assert [entry["seq"] for entry in loop.journal()] == list(range(1, len(loop.journal()) + 1))
    assert lock_is_free(loop)


def test_a_stop_between_iterations_is_immediate(loop: Any) -> None:
    """During the delay the first Ctrl-C is enough."""
    loop.make()
    loop.env["CLAUDE_ITERATE_DELAY"] = "1h"
    loop.script([{"init": {}}, {"status": {"complete": False}}, {"result": {}}])
    process = loop.start("run", "my-task")
    until(lambda: loop.events("IterationFinished"))
    process.send_signal(signal.SIGINT)
    assert loop.finish(process).code == 130


def test_a_second_run_is_refused_and_told_who_has_it(loop: Any) -> None:
    """The lock names pid and start of the holder; the first run is not disturbed."""
    loop.make()
    loop.script([{"init": {}}, {"touch": "ready"}, {"wait_for": "go"}, {"status": {"complete": True}}, {"result": {}}])
    process = loop.start("run", "my-task")
    until((loop.workspace / "ready").exists)
    refused = loop.run()
    assert refused.code == 1
    assert f"pid {process.pid}" in refused.err
    assert "started 20" in refused.err
    (loop.workspace / "go").touch()
    assert loop.finish(process).code == 0


def test_an_interrupt_between_two_iterations_begins_no_third(loop: Any) -> None:
    """Claude is gone and its stubborn child is being ended: Ctrl-C now, without any delay, and nothing more begins."""
    loop.make()
    stubborn = [{"ignore": ["SIGTERM"]}, {"grandchild": {"seconds": 300, "own_session": True}}]
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


def test_leftovers_of_a_finished_iteration_are_ended(loop: Any) -> None:
    """A tool child in its own session, with Claude gone: it is ended before the next iteration, and told."""
    loop.make()
    loop.script([{"init": {}}, GRANDCHILD, {"status": {"complete": True}}, {"result": {}}])
    assert loop.run().code == 0
    assert loop.processes() == []
    assert loop.events("LeftoversEnded")


def test_a_leftover_without_our_mark_is_ended_too(loop: Any) -> None:
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
