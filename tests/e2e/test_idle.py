"""A run in which Claude does nothing says so at once, asks for a report, and ends; one that gets on does not."""

from __future__ import annotations

import json

import pytest

from tests.e2e.conftest import Loop
from tests.e2e.shell_agent import acts, prompt, with_git

pytestmark = pytest.mark.needs_git
REPORT = """report '{"complete": false}'"""


def numbers(loop: Loop) -> list[int]:
    return [event["number"] for event in loop.events("IterationFinished")]


@pytest.fixture(autouse=True)
def breaker(loop: Loop) -> None:
    """As users have it, but for one iteration."""
    loop.env["CLAUDE_ITERATE_STOP__NO_PROGRESS"] = "2"


@pytest.mark.parametrize("mode", ["loop", "iterative"])
@pytest.mark.parametrize("place", ["git", "plain"])
def test_iterations_without_a_word_and_without_a_change_end_the_run(loop: Loop, mode: str, place: str) -> None:
    """In every mode, with and without git. The first is told at once, the next prompt says so, the end is true."""
    loop.make(mode=mode)
    (loop.root / "file").write_text("x")
    if place == "git":
        with_git(loop)
    acts(loop, "cat file")
    done = loop.run("-m", "8", "--detailed-exit-code")
    assert (done.code, numbers(loop)) == (4, [1, 2])
    assert "⚠ Iteration 1: Claude wrote no report" in done.err
    assert "✓" not in done.err
    assert "❌ No progress in 2 iterations in a row" in done.err
    assert loop.events("RunFinished")[0]["detail"] == "no commit, no changed file; the last iteration wrote no report"
    assert "You wrote no report" in prompt(loop, 2)
    assert "You wrote no report" not in prompt(loop, 1)
    assert json.loads(loop.call("list", "--json").out)["workspaces"][0]["status"] == "in_progress"


@pytest.mark.parametrize(
    "deed",
    [
        "date +%N > file-$n",
        "echo x >> file",
        'GIT_COMMITTER_DATE="@$(($(date +%s) + 2)) +0000" git commit -q --allow-empty -m x',
        f"echo $n > file; {REPORT}",
    ],
    ids=["new-file", "changed-file", "commit", "report"],
)
def test_work_goes_on_with_a_report_and_without_one(loop: Loop, deed: str) -> None:
    """A change of the project is not idleness; only the missing report is told."""
    loop.make()
    (loop.root / "file").write_text("x")
    with_git(loop)
    acts(loop, deed)
    done = loop.run("-m", "3", "--detailed-exit-code")
    assert (done.code, numbers(loop)) == (3, [1, 2, 3])
    assert ("wrote no report" in done.err) != (REPORT in deed)


@pytest.mark.parametrize(
    "deed",
    [
        """report '{"complete": false, "progress": {"completed": '$n', "total": 50}}'""",
        "echo '- [x] one' > $W/TODO.md",
        "mkdir -p $W/working; echo $n > $W/working/notes",
        "git add -A; git commit -q -m x",
    ],
    ids=["report", "todo", "working", "commit"],
)
def test_what_claude_counts_and_notes_is_no_work(loop: Loop, deed: str) -> None:
    """However many items it calls done: only a change of the project counts. The end has the command for work that is
    elsewhere."""
    loop.make()
    with_git(loop)
    acts(loop, deed)
    done = loop.run("-m", "12", "--detailed-exit-code")
    assert (done.code, numbers(loop)) == (4, [1, 2])
    assert ("config stop.no_progress 0 --workspace my-task" in done.err) == ("report" in deed)


@pytest.mark.parametrize(("threshold", "code", "made"), [("0", 3, 4), ("3", 4, 3)])
def test_the_threshold_is_about_reports_of_no_work_in_iterative_mode(
    loop: Loop, threshold: str, code: int, made: int
) -> None:
    """0 switches it off, and then the breaker does not end the run either, unless the user sets it."""
    loop.make(mode="iterative")
    acts(loop, """report '{"complete": false, "worked": false}'""")
    del loop.env["CLAUDE_ITERATE_STOP__NO_PROGRESS"]
    done = loop.run("-m", "4", "--stagnation-threshold", threshold, "--detailed-exit-code")
    assert (done.code, len(numbers(loop))) == (code, made), done.err


def test_a_report_that_does_not_count_is_named_with_its_reason(loop: Loop) -> None:
    """The user and the next prompt learn why."""
    loop.make()
    acts(loop, "echo '{\"complete\": tr' > $S")
    done = loop.run()
    assert "⚠ Iteration 1: Claude wrote no report that counts" in done.err
    assert "⚠ Status report: it is not valid JSON" in done.err
    assert "You wrote no report that counts: it is not valid JSON." in prompt(loop, 2)
    assert len(numbers(loop)) == 2
