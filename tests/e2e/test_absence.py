"""Claude that worked in this run and cannot be called for a while: the night goes on."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

from tests.e2e.conftest import Loop, until

MORE: list[dict[str, Any]] = [{"init": {}}, {"status": {"complete": False}}, {"result": {}}]
DONE: list[dict[str, Any]] = [{"init": {}}, {"status": {"complete": True}}, {"result": {}}]
REFUSED: list[dict[str, Any]] = [
    {"init": {}},
    {"result": {"is_error": True, "api_error_status": 401, "result": "API Error: 401", "total_cost_usd": 0}},
]
AN_HOUR, AT_ONCE = (3600.0,) * 4, (0.0,) * 4


def outcomes(loop: Loop) -> list[str]:
    return [event["outcome"]["kind"] for event in loop.events("IterationFinished")]


def program(loop: Loop) -> Path:
    """Claude as a program of its own, which can go away."""
    path = loop.folder / "bin" / "claude"
    path.parent.mkdir()
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m claude_iterate.fake_claude "$@"\n')
    path.chmod(0o755)
    loop.env["CLAUDE_ITERATE_CLAUDE__COMMAND"] = str(path)
    return path


def test_one_401_after_a_good_iteration(loop: Loop) -> None:
    """It is a wait like all others: shown, in the journal, ended by `retry`; the iteration keeps its number."""
    loop.patch("core.rules.waits", AWAY_PAUSES=AN_HOUR)
    loop.make()
    loop.script(MORE, REFUSED, DONE)
    process = loop.start("run", "my-task")
    until(lambda: loop.events("WaitStarted"))
    assert "waiting" in loop.call("list").out
    assert loop.call("retry", "my-task").code == 0
    done = loop.finish(process)
    assert (done.code, outcomes(loop)) == (0, ["ok", "away", "ok"])
    assert "Claude worked before and cannot be called now: API Error: 401" in done.err
    assert "Iteration 2 will be repeated" in done.err
    assert "nothing has proven it (after 2 iterations)" in done.out


def test_a_login_that_stays_lost_ends_the_run(loop: Loop) -> None:
    """After the tries, as it would have before them: with the advice to log in."""
    loop.patch("core.rules.waits", AWAY_PAUSES=AT_ONCE)
    loop.make()
    loop.script(MORE, REFUSED)
    done = loop.run()
    assert (done.code, outcomes(loop)) == (1, ["ok", "away", "away", "away", "away", "auth"])
    assert "/login" in done.err


def test_a_claude_that_was_never_there_is_not_waited_for(loop: Loop) -> None:
    """In its first iteration a run ends at once."""
    loop.patch("core.rules.waits", AWAY_PAUSES=AN_HOUR)
    loop.make()
    loop.script(REFUSED)
    assert loop.run().code == 1
    assert outcomes(loop) == ["auth"]


def test_a_claude_that_stays_away_ends_the_run(loop: Loop) -> None:
    """After the tries, with what is missing."""
    loop.patch("core.rules.waits", AWAY_PAUSES=AT_ONCE)
    loop.make()
    loop.script([MORE[0], {"shell": f"rm {program(loop)}"}, *MORE[1:]])
    done = loop.run()
    assert (done.code, outcomes(loop)) == (1, ["ok", "away", "away", "away", "away", "config"])
    assert "Claude CLI not found" in done.err


def test_an_upgrade_that_takes_claude_away(loop: Loop) -> None:
    """The program is missing between two iterations, and is there again when it is looked for."""
    loop.patch("core.rules.waits", AWAY_PAUSES=AN_HOUR)
    loop.make()
    claude = program(loop)
    aside = claude.with_name("aside")
    loop.script([MORE[0], {"shell": f"mv {claude} {aside}"}, *MORE[1:]], DONE)
    process = loop.start("run", "my-task")
    until(lambda: loop.events("WaitStarted"))
    assert "Claude CLI not found" in loop.events("WaitStarted")[0]["detail"]
    shutil.move(aside, claude)
    assert loop.call("retry", "my-task").code == 0
    assert (loop.finish(process).code, outcomes(loop)) == (0, ["ok", "away", "ok"])
    assert [event["why"] for event in loop.events("WaitEnded")] == ["away"]
