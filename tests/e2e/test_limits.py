"""Limits and overloads are nobody's failure: the run waits and does the same iteration again."""

from __future__ import annotations

import json
import re
import signal
import time
from functools import partial
from typing import Any

import pytest

from tests.e2e.conftest import Loop, until

WORK: list[dict[str, Any]] = [{"init": {}}, {"status": {"complete": True}}, {"result": {}}]
GOING_ON: list[dict[str, Any]] = [{"init": {}}, {"status": {"complete": False}}, {"result": {}}]


def limited(seconds: float | None) -> list[dict[str, Any]]:
    """A window that is used up; it opens so many seconds after this call, or at an unknown moment."""
    info = {"status": "rejected", "rateLimitType": "five_hour"}
    unknown = {"event": {"type": "rate_limit_event", "rate_limit_info": info}}
    return [
        {"init": {}},
        {"rejected": {"window": "five_hour", "seconds": seconds}} if seconds is not None else unknown,
        {"result": {"is_error": True, "result": "You've hit your session limit", "api_error_status": 429}},
    ]


def goes_on_waiting(loop: Loop) -> Any:
    """Run again after a kill during a wait of an hour: it waits for the same moment, until `retry`. How it ended."""
    (wait,) = loop.events("WaitStarted")
    began = len(loop.events("RunStarted"))
    process = loop.start("run", "my-task")
    until(lambda: len(loop.events("RunStarted")) > began)
    until(lambda: loop.call("retry", "my-task").code == 0)
    done = loop.finish(process)
    assert "Going on with run" in done.err
    assert loop.events("RunStarted")[-1]["resumed"]["waiting"]["wait"]["until"] == wait["until"]
    assert loop.events("WaitEnded")[-1]["by"] == "retry"
    return done


def numbers(loop: Loop) -> list[int]:
    return [event["number"] for event in loop.events("IterationStarted")]


@pytest.fixture
def prompt_loop(loop: Loop) -> Loop:
    loop.make()
    loop.env["CLAUDE_ITERATE_LIMITS__RESET_MARGIN"] = "0"
    return loop


def test_a_limit_is_waited_for_and_the_iteration_done_again(prompt_loop: Loop) -> None:
    """The reset is awaited, the number stays, nothing is spent; and the person is told when it goes on."""
    loop = prompt_loop
    loop.script(GOING_ON, limited(2), WORK)
    done = loop.run("-m", "2")
    assert (done.code, numbers(loop)) == (0, [1, 2, 2])
    assert "Usage limit reached" in done.err
    assert "nothing has proven it (after 2 iterations)" in done.out
    (wait,) = loop.events("WaitStarted")
    (ended,) = [entry for entry in loop.journal() if entry["event"]["event"] == "WaitEnded"]
    assert ended["at"] >= wait["until"] - 0.01
    assert len(list(loop.workspace.glob("runs/*/raw/0002*.ndjson"))) == 2


def test_a_rejection_without_a_reset_is_probed_for(prompt_loop: Loop) -> None:
    """The window is named, but not when it opens: the run looks again after a pause."""
    loop = prompt_loop
    loop.script(limited(None), WORK)
    process = loop.start("run", "my-task")
    until(lambda: loop.events("WaitStarted"))
    (wait,) = [entry for entry in loop.journal() if entry["event"]["event"] == "WaitStarted"]
    assert 250 < wait["event"]["until"] - wait["at"] <= 301
    process.terminate()
    assert loop.finish(process).code == 143


def test_waiting_has_an_end(prompt_loop: Loop) -> None:
    """After `limits.max_wait` in all the run looks once more, and then ends with the limit as its reason."""
    loop = prompt_loop
    loop.env["CLAUDE_ITERATE_LIMITS__MAX_WAIT"] = "1"
    loop.script(limited(3600))
    done = loop.run("--detailed-exit-code")
    assert done.code == 7
    assert numbers(loop) == [1, 1]


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_wait_can_be_ended_by_a_signal(prompt_loop: Loop, name: str, code: int) -> None:
    """One Ctrl-C is enough: no iteration is running."""
    loop = prompt_loop
    loop.script(limited(3600))
    process = loop.start("run", "my-task")
    until(lambda: loop.events("WaitStarted"))
    process.send_signal(getattr(signal, name))
    assert loop.finish(process).code == code


def test_a_killed_wait_goes_on_waiting(prompt_loop: Loop) -> None:
    """kill -9 during the wait: the next run waits for the same moment, and only then calls Claude."""
    loop = prompt_loop
    loop.script(GOING_ON, limited(3600), WORK)
    process = loop.start("run", "my-task")
    until(lambda: loop.events("WaitStarted"))
    process.kill()
    process.wait()
    done = goes_on_waiting(loop)
    assert done.code == 0
    assert "Still waiting until " in done.err
    assert numbers(loop) == [1, 2, 2]
    assert loop.events("RunFinished")[-1]["iterations"] == 2


