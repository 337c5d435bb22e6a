"""A review by schema: the verdict is computed from its entries, and nothing else passes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.agents import reviewing
from tests.e2e.conftest import Loop

CLAIM: list[dict[str, Any]] = [{"init": {}}, {"status": {"complete": True, "summary": "all done"}}, {"result": {}}]


def entry(number: int, status: str = "met", evidence: str = "seen in a.txt") -> dict[str, Any]:
    return {"number": number, "status": status, "shown_by": "read", "file": "a.txt", "line": 1, "evidence": evidence}


def answer(*entries: Any, findings: Any = (), **more: Any) -> dict[str, Any]:
    return {"summary": "Looked at all.", "requirements": list(entries), "findings": list(findings), **more}


GOOD = answer(entry(1), entry(2))


def answers(structured: Any) -> list[dict[str, Any]]:
    return [{"init": {}}, {"structured": structured}, {"result": {}}]


def verdict(loop: Loop, *steps: list[dict[str, Any]]) -> dict[str, Any]:
    """What `verify --json` says of the review that Claude gives in this way."""
    loop.script(*steps)
    done = loop.call("verify", "my-task", "--json")
    told: dict[str, Any] = json.loads(done.out)
    assert (done.code == 0) == told["passed"] == (told["review"]["verdict"] == "verified")
    return told


def test_a_review_that_meets_every_requirement_proves_the_claim(loop: Loop) -> None:
    """Claude is asked by schema and has no editing tools; the report for people is ours; `show` counts."""
    loop.make()
    loop.script(CLAIM, answers(GOOD))
    done = loop.run("--verify", "--detailed-exit-code")
    assert done.code == 0, done.err
    argv = loop.record(2)["argv"]
    assert "requirements" in json.loads(argv[argv.index("--json-schema") + 1])["properties"]
    assert argv[argv.index("--disallowedTools") + 1 :][:4] == ["Bash", "Edit", "Write", "NotebookEdit"]
    assert "--json-schema" not in loop.record(1)["argv"]
    prompt = loop.prompt(2)
    assert "\n1. one\n2. two\n" in prompt
    report = (loop.workspace / "verification-report.md").read_text()
    assert "2. ✓ **met**: two" in report
    assert report.endswith("VERDICT: VERIFIED\n")
    assert "✓ review: verified, 2 of 2 requirements met - Looked at all." in loop.call("show", "my-task").out
    rows = loop.document("show", "my-task")["proof"]["review"]["requirements"]
    assert rows[1] == {
        "number": 2,
        "text": "two",
        "status": "met",
        "evidence": "seen in a.txt",
        "shownBy": "a.txt:1",
    }


def test_what_is_not_met_reaches_the_next_prompt(loop: Loop) -> None:
    """With its evidence, and then the run goes on until it is met."""
    loop.make()
    missing = answer(entry(1), entry(2, "not_met", "b.txt is empty"), findings=[{"missing": True, "text": "No tests."}])
    loop.script(CLAIM, answers(missing), CLAIM, answers(GOOD))
    done = loop.run("--verify", "--detailed-exit-code")
    assert (done.code, len(loop.events("IterationFinished"))) == (0, 2)
    prompt = loop.prompt(3)
    assert "The review found 2 things missing.\nLooked at all.\n1. No tests." in prompt
    assert "2. Requirement 2 is not met: two (b.txt is empty)" in prompt
    assert "❌ Review: incomplete, 1 of 2 requirements met" in done.err


FAILED = {"subtype": "error_max_structured_output_retries", "is_error": True, "result": None}
RETRIES = "Failed to provide valid structured output after 5 attempts"


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        (answers(answer(entry(1))), "says nothing about requirement 2"),
        ([{"init": {}}, {"say": "VERDICT: VERIFIED"}, {"result": {}}], "without giving its answer in the form"),
        ([{"init": {}}, {"result": {**FAILED, "errors": [RETRIES]}}], "after 5 attempts"),
        ([*answers(GOOD)[:2], {"exit": 3}], "exited with code 3"),
    ],
    ids=["missing", "never", "retries", "crash"],
)
def test_whatever_is_odd_is_not_a_pass_and_says_why(loop: Loop, steps: list[dict[str, Any]], words: str) -> None:
    """The cause is in the evidence, and the next prompt would have it."""
    loop.make()
    told = verdict(loop, steps)
    assert (told["review"]["verdict"], words in told["review"]["summary"]) == ("invalid", True), told["review"]
    assert words in told["findings"]


def test_the_end_says_what_the_review_came_to(loop: Loop) -> None:
    """Something is missing: not done, and what. No verdict: not proven, and why. `show` has the same words."""
    loop.make()
    loop.env["CLAUDE_ITERATE_VERIFICATION__MAX_ATTEMPTS"] = "1"
    loop.script(CLAIM, answers(answer(entry(1), entry(2, "not_met"))))
    missing = "❌ Not done: the review found 1 thing missing: Requirement 2 is not met: two (seen in a.txt)\n"
    assert missing in loop.run("--verify").err
    loop.script(CLAIM, CLAIM, CLAIM, answers(answer(entry(1))))
    done = loop.run("--verify")
    why = "it says nothing about requirement 2"
    assert f"❌ Not proven: the review gave no verdict: {why}\n" in done.err
    assert f"❌ Review: no verdict, 1 of 2 requirements met - {why}\n" in done.err
    assert f"❌ review: no verdict, 1 of 2 requirements met - {why}\n" in loop.call("show", "my-task").out


@pytest.mark.parametrize("how", ["rm {}", ": > {}"])
def test_instructions_that_become_unreadable_are_never_met(loop: Loop, how: str) -> None:
    """The check spoils them: nothing is verified, and a clear word says why."""
    loop.make()
    path = loop.workspace / "INSTRUCTIONS.md"
    loop.env["CLAUDE_ITERATE_VERIFICATION__CHECKS"] = json.dumps(
        [f"test -e spoilt || {{ touch spoilt; {how.format(path)}; }}"]
    )
    loop.script(CLAIM, answers(GOOD))
    done = loop.run("--verify", "--detailed-exit-code")
    assert done.code not in (0, 3), done
    assert "INSTRUCTIONS.md" in done.err
    assert loop.events("RunFinished")[0]["reason"] != "completed"


@pytest.mark.parametrize(
    ("instructions", "numbers"),
    [
        ("Write a novel.", 1),
        ("\n".join(f"- [ ] item {number}" for number in range(500)), 100),
    ],
    ids=["sentence", "500-boxes"],
)
def test_any_instructions_can_be_verified(loop: Loop, instructions: str, numbers: int) -> None:
    """A single sentence or five hundred boxes: every number needs its entry."""
    loop.make(instructions)
    entries = [entry(number) for number in range(1, numbers + 1)]
    assert verdict(loop, answers(answer(*entries)))["passed"] is True
    assert verdict(loop, answers(answer(*entries[1:])))["passed"] is False


def test_words_do_not_replace_the_answer_by_schema(loop: Loop) -> None:
    """A Claude that knows the schema has to use it: neither its words nor a file that it wrote stand in."""
    loop.make()
    write = {"write": {"path": "verification-report.md", "text": "VERDICT: VERIFIED"}}
    told = verdict(loop, [{"init": {}}, write, {"say": json.dumps(GOOD)}, {"result": {}}])
    assert "without giving its answer in the form" in told["review"]["summary"]


@pytest.mark.parametrize(("said", "verdict"), [("json.dumps(review)", "verified"), ("'All is met.'", "invalid")])
def test_another_agent_answers_as_text(loop: Loop, said: str, verdict: str) -> None:
    """The JSON object counts, and no other words."""
    loop.make()
    reviewing(loop, body=f"answer = {said}")
    loop.call("verify", "my-task")
    assert [event["verdict"] for event in loop.events("ReviewFinished")] == [verdict]


def test_a_prompt_of_the_user_gets_the_requirements_all_the_same(loop: Loop) -> None:
    """One that was written before there was a list of them: list and form of the answer stand at its end."""
    loop.make()
    (loop.workspace / "prompts").mkdir()
    (loop.workspace / "prompts" / "verify-completion.md").write_text("Look at {{ project_root }}.\n")
    assert verdict(loop, answers(GOOD))["passed"] is True
    prompt = loop.prompt(1)
    assert prompt.startswith(f"Look at {loop.root}.")
    assert "\n1. one\n2. two\n" in prompt


def test_verify_without_a_claim_speaks_of_no_claim(loop: Loop) -> None:
    """Nobody claimed anything: the task is not done, because a check fails."""
    loop.make()
    loop.checks("echo red; exit 3")
    done = loop.call("verify", "my-task")
    assert done.code == 1
    assert "❌ Not done: the check `echo red; exit 3` failed with exit code 3" in done.err
    shown = loop.call("show", "my-task").out
    assert "Proof: the task is not done" in shown
    assert "the claim" not in (done.err + done.out + shown).lower()


def test_verify_needs_no_permissions(loop: Loop) -> None:
    """The review only looks, so nothing is said of what it may not do."""
    loop.make()
    del loop.env["CLAUDE_ITERATE_CLAUDE__PERMISSION_MODE"]
    loop.env["CLAUDE_ITERATE_MAX_ITERATIONS"] = "0"
    loop.script(answers(GOOD))
    done = loop.call("verify", "my-task")
    assert done.code == 0
    assert "No permissions are configured" not in done.err


def test_a_review_without_a_verdict_leaves_what_stood_before(loop: Loop) -> None:
    """The task stays proven by its checks, a run has nothing to do, and the next step is another verify."""
    loop.make()
    loop.checks("true")
    loop.script([{"init": {}}, {"status": {"complete": True}}, {"result": {}}])
    assert loop.run().code == 0
    loop.script([{"init": {}}, {"say": "All is well."}, {"result": {}}])
    done = loop.call("verify", "my-task")
    assert (done.code, "Next: claude-iterate verify my-task\n" in done.err) == (1, True)
    assert loop.document("list")["workspaces"][0]["knownBy"] == "checks"
    assert "nothing to do" in loop.run().err
