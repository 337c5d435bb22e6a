"""Checks need no Claude: what happens to it after a claim does not put them off. Only a review waits for it."""

from __future__ import annotations

import json
from shlex import quote
from typing import Any

import pytest

from tests.e2e.conftest import LIMITED, Loop, until

CLAIM = {"status": {"complete": True, "summary": "all done"}}
LIMIT = LIMITED[1:]
OVERLOAD: list[dict[str, Any]] = [
    {"result": {"is_error": True, "result": "API Error: 529 Overloaded", "api_error_status": 529}}
]
NO_LOGIN: list[dict[str, Any]] = [{"result": {"is_error": True, "result": "Not logged in · Please run /login"}}]
ENDS = {"limit": LIMIT, "overload": OVERLOAD, "login": NO_LOGIN}


def tool(name: str, **given: str) -> dict[str, Any]:
    return {"tool": {"name": name, "input": given, "result": "ok"}}


def kinds(loop: Loop) -> list[str]:
    """The milestones of all runs, in order."""
    wanted = {"IterationFinished", "CheckFinished", "ChecksPassed", "ReviewStarted", "WaitStarted", "WaitEnded"}
    found = [entry["event"]["event"] for entry in loop.journal()]
    return [kind for kind in found if kind in wanted or kind in {"VerificationFinished", "RunFinished"}]


@pytest.mark.parametrize("end", ENDS)
def test_green_checks_complete_the_run_at_once(loop: Loop, end: str) -> None:
    """Whatever Claude met after its claim: no wait, no failure."""
    loop.make()
    loop.checks("true")
    loop.script([{"init": {}}, CLAIM, *ENDS[end]])
    done = loop.run("--json")
    told = json.loads(done.out)
    assert (done.code, told["reason"], told["knownBy"]) == (0, "completed", "checks")
    assert kinds(loop) == ["IterationFinished", "CheckFinished", "VerificationFinished", "RunFinished"]


@pytest.mark.parametrize("end", ENDS)
def test_without_a_proof_a_claim_that_was_the_last_word_is_believed(loop: Loop, end: str) -> None:
    """Reported, not proven: the API refused only what was to follow, so there is no wait to hear it again."""
    loop.make()
    loop.script([{"init": {}}, tool("Write", file_path=str(loop.layout.status)), CLAIM, *ENDS[end]])
    told = json.loads(loop.run("--json").out)
    assert (told["reason"], told["knownBy"], told["iterations"]) == ("completed", "report", 1)
    assert kinds(loop) == ["IterationFinished", "RunFinished"]


def test_a_claim_before_another_tool_was_not_the_last_word(loop: Loop) -> None:
    """What that tool did may have undone the work."""
    loop.make()
    loop.env["CLAUDE_ITERATE_LIMITS__ON_USAGE_LIMIT"] = "stop"
    write, further = tool("Write", file_path=str(loop.layout.status)), tool("Bash", command="rm -r src")
    loop.script([{"init": {}}, write, CLAIM, further, *LIMIT])
    assert loop.run().code == 1
    assert (loop.events("RunFinished")[0]["reason"], len(loop.events("ClaimDropped"))) == ("usage_limit", 1)


def test_a_red_check_fails_the_claim_before_the_wait(loop: Loop) -> None:
    """Also when a review is wanted: it would only cost money. The findings are there when the run goes on."""
    loop.make()
    loop.checks("echo it is red; false")
    loop.env["CLAUDE_ITERATE_LIMITS__ON_USAGE_LIMIT"] = "stop"
    loop.script([{"init": {}}, CLAIM, *LIMIT])
    done = loop.run("--verify", "--detailed-exit-code")
    assert (done.code, loop.events("RunFinished")[0]["reason"]) == (7, "usage_limit")
    assert [event["passed"] for event in loop.events("VerificationFinished")] == [False]
    loop.script([{"init": {}}, {"result": {}}])
    loop.run("-m", "1")
    assert loop.events("RunStarted")[1]["carried"]["findings"].endswith("it is red")


