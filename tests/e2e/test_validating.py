"""`validate`: exit code 0 only if the grades of this call make the verdict READY."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.conftest import Loop

REPORT = "# Validation\n\nVERDICT: READY\n"
"""One that an earlier call left."""


def grades(**wrong: str) -> dict[str, Any]:
    """An answer by schema: all pass but for those given by their number, as in `n3="fail"`."""
    criteria = [{"number": n, "grade": wrong.get(f"n{n}", "pass"), "evidence": "seen"} for n in range(1, 11)]
    return {"summary": "As it is.", "criteria": criteria, "changes": ["Say how."]}


def answers(structured: Any) -> list[dict[str, Any]]:
    return [{"init": {}}, {"structured": structured}, {"result": {}}]


def test_json_is_one_document(loop: Loop) -> None:
    """With exactly these keys."""
    loop.make()
    loop.script(answers(grades(n2="partial")))
    done = loop.call("validate", "my-task", "--json")
    assert json.loads(done.out) == {
        "workspace": "my-task",
        "verdict": "NEEDS_REVISION",
        "exitCode": 1,
        "report": (loop.workspace / "validation-report.md").read_text(),
        "path": str(loop.workspace / "validation-report.md"),
        "changed": [],
    }


def test_a_failed_call_has_no_verdict(loop: Loop) -> None:
    """Even if it answered before it fell over."""
    loop.make()
    loop.script([*answers(grades())[:2], {"exit": 3}])
    done = loop.call("validate", "my-task", "--json")
    assert done.code == 1
    assert json.loads(done.out)["verdict"] == "INVALID"


def test_a_denied_tool_on_the_way_is_no_failure(loop: Loop) -> None:
    """Claude wanted to try a command and may not; what counts is the answer."""
    loop.make()
    steps = answers(grades())
    steps[-1]["result"]["permission_denials"] = [{"tool_name": "Bash", "tool_use_id": "t", "tool_input": {}}]
    loop.script(steps)
    assert loop.call("validate", "my-task").code == 0


def test_list_and_show_tell_of_runs_only(loop: Loop) -> None:
    """A validation is no run: no iteration, the same last run, log and status. Its money is spent all the same."""
    loop.make()
    assert loop.run().code == 0
    before = looks(loop)
    assert loop.call("validate", "my-task", "--dry-run").code == 0
    tried = looks(loop)
    assert tried[0].pop("lastDryRun")["purpose"] == "validate"
    assert before[0].pop("lastDryRun") is None
    assert tried == before
    assert loop.call("validate", "my-task").code == 0
    after = looks(loop)
    assert after[0].pop("lastDryRun") is None
    assert after[0]["counters"].pop("costUsd") > before[0]["counters"].pop("costUsd")
    assert after == before


def looks(loop: Loop) -> list[Any]:
    """What the two commands tell."""
    return [loop.document(*words) for words in (["show", "my-task"], ["list"])]


def test_nothing_to_validate(loop: Loop) -> None:
    """Instructions must be there before Claude is called."""
    loop.make()
    (loop.workspace / "INSTRUCTIONS.md").unlink()
    done = loop.call("validate", "my-task")
    assert done.code == 1
    assert "Instructions not found" in done.err
    assert not loop.state.exists()


@pytest.mark.parametrize(
    ("given", "verdict"),
    [(grades(), "READY"), (grades(n7="fail"), "MAJOR_ISSUES")],
)
def test_the_verdict_is_computed_from_the_grades(loop: Loop, given: dict[str, Any], verdict: str) -> None:
    """Claude is asked by schema and has no editing tools; the report for people is ours."""
    loop.make()
    loop.script(answers(given))
    done = loop.call("validate", "my-task")
    assert done.code == (0 if verdict == "READY" else 1)
    assert "Grading the instructions of my-task...\n" in done.err
    assert done.out.splitlines()[-1].split(":")[0].endswith(verdict)
    argv = loop.record(1)["argv"]
    assert "criteria" in json.loads(argv[argv.index("--json-schema") + 1])["properties"]
    assert "Write" in argv[argv.index("--disallowedTools") :]
    report = (loop.workspace / "validation-report.md").read_text()
    assert f"VERDICT: {verdict}" in report
    assert "1. Say how." in report
    done = loop.call("validate", "my-task", "-q")
    assert (done.code == 0, len(done.out.splitlines())) == (verdict == "READY", 1)


def test_no_verdict_says_why_and_what_to_do(loop: Loop) -> None:
    """In one line, and no older report is taken for this call's."""
    loop.make()
    (loop.workspace / "validation-report.md").write_text(REPORT)
    loop.script([{"init": {}}, {"say": "VERDICT: READY"}, {"result": {}}])
    done = loop.call("validate", "my-task")
    last = done.out.splitlines()[-1]
    assert (done.code, last.startswith("❌ No verdict: ")) == (1, True), last
    assert "without giving its answer in the form" in last
    assert last.endswith("Try again: claude-iterate validate my-task")


def test_a_project_that_changed_meanwhile_is_told(loop: Loop) -> None:
    """Claude was only to look."""
    loop.make()
    sneak = {"write": {"path": "../../../calc.py", "text": "sneaked"}}
    loop.script([{"init": {}}, sneak, *answers(grades())[1:]])
    done = loop.call("validate", "my-task")
    assert "The project changed while Claude was only to look: calc.py" in done.err
    loop.script([{"init": {}}, {"write": {"path": "INSTRUCTIONS.md", "text": "less"}}, *answers(grades())[1:]])
    done = loop.call("validate", "my-task")
    assert (done.code, "the instructions changed while they were graded" in done.out) == (1, True)


def test_without_permissions_nothing_is_allowed_to_a_call_that_only_looks(loop: Loop) -> None:
    """It needs none, and nothing is said of them."""
    loop.make()
    del loop.env["CLAUDE_ITERATE_CLAUDE__PERMISSION_MODE"]
    loop.script(answers(grades()))
    done = loop.call("validate", "my-task")
    argv = loop.record(1)["argv"]
    assert (done.code, argv[argv.index("--permission-mode") + 1]) == (0, "default")
    assert "No permissions are configured" not in done.err
