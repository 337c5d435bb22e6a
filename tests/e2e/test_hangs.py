"""A Claude that hangs, floods or falls over ends in time, each way with its own outcome."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.conftest import until

WORK = [{"init": {}}, {"status": {"complete": True}}, {"result": {}}]


def outcomes(loop: Any) -> list[str]:
    return [event["outcome"]["kind"] for event in loop.events("IterationFinished")]


def causes(loop: Any) -> list[str]:
    return [event["cause"] for event in loop.events("CutStarted")]


def test_silence_is_cut_and_the_run_goes_on(loop: Any) -> None:
    """Silent for longer than `timeouts.idle`: outcome idle, with what it was doing; the next iteration works."""
    loop.make()
    loop.env["CLAUDE_ITERATE_TIMEOUTS__IDLE"] = "0.5"
    call = {"id": "toolu_1", "type": "tool_use", "name": "Bash", "input": {"command": "sleep 900"}}
    loop.script([{"init": {}}, {"event": {"type": "assistant", "message": {"content": [call]}}}, {"hang": True}], WORK)
    assert loop.run().code == 0
    assert (outcomes(loop), causes(loop)) == (["idle", "ok"], ["idle"])
    assert "Bash `sleep 900` has been running for" in loop.events("IterationFinished")[0]["outcome"]["message"]


def test_a_task_that_never_ends_is_named(loop: Any) -> None:
    """A result was given, and a background command goes on in silence: what it is, and for how long."""
    loop.make()
    loop.env["CLAUDE_ITERATE_TIMEOUTS__IDLE"] = "0.5"
    task = {"type": "system", "subtype": "task_started", "task_id": "t1", "description": "npm run dev"}
    loop.script([{"init": {}}, {"event": task}, {"result": {}}, {"hang": True}], WORK)
    done = loop.run()
    assert done.code == 0
    assert "nothing was heard for 0.5s (task `npm run dev` has been running for" in done.err


def test_an_api_that_swallows_everything_is_nobodys_failure(loop: Any) -> None:
    """Claude Code tries again and again, and is cut off: the API's trouble, so the iteration is done again."""
    loop.make()
    loop.env["CLAUDE_ITERATE_TIMEOUTS__IDLE"] = "0.5"
    retry = {"type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 10, "error": "timeout"}
    loop.script(
        [{"init": {}}, {"event": retry}, {"hang": True}], [{"init": {}}, {"event": retry}, {"say": "x"}, {"hang": True}]
    )
    process = loop.start("run", "my-task", "-m", "1")
    until(lambda: loop.events("WaitStarted"))
    assert loop.call("retry", "my-task").code == 0
    loop.finish(process)
    assert outcomes(loop) == ["transient", "idle"]


def test_an_endless_iteration_is_cut(loop: Any) -> None:
    """Talkative, but longer than `timeouts.iteration`: outcome timeout."""
    loop.make()
    loop.env["CLAUDE_ITERATE_TIMEOUTS__ITERATION"] = "0.7"
    talk = [step for _ in range(100) for step in ({"say": "still here"}, {"sleep": 0.05})]
    loop.script([{"init": {}}, *talk], WORK)
    assert loop.run().code == 0
    assert outcomes(loop) == ["timeout", "ok"]


def test_a_hang_after_the_result_keeps_the_result(loop: Any) -> None:
    """Claude said that it was finished and stays: it is ended after `timeouts.result_grace`, the work counts."""
    loop.make()
    loop.env["CLAUDE_ITERATE_TIMEOUTS__RESULT_GRACE"] = "0.3"
    loop.script([*WORK, {"hang": True}])
    assert loop.run().code == 0
    assert (outcomes(loop), causes(loop)) == (["ok"], ["lingering"])


def test_an_open_background_task_delays_the_grace(loop: Any) -> None:
    """After a result the grace begins when no task is open; a later result counts."""
    loop.make()
    loop.env["CLAUDE_ITERATE_TIMEOUTS__RESULT_GRACE"] = "0.3"
    started = {"type": "system", "subtype": "task_started", "task_id": "t1", "task_type": "local_agent"}
    ended = {"type": "system", "subtype": "task_notification", "task_id": "t1", "status": "completed"}
    loop.script(
        [
            {"init": {}},
            {"event": started},
            {"result": {"result": "first"}},
            {"sleep": 1.0},
            {"event": ended},
            {"init": {}},
            {"status": {"complete": True}},
            {"result": {"result": "second"}},
        ]
    )
    assert loop.run().code == 0
    assert causes(loop) == []
    assert [event["text"] for event in loop.events("ResultReported")] == ["first", "second"]


def test_a_child_that_ignores_signals_is_killed(loop: Any) -> None:
    """SIGINT, SIGTERM, SIGKILL in turn: it ends within the ladder's time."""
    loop.make()
    loop.env |= {"CLAUDE_ITERATE_TIMEOUTS__IDLE": "0.3", "CLAUDE_ITERATE_TIMEOUTS__TERMINATE_GRACE": "0.2"}
    loop.script([{"ignore": ["SIGINT", "SIGTERM"]}, {"init": {}}, {"hang": True}], WORK)
    assert loop.run().code == 0
    assert outcomes(loop) == ["idle", "ok"]
    assert loop.events("AgentExited")[0]["code"] == -9
    assert loop.processes() == []


def test_a_grandchild_on_stdout_does_not_hold_the_run(loop: Any) -> None:
    """The end of Claude is its exit, not the end of its pipe."""
    loop.make()
    loop.script([{"init": {}}, {"grandchild": {"seconds": 300, "hold_stdout": True}}, *WORK[1:]])
    assert loop.run().code == 0
    assert loop.processes() == []


def test_crashes_in_a_row_end_the_run(loop: Any) -> None:
    """`stop.failures` crashes: the run ends with Claude's words, exit 1, 6 with detailed codes."""
    loop.make()
    loop.script([{"stderr": "Segmentation fault\n"}, {"exit": 139}])
    done = loop.run("--detailed-exit-code")
    assert (done.code, outcomes(loop)) == (6, ["crash"] * 3)
    assert "Segmentation fault" in done.err


def test_one_good_iteration_forgives_the_crashes_before(loop: Any) -> None:
    """Only failures in a row count."""
    loop.make()
    crash, good = [{"exit": 1}], [{"init": {}}, {"status": {"complete": False}}, {"result": {}}]
    loop.script(crash, crash, good, crash, crash, WORK)
    assert loop.run().code == 0


def test_work_done_before_a_cut_is_judged(loop: Any) -> None:
    """A fresh `complete: true` counts although Claude hung after writing it."""
    loop.make()
    loop.env["CLAUDE_ITERATE_TIMEOUTS__IDLE"] = "0.4"
    loop.script([{"init": {}}, {"status": {"complete": True}}, {"hang": True}])
    assert loop.run().code == 0


def test_a_missing_result_is_no_success(loop: Any) -> None:
    """Exit 0 without a result is a crash: Claude was cut off somewhere."""
    loop.make()
    loop.script([{"init": {}}, {"say": "hello"}, {"exit": 0}], WORK)
    assert loop.run().code == 0
    assert outcomes(loop) == ["crash", "ok"]


@pytest.mark.parametrize(
    "noise",
    [
        {"raw": "not json\n\n{}\n[1,2]\nnull\n"},
        {"raw_base64": "//4AwyjDKAo="},
        {"long_line": 5_000_000},
        {"flood": {"stream": "stderr", "lines": 10_000, "bytes": 100}},
        {"event": {"type": "brand_new", "x": 1}},
        {"event": {"type": "user", "message": {"content": "a plain string"}}},
    ],
)
def test_noise_does_not_hurt(loop: Any, noise: dict[str, Any]) -> None:
    """Junk, broken bytes, giant lines, a flood on stderr, unknown events: the report still counts."""
    loop.make()
    loop.script([{"init": {}}, noise, *WORK[1:]])
    done = loop.run("--output", "verbose")
    assert (done.code, outcomes(loop)) == (0, ["ok"])