@pytest.mark.needs_git
def test_green_checks_stand_while_the_review_waits(loop: Loop) -> None:
    """They run once, before the wait; kill -9 in the wait and `retry`: nothing changed, so only the review is left."""
    loop.make()
    loop.git("init", "-q")
    loop.checks("true")
    loop.env["CLAUDE_ITERATE_VERIFICATION__MAX_ATTEMPTS"] = "1"
    loop.script([{"init": {}}, CLAIM, *LIMIT], [{"init": {}}, {"result": {}}])
    process = loop.waiting("--verify")
    assert "The checks are green. The review begins when Claude can be called." in loop.log()
    loop.kill(process)
    process = loop.start("run", "my-task", "--verify")
    until(lambda: len(loop.events("RunStarted")) == 2)
    until(lambda: loop.call("retry", "my-task").code == 0)
    loop.finish(process)
    before, after = kinds(loop)[:4], kinds(loop)[4:7]
    assert before == ["IterationFinished", "CheckFinished", "ChecksPassed", "WaitStarted"]
    assert after == ["WaitEnded", "ReviewStarted", "VerificationFinished"]
    assert "✓ true: exit code 0" in loop.call("show", "my-task").out


@pytest.mark.needs_git
def test_checks_run_again_after_the_wait_when_the_project_changed(loop: Loop) -> None:
    """What was green then is not what is there now."""
    loop.make()
    loop.git("init", "-q")
    loop.checks("test ! -e spoilt")
    loop.env["CLAUDE_ITERATE_VERIFICATION__MAX_ATTEMPTS"] = "1"
    loop.script([{"init": {}}, CLAIM, *LIMIT])
    process = loop.waiting("--verify")
    (loop.root / "spoilt").touch()
    until(lambda: loop.call("retry", "my-task").code == 0)
    assert loop.finish(process).code == 1
    assert [event["code"] for event in loop.events("CheckFinished")] == [0, 1]
    assert loop.events("ReviewStarted") == []


def test_a_kill_before_the_checks_does_not_put_them_off(loop: Loop) -> None:
    """Killed while the check runs, with the limit on: the next run checks at once and completes."""
    loop.make()
    loop.checks(f"touch {quote(str(loop.workspace))}/ready; test -e {quote(str(loop.workspace))}/go || sleep 300")
    loop.script([{"init": {}}, CLAIM, *LIMIT])
    process = loop.working()
    loop.kill(process)
    loop.go()
    assert loop.run().code == 0
    assert (len(loop.events("IterationStarted")), loop.events("WaitStarted")) == (1, [])


def test_an_open_claim_is_mentioned_when_the_run_ends(loop: Loop) -> None:
    """Ctrl-C during the checks: console, show and JSON say that the claim was not checked, and how to do that."""
    loop.make()
    loop.checks(f"touch {quote(str(loop.workspace))}/ready; sleep 300")
    loop.script([{"init": {}}, CLAIM, {"result": {}}])
    process = loop.working()
    process.terminate()
    done = loop.finish(process)
    words = "Claude reported completion; it was not checked: claude-iterate verify my-task --checks-only"
    assert words in done.err
    assert words in loop.call("show", "my-task").out
    assert loop.document("show", "my-task")["lastRun"]["aboutClaim"] == words
    assert words in loop.log()


def test_what_a_report_says_beside_completion_is_told(loop: Loop) -> None:
    """3 of 10 items: completed, with a line that says so; `blocked` as well: not completed, unless it is proven."""
    loop.make()
    loop.script(
        [{"init": {}}, {"status": {"complete": True, "progress": {"completed": 3, "total": 10}}}, {"result": {}}]
    )
    done = loop.run()
    words = "Claude reported `complete: true` together with 3 of 10 items done."
    assert (done.code, words in done.out, "nothing has proven it" in done.out) == (0, True, True)
    assert words in loop.call("show", "my-task").out
    assert "completed (not proven)" in loop.call("list").out
    loop.script([{"init": {}}, {"status": {"complete": True, "blocked": "a key is missing"}}, {"result": {}}])
    done = loop.run("--again", "--detailed-exit-code")
    assert (done.code, "a key is missing" in done.err, "complete: true" in done.err) == (5, True, True)
    loop.checks("true")
    done = loop.run()
    assert (done.code, "proven by checks" in done.out, "blocked: a key is missing" in done.out) == (0, True, True)
