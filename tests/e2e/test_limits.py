"""Limits, overloads and a Claude that is away for a while are nobody's failure: the run waits and tries again."""

from __future__ import annotations

import json
import re
import signal
import sys
from typing import Any

import pytest

from tests.e2e.conftest import DONE, LIMITED, UNDONE, Loop, until


@pytest.mark.parametrize(("by", "code"), [("Ctrl-C", 130), ("stop", 0)])
def test_a_wait_can_be_ended(loop: Loop, by: str, code: int) -> None:
    """One Ctrl-C or `stop` is enough: no iteration is running."""
    loop.make()
    loop.script(LIMITED)
    process = loop.waiting()
    process.send_signal(signal.SIGINT) if by == "Ctrl-C" else loop.request(by)
    assert loop.finish(process).code == code


def test_show_tells_what_a_run_waits_for(loop: Loop) -> None:
    """From another terminal, until when and that it is paused; afterwards no more."""
    loop.make()
    loop.script(LIMITED, DONE)
    process = loop.waiting()
    assert loop.call("pause", "my-task").code == 0
    shown = loop.call("show", "my-task").out
    assert re.search(r"Now: waiting until .*: Usage limit reached, paused", shown)
    told = loop.document("show", "my-task")["lastRun"]
    assert (told["waiting"]["for"], told["paused"]) == ("usage_limit", True)
    assert "my-task does not pause." in loop.call("resume", "my-task").out
    assert loop.call("retry", "my-task").code == 0
    assert loop.finish(process).code == 0
    told = loop.document("show", "my-task")["lastRun"]
    assert (told["waiting"], told["paused"]) == (None, False)


@pytest.mark.setting("limits.patterns")
def test_a_user_can_teach_it_new_words(loop: Loop) -> None:
    """`limits.patterns`."""
    loop.make()
    loop.set(limits__patterns=["the well is dry"], limits__on_usage_limit="stop")
    loop.script([{"init": {}}, {"result": {"is_error": True, "result": "Sorry, the well is dry"}}])
    loop.run()
    assert loop.events("RunFinished")[0]["reason"] == "usage_limit"


def test_no_more_calls_than_wanted(loop: Loop) -> None:
    """`limits.calls_per_hour`: the third call waits for its hour, also after a kill; `retry` lets it go."""
    loop.make()
    loop.env["CLAUDE_ITERATE_LIMITS__CALLS_PER_HOUR"] = "2"
    loop.script(UNDONE, UNDONE, DONE)
    loop.kill(loop.waiting())
    assert loop.numbers() == [1, 2]
    process = loop.start("run", "my-task")
    until(lambda: len(loop.events("RunStarted")) == 2)
    assert until(lambda: loop.call("retry", "my-task").code == 0)
    done = loop.finish(process)
    assert (done.code, loop.numbers()) == (0, [1, 2, 3])
    assert "Still waiting until" in done.err


@pytest.mark.parametrize(
    ("absence", "kind", "advice"), [("login", "auth", "/login"), ("program", "config", "Claude CLI not found")]
)
def test_a_claude_that_stays_away_ends_the_run(loop: Loop, absence: str, kind: str, advice: str) -> None:
    """After some tries under the same number, as it would have before them: with what is to be done."""
    loop.patch("core.rules.waits", AWAY_PAUSES=(0.0,) * 4)
    loop.make()
    refused = {"is_error": True, "api_error_status": 401, "result": "API Error: 401", "total_cost_usd": 0}
    fake = loop.executable("claude", f'exec "{sys.executable}" -P -m claude_iterate.fake_claude "$@"')
    loop.set(claude__command=str(fake))
    gone = [{"shell": f"rm {fake}"}] if absence == "program" else []
    loop.script([UNDONE[0], *gone, *UNDONE[1:]], [{"init": {}}, {"result": refused}])
    done = loop.run()
    assert (done.code, loop.outcomes()) == (1, ["ok", "away", "away", "away", "away", kind])
    assert advice in done.err


def hanging(loop: Loop, *events: dict[str, Any]) -> None:
    """A Claude that prints these events and then hangs. It is a shell script: on a busy machine it has printed them
    long before `timeouts.idle` is over."""
    printed = "".join(f"echo '{json.dumps(event)}'\n" for event in events)
    loop.claude(f"{printed}exec sleep 300")
    loop.set(timeouts__idle="2", stop__failures=1)


TASK = {"type": "system", "subtype": "task_started", "task_id": "t1", "description": "npm run dev"}
TOOL = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "npm test"}}


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ([TASK, {"type": "result", "subtype": "success", "is_error": False}], "task `npm run dev`"),
        ([{"type": "assistant", "message": {"content": [TOOL]}}], "Bash `npm test`"),
    ],
)
def test_what_never_ends_is_named(loop: Loop, events: list[dict[str, Any]], words: str) -> None:
    """A tool, or a command in the background after the result, is silent: what it is, and for how long."""
    loop.make()
    hanging(loop, *events)
    done = loop.run()
    assert loop.outcomes() == ["idle"]
    assert f"nothing was heard for 2.0s ({words} has been running for" in done.err


def test_an_api_that_swallows_everything_is_nobodys_failure(loop: Loop) -> None:
    """Claude Code tries again and again, and is cut off: the API's trouble, so the iteration is done again."""
    loop.make()
    retry = {"type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 10, "error": "timeout"}
    hanging(loop, retry)
    process = loop.waiting("-m", "1")
    hanging(loop, retry, {"type": "assistant", "message": {"content": [{"type": "text", "text": "x"}]}})
    assert loop.call("retry", "my-task").code == 0
    loop.finish(process)
    assert loop.outcomes() == ["transient", "idle"]
