"""A Claude that hangs or prints junk: what the faults of the self-test do not cover."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.conftest import Loop, until

WORK: list[dict[str, Any]] = [{"init": {}}, {"status": {"complete": True}}, {"result": {}}]


def outcomes(loop: Loop) -> list[str]:
    return [event["outcome"]["kind"] for event in loop.events("IterationFinished")]


def test_a_task_that_never_ends_is_named(loop: Loop) -> None:
    """A result was given, and a background command goes on in silence: what it is, and for how long."""
    loop.make()
    loop.env["CLAUDE_ITERATE_TIMEOUTS__IDLE"] = "0.5"
    task = {"type": "system", "subtype": "task_started", "task_id": "t1", "description": "npm run dev"}
    loop.script([{"init": {}}, {"event": task}, {"result": {}}, {"hang": True}], WORK)
    done = loop.run()
    assert done.code == 0
    assert "nothing was heard for 0.5s (task `npm run dev` has been running for" in done.err


def test_an_api_that_swallows_everything_is_nobodys_failure(loop: Loop) -> None:
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


def test_one_good_iteration_forgives_the_crashes_before(loop: Loop) -> None:
    """Only failures in a row count."""
    loop.make()
    crash = [{"exit": 1}]
    good: list[dict[str, Any]] = [{"init": {}}, {"status": {"complete": False}}, {"result": {}}]
    loop.script(crash, crash, good, crash, crash, WORK)
    assert loop.run().code == 0


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
def test_noise_does_not_hurt(loop: Loop, noise: dict[str, Any]) -> None:
    """Junk, broken bytes, giant lines, a flood on stderr, unknown events: the report still counts."""
    loop.make()
    loop.script([{"init": {}}, noise, *WORK[1:]])
    done = loop.run("--output", "verbose")
    assert (done.code, outcomes(loop)) == (0, ["ok"])