def test_show_tells_what_a_run_waits_for(prompt_loop: Loop) -> None:
    """From another terminal, until when and that it is paused; afterwards no more."""
    loop = prompt_loop
    loop.script(limited(3600), WORK)
    process = loop.start("run", "my-task")
    until(lambda: loop.events("WaitStarted"))
    assert loop.call("pause", "my-task").code == 0
    shown = loop.call("show", "my-task").out
    assert re.search(r"running now \(.*\), waiting until .* \(usage limit\), paused", shown)
    told = json.loads(loop.call("show", "my-task", "--json").out)["lastRun"]
    assert (told["waiting"]["for"], told["paused"]) == ("usage_limit", True)
    assert "my-task goes on when the wait is over." in loop.call("resume", "my-task").out
    assert loop.call("retry", "my-task").code == 0
    assert loop.finish(process).code == 0
    told = json.loads(loop.call("show", "my-task", "--json").out)["lastRun"]
    assert (told["waiting"], told["paused"]) == (None, False)


def test_a_reserve_ends_the_run_before_the_window_is_used_up(prompt_loop: Loop) -> None:
    """`limits.reserve`: what is to be kept is kept."""
    loop = prompt_loop
    loop.env["CLAUDE_ITERATE_LIMITS__RESERVE"] = json.dumps({"five_hour": 20})
    info = {"status": "allowed", "rateLimitType": "five_hour", "utilization": 0.85, "resetsAt": time.time() + 999}
    loop.script([{"init": {}}, {"event": {"type": "rate_limit_event", "rate_limit_info": info}}, *GOING_ON[1:]])
    done = loop.run("--detailed-exit-code")
    assert (done.code, loop.events("RunFinished")[0]["reason"]) == (7, "reserve")
    assert "15% of the five_hour window is left; limits.reserve keeps 20%" in done.err


@pytest.mark.setting("limits.patterns")
def test_a_user_can_teach_it_new_words(prompt_loop: Loop) -> None:
    """`limits.patterns`."""
    loop = prompt_loop
    loop.env |= {
        "CLAUDE_ITERATE_LIMITS__PATTERNS": '["the well is dry"]',
        "CLAUDE_ITERATE_LIMITS__ON_USAGE_LIMIT": "stop",
    }
    loop.script([{"init": {}}, {"result": {"is_error": True, "result": "Sorry, the well is dry"}}])
    loop.run()
    assert loop.events("RunFinished")[0]["reason"] == "usage_limit"


def test_money_is_counted_over_restarts(prompt_loop: Loop) -> None:
    """`limits.max_cost_usd = 0.05` at 0.02 a call: over three runs, two of them killed, the third call is the last."""
    loop = prompt_loop
    loop.env["CLAUDE_ITERATE_LIMITS__MAX_COST_USD"] = "0.05"
    call: list[dict[str, Any]] = [{"init": {}}, {"status": {"complete": False}}, {"result": {"total_cost_usd": 0.02}}]
    hanging: list[dict[str, Any]] = [{"init": {}}, {"hang": True}]
    loop.script(call, hanging, call, hanging, call)

    def sessions(number: int) -> bool:
        return len(loop.events("SessionOpened")) == number

    for number in (2, 4):  # of a call that opened a session, the cost is not known when it is killed
        process = loop.start("run", "my-task")
        until(partial(sessions, number))
        process.kill()
        process.wait()
        loop.gone()
    done = loop.run("--detailed-exit-code")
    assert done.code == 7
    assert "The budget is spent: at least $0.06 of $0.05" in done.err
    assert [event["number"] for event in loop.events("IterationFinished")] == [1, 2, 3]


def test_a_killed_run_is_resumed_with_its_streaks(prompt_loop: Loop) -> None:
    """Failures, idle iterations and numbers go on where they were."""
    loop = prompt_loop
    crash = [{"exit": 1}]
    loop.script(crash, crash, [{"init": {}}, {"touch": "ready"}, {"hang": True}], crash)
    process = loop.start("run", "my-task")
    until((loop.workspace / "ready").exists)
    process.kill()
    process.wait()
    loop.gone()
    done = loop.run()
    assert done.code == 1
    assert "3 iterations in a row failed" in done.err
    assert [event["number"] for event in loop.events("IterationFinished")] == [1, 2, 3]


def test_no_more_calls_than_wanted(prompt_loop: Loop) -> None:
    """`limits.calls_per_hour`: the third call waits for its hour, also after a kill; `retry` lets it go."""
    loop = prompt_loop
    loop.env["CLAUDE_ITERATE_LIMITS__CALLS_PER_HOUR"] = "2"
    loop.script(GOING_ON, GOING_ON, WORK)
    process = loop.start("run", "my-task")
    until(lambda: loop.events("WaitStarted"))
    process.kill()
    process.wait()
    assert numbers(loop) == [1, 2]
    process = loop.start("run", "my-task")
    until(lambda: len(loop.events("RunStarted")) == 2)
    assert until(lambda: loop.call("retry", "my-task").code == 0)
    done = loop.finish(process)
    assert (done.code, numbers(loop)) == (0, [1, 2, 3])
    assert "Still waiting until" in done.err
