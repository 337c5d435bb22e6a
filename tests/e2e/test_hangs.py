"""A Claude that hangs or prints junk: what the faults of the self-test do not cover."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.conftest import Loop, until

WORK: list[dict[str, Any]] = [{"init": {}}, {"status": {"complete": True}}, {"result": {}}]


def outcomes(loop: Loop) -> list[str]:
    return [event["outcome"]["kind"] for event in loop.events("IterationFinished")]


def hanging(loop: Loop, *events: dict[str, Any]) -> None:
    """A Claude that prints these events and then hangs. It is a shell script: on a busy machine it has printed them
    long before `timeouts.idle` is over."""
    program = loop.folder / "claude"
    printed = "".join(f"echo '{json.dumps(event)}'\n" for event in events)
    program.write_text(f"#!/bin/sh\ncase $1 in --version) echo 1; exit;; esac\n{printed}exec sleep 300\n")
    program.chmod(0o755)
    loop.env |= {"CLAUDE_ITERATE_CLAUDE__COMMAND": str(program), "CLAUDE_ITERATE_TIMEOUTS__IDLE": "2"}
    loop.env["CLAUDE_ITERATE_STOP__FAILURES"] = "1"


def test_a_task_that_never_ends_is_named(loop: Loop) -> None:
    """A result was given, and a background command goes on in silence: what it is, and for how long."""
    loop.make()
    task = {"type": "system", "subtype": "task_started", "task_id": "t1", "description": "npm run dev"}
    hanging(loop, task, {"type": "result", "subtype": "success", "is_error": False})
    done = loop.run()
    assert outcomes(loop) == ["idle"]
    assert "nothing was heard for 2.0s (task `npm run dev` has been running for" in done.err


def test_an_api_that_swallows_everything_is_nobodys_failure(loop: Loop) -> None:
    """Claude Code tries again and again, and is cut off: the API's trouble, so the iteration is done again."""
    loop.make()
    retry = {"type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 10, "error": "timeout"}
    hanging(loop, retry)
    process = loop.start("run", "my-task", "-m", "1")
    until(lambda: loop.events("WaitStarted"))
    hanging(loop, retry, {"type": "assistant", "message": {"content": [{"type": "text", "text": "x"}]}})
    assert loop.call("retry", "my-task").code == 0
    loop.finish(process)
    assert outcomes(loop) == ["transient", "idle"]


@pytest.mark.parametrize("moves", [True, False])
def test_only_progress_forgives_the_crashes_before(loop: Loop, moves: bool) -> None:
    """Only failures without progress in between count. A good iteration that moves nothing forgives nothing."""
    loop.make()
    crash = [{"exit": 1}]
    work = [{"write": {"path": str(loop.root / "work"), "text": "done"}}] if moves else []
    good: list[dict[str, Any]] = [{"init": {}}, *work, {"status": {"complete": False}}, {"result": {}}]
    loop.script(crash, crash, good, crash, crash, WORK)
    assert loop.run().code == (0 if moves else 1)
    assert len(outcomes(loop)) == (6 if moves else 4)


@pytest.mark.parametrize(
    "noise",
    [
        {"raw": "not json\n\n{}\n[1,2]\nnull\n"},
        {"raw": b"\xff\xfe\x00\xc3(\xc3(\n".decode("utf-8", "surrogateescape")},
        {"flood": {"events": True, "lines": 1, "bytes": 5_000_000}},
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
