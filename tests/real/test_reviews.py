"""The real Claude reviews by schema: the verdict is ours, and what it does not answer in the schema is none."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from tests.mocks.messages_api import Block, Request, text, tool, used_up
from tests.real.conftest import RealLoop

pytestmark = pytest.mark.real_claude


def entry(number: int, status: str = "met") -> dict[str, Any]:
    return {"number": number, "status": status, "shown_by": "read", "file": "a.txt", "line": 1, "evidence": "seen"}


def answer(*entries: dict[str, Any], **more: Any) -> Block:
    """The model calls the schema's tool."""
    return tool("StructuredOutput", summary="Looked.", requirements=list(entries), findings=[], **more)


def tools(request: Request) -> set[str]:
    return {one["name"] for one in request.body["tools"]}


def reviews(real: RealLoop) -> list[tuple[str, str]]:
    return [(event["verdict"], event.get("summary", "")) for event in real.events("ReviewFinished")]


def test_a_review_by_schema_is_verified(real: RealLoop) -> None:
    """It gets the numbered requirements and no tool that acts; a field more than asked for does not matter."""
    real.make("- one\n- two\n")
    (real.root / "a.txt").write_text("one\n")
    real.api.script(
        real.report(True),
        text("Done."),
        tool("Write", file_path=str(real.root / "b.txt"), content="fixed"),
        tool("Read", file_path=str(real.root / "a.txt")),
        answer(entry(1), entry(2), mood="good"),
    )
    done = real.run("--verify")
    assert done.code == 0, done.err
    assert reviews(real) == [("verified", "Looked.")]
    worked, reviewed = real.api.requests[0], real.api.requests[2]
    assert {"Write", "Edit"} <= tools(worked)
    assert "StructuredOutput" not in tools(worked)
    assert {"StructuredOutput", "Read", "Grep"} <= tools(reviewed)
    assert not {"Bash", "Write", "Edit", "NotebookEdit"} & tools(reviewed)
    assert "\n1. one\n2. two\n" in reviewed.prompt
    assert not (real.root / "b.txt").exists()
    assert "VERDICT: VERIFIED" in (real.workspace / "verification-report.md").read_text()
    costs = [result["total_cost_usd"] for result in real.results()]
    assert real.ending()["cost_usd"] == pytest.approx(sum(costs))


def test_a_review_by_schema_that_finds_something_is_not(real: RealLoop) -> None:
    """What is not met reaches the next iteration, and the next review verifies."""
    real.make("- one\n- two\n")
    read = tool("Read", file_path=str(real.workspace / ".status.json"))
    real.api.script(
        *(real.report(True), text("Done."), answer(entry(1), entry(2, "not_met"))),
        *(read, real.report(True), text("Done."), answer(entry(1), entry(2))),
    )
    done = real.run("--verify")
    assert done.code == 0, done.err
    assert [verdict for verdict, _ in reviews(real)] == ["incomplete", "verified"]
    assert "Requirement 2 is not met: two (seen)" in real.api.requests[3].prompt


def test_an_answer_outside_of_the_schema_is_none(real: RealLoop) -> None:
    """Claude says VERIFIED and never calls the schema's tool: no verdict, however often it says so."""
    real.make()
    real.api.script(forever=text("All is met.\n\nVERDICT: VERIFIED"))
    done = real.call("verify", "my-task", "--json")
    assert (done.code, json.loads(done.out)["passed"]) == (1, False)
    assert reviews(real) == [("invalid", "Claude ended without giving its answer in the form that was asked for")]


def test_an_answer_that_never_fits_the_schema_is_none(real: RealLoop) -> None:
    """Claude Code gives up after a few tries, with an error of its own."""
    real.make()
    real.api.script(forever=tool("StructuredOutput", summary="All is met."))
    assert real.call("verify", "my-task").code == 1
    [(verdict, summary)] = reviews(real)
    assert verdict == "invalid"
    assert "could not give its answer in the form that was asked for" in summary


def test_a_review_cut_by_its_turns_is_none(real: RealLoop) -> None:
    """It says so."""
    real.make()
    real.set(claude__max_turns=1)
    real.api.script(forever=tool("Glob", pattern="*"))
    assert real.call("verify", "my-task").code == 1
    assert reviews(real) == [("invalid", "Claude ran into its turn limit (`claude.max_turns`) before it answered")]


def test_a_review_cut_by_a_usage_limit_is_held_again(real: RealLoop) -> None:
    """The claim is not spent: the run waits, and the next review verifies."""
    real.make("- one\n")
    real.subscribe()
    real.api.script(real.report(True), text("Done."), used_up(time.time() + 3600), answer(entry(1)))
    process = real.waiting("--verify")
    assert real.call("retry", "my-task").code == 0
    done = real.finish(process)
    assert done.code == 0, done.err
    assert [verdict for verdict, _ in reviews(real)] == ["unheld", "verified"]
    assert len(real.events("IterationFinished")) == 1


def test_instructions_are_graded_by_schema(real: RealLoop) -> None:
    """Ten passes are READY; Claude has no tool that edits."""
    real.make()
    criteria = [{"number": number, "grade": "pass", "evidence": "seen"} for number in range(1, 11)]
    real.api.script(tool("StructuredOutput", summary="Good.", criteria=criteria, changes=[]))
    done = real.call("validate", "my-task")
    assert (done.code, done.out.splitlines()[-1]) == (0, "✓ READY: Claude can work from these instructions.")
    assert not {"Write", "Edit"} & tools(real.api.requests[0])
