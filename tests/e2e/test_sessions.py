"""`session = resume`: the next iteration goes on with the last one's session, as long as that is good."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.e2e.conftest import Loop

FIXTURES = Path(__file__).parents[1] / "fixtures" / "claude-2.1.197"
GOING_ON: list[dict[str, Any]] = [{"init": {}}, {"say": "on it"}, {"status": {"complete": False}}, {"result": {}}]
WORK: list[dict[str, Any]] = [{"init": {}}, {"say": "done"}, {"status": {"complete": True}}, {"result": {}}]
UNKNOWN: list[dict[str, Any]] = [{"fixture": str(FIXTURES / "c11-resume-unknown.ndjson")}, {"exit": 1}]


def resumed(loop: Loop) -> list[str]:
    """The session that each call was told to resume."""
    calls = [loop.record(number)["argv"] for number in range(1, len(list(loop.state.glob("call-*.json"))) + 1)]
    return [argv[argv.index("--resume") + 1] if "--resume" in argv else "" for argv in calls]


def sessions(loop: Loop) -> list[str]:
    return [event["session"] for event in loop.events("SessionOpened")]


def test_a_session_goes_on_from_iteration_to_iteration(loop: Loop) -> None:
    """The first call begins one that is kept; each further one resumes it by its id."""
    loop.make()
    loop.script(GOING_ON, GOING_ON, WORK)
    assert loop.run("--session", "resume").code == 0
    first = sessions(loop)[0]
    assert resumed(loop) == ["", first, first]
    assert "--no-session-persistence" not in loop.record(1)["argv"]
    assert [event.get("resumes", "") for event in loop.events("IterationStarted")] == ["", first, first]


def test_an_unknown_session_costs_nothing_but_the_session(loop: Loop) -> None:
    """The same iteration at once with a fresh one; no failure is counted, and the lost id is never tried again."""
    loop.make()
    loop.env |= {"CLAUDE_ITERATE_DELAY": "0.1", "CLAUDE_ITERATE_STOP__FAILURES": "1"}
    loop.script(GOING_ON, UNKNOWN, GOING_ON, WORK)
    done = loop.run("--session", "resume", "-m", "3")
    assert (done.code, loop.numbers()) == (0, [1, 2, 2, 3])
    first, second, _ = sessions(loop)
    assert first != second
    assert resumed(loop) == ["", first, "", second]
    assert "No conversation found" in done.err
    assert loop.events("WaitStarted") == []


def test_a_poisoned_session_is_never_resumed_again(loop: Loop) -> None:
    """Not even when the fresh one fails as well: that failure counts for itself."""
    loop.make()
    words = "API Error: 400 messages.5: `tool_use` ids were found without `tool_result` blocks"
    poisoned: list[dict[str, Any]] = [
        {"init": {}},
        {"result": {"is_error": True, "result": words, "api_error_status": 400}},
    ]
    loop.script(GOING_ON, poisoned)
    done = loop.run("--session", "resume", "-m", "9")
    assert (done.code, loop.numbers()) == (1, [1, 2, 2, 3, 4])
    assert resumed(loop)[2:] == ["", "", ""]
    kinds = loop.outcomes()
    assert kinds == ["ok", "session", "refused", "refused", "refused"]


def test_a_crash_does_not_lose_the_session(loop: Loop) -> None:
    """kill -9 in iteration 2; the run that goes on resumes what iteration 1 left."""
    loop.make()
    loop.env["CLAUDE_ITERATE_SESSION"] = "resume"
    loop.script(GOING_ON, [{"init": {}}, {"touch": "ready"}, {"hang": True}], WORK)
    loop.kill(loop.working())
    assert loop.run().code == 0
    first = sessions(loop)[0]
    assert (resumed(loop), loop.numbers()) == (["", first, first], [1, 2, 2])


def test_a_review_has_fresh_context(loop: Loop) -> None:
    """A reviewer must not remember having done the work."""
    loop.make("- one\n")
    loop.env["CLAUDE_ITERATE_SESSION"] = "resume"
    assert loop.run("--verify").code == 0
    argv = loop.record(2)["argv"]
    assert ("--resume" in argv, "--no-session-persistence" in argv) == (False, True)
