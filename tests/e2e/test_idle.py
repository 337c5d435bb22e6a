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


@pytest.mark.parametrize("mode", ["loop", "iterative"])
@pytest.mark.parametrize("place", ["git", "plain"])
def test_two_iterations_without_a_word_and_without_a_change_end_the_run(loop: Loop, mode: str, place: str) -> None:
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
    assert "2 iterations in a row without a report and without a change" in done.out
    assert "You wrote no report" in prompt(loop, 2)
    assert "You wrote no report" not in prompt(loop, 1)
    assert json.loads(loop.call("list", "--json").out)["workspaces"][0]["status"] == "in_progress"


@pytest.mark.parametrize(
    "deed",
    [
        "date +%N > file-$n",
        "echo x >> file",
        'GIT_COMMITTER_DATE="@$(($(date +%s) + 2)) +0000" git commit -q --allow-empty -m x',
        "echo '- [x] one' > $W/TODO.md",
        "mkdir -p $W/working; echo $n > $W/working/notes",
        REPORT,
    ],
    ids=["new-file", "changed-file", "commit", "todo", "working", "report"],
)
def test_work_without_a_report_and_a_report_without_work_go_on(loop: Loop, deed: str) -> None:
    """A change of any kind is not idleness, and neither is a report; only the missing report is told."""
    loop.make()
    (loop.root / "file").write_text("x")
    with_git(loop)
    acts(loop, deed)
    done = loop.run("-m", "3", "--detailed-exit-code")
    assert (done.code, numbers(loop)) == (3, [1, 2, 3])
    assert ("wrote no report" in done.err) == (deed != REPORT)


def test_a_report_or_a_change_in_between_begins_a_new_count(loop: Loop) -> None:
    """Only iterations in a row count."""
    loop.make()
    with_git(loop)
    acts(loop, "true", REPORT, "true", "date > file", "true", "true")
    assert loop.run("--detailed-exit-code").code == 4
    assert [bool(event.get("progress")) for event in loop.events("WorkMeasured")] == [
        *(False, False),
        *(False, True),
        *(False, False),
    ]


@pytest.mark.parametrize(("threshold", "code", "made"), [("0", 3, 4), ("3", 4, 3)])
def test_the_threshold_says_how_many(loop: Loop, threshold: str, code: int, made: int) -> None:
    """0 switches it off."""
    loop.make()
    acts(loop, "true")
    done = loop.run("-m", "4", "--stagnation-threshold", threshold, "--detailed-exit-code")
    assert (done.code, len(numbers(loop))) == (code, made)


def test_a_report_that_does_not_count_is_named_with_its_reason(loop: Loop) -> None:
    """The user and the next prompt learn why."""
    loop.make()
    acts(loop, "echo '{\"complete\": tr' > $S")
    done = loop.run()
    assert "⚠ Iteration 1: Claude wrote no report that counts" in done.err
    assert "⚠ Status report: it is not valid JSON" in done.err
    assert "You wrote no report that counts: it is not valid JSON." in prompt(loop, 2)
    assert len(numbers(loop)) == 2


def test_idle_iterations_are_counted_over_a_kill(loop: Loop) -> None:
    """The run that goes on needs one more, not two."""
    loop.make()
    acts(loop, "true", "kill -9 $PPID; sleep 300", "true")
    loop.run()
    loop.gone()
    assert loop.run("--detailed-exit-code").code == 4
    assert numbers(loop) == [1, 2]
