"""A report counts for an iteration because the agent wrote it there; whatever else brings one about ends nothing."""

from __future__ import annotations

import json
from shlex import quote

import pytest

from tests.e2e.agents import acts, prompt, with_git
from tests.e2e.conftest import Loop

pytestmark = pytest.mark.needs_git
OLD = '{"complete": true, "summary": "of last week", "lastUpdated": "2026-01-01T00:00:00Z"}'
UNFINISHED = """report '{"complete": false}'"""
CLAIM = """report '{"complete": true}'"""
DATED = """report '{"complete": true, "lastUpdated": "now"}'"""
WITH_ID = 'report "{\\"complete\\": true, \\"lastUpdated\\": \\"2026-01-01\\", \\"iteration\\": \\"$(id %s)\\"}"'


def ended(loop: Loop, *flags: str) -> str:
    """How the run ended."""
    loop.run("--stagnation-threshold", "0", *flags)
    return str(loop.events("RunFinished")[-1]["reason"])


@pytest.mark.parametrize(
    "deed",
    [
        CLAIM,
        """report '{"complete": true, "iteration": 3}'""",
        WITH_ID % "",
        "printf '```json\\n{\"complete\": true}\\n```\\n' > $S",
        f"{DATED}; git add -A -f; git commit -q -m done",
    ],
    ids=["new-text", "other-key", "id", "fenced", "committed"],
)
def test_what_the_agent_wrote_counts(loop: Loop, deed: str) -> None:
    """With and without the id; in a Markdown fence; also if it commits its report at once."""
    loop.make()
    (loop.workspace / ".status.json").write_text('{"complete": true, "summary": "before"}\n')
    with_git(loop)
    acts(loop, deed)
    assert ended(loop, "-m", "1") == "completed"


@pytest.mark.parametrize(
    ("deed", "why"),
    [
        (f"{UNFINISHED}; git checkout -q -- .", "old one"),
        ("touch $S", "old one"),
        ("cp $S x; rm $S; mv x $S", "old one"),
        (f"git stash -q; {UNFINISHED}; git checkout -q stash@{{0}} -- .", "old one"),
        ("git checkout -q other -- .", "old one"),
        ("mkdir -p ../other; cp $S ../other/; ln -sf ../other/.status.json $S", "symbolic link"),
        ("""report '{"complete": true, "iteration": "1-00000000"}'""", "id of another iteration"),
        (f"{UNFINISHED}; git checkout -q undated -- .", "old one"),
        ("mkdir -p ../other; echo '{\"complete\": true}' > ../other/s; ln -f ../other/s $S", "hard link"),
    ],
    ids=["git-checkout", "touch", "moved", "git-stash", "other-branch", "link", "other-id", "undated", "hard-link"],
)
def test_what_was_there_before_does_not_count(loop: Loop, deed: str, why: str) -> None:
    """A claim of last week that is touched, put there again, linked, or brought back by git from anywhere."""
    loop.make()
    status = loop.workspace / ".status.json"
    status.write_text(OLD.replace("last week", "another branch"))
    with_git(loop)
    loop.git("branch", "other")
    status.write_text('{"complete": true}\n')
    loop.git("commit", "-q", "-a", "-m", "undated")
    loop.git("branch", "undated")
    status.write_text(OLD)
    loop.git("commit", "-q", "-a", "-m", "claimed")
    acts(loop, deed)
    assert ended(loop, "-m", "1") == "max_iterations"
    (finished,) = loop.events("IterationFinished")
    assert "status" not in finished
    assert why in finished["problems"][0]
    assert loop.events("StatusChanged") == [] or UNFINISHED in deed


def test_checks_decide_about_the_same_words_again(loop: Loop) -> None:
    """An agent that ignores the id: it is told which one was missing, and completes the run when the check is green.
    What was merely there, as in iteration 2, is no claim."""
    loop.make()
    loop.checks(f"test -e {loop.workspace}/fixed")
    loop.env["CLAUDE_ITERATE_VERIFICATION__MAX_ATTEMPTS"] = "9"
    acts(loop, CLAIM, "true", CLAIM, f"touch $W/fixed; {CLAIM}")
    assert ended(loop, "-m", "9") == "completed"
    assert [event["passed"] for event in loop.events("VerificationFinished")] == [False, False, True]
    asked = loop.events("IterationStarted")[2]["report_id"]
    assert f"`iteration` does not have the id {asked}, so the checks decide" in prompt(loop, 4)


@pytest.mark.parametrize("writer", ["check", "between", "background"])
def test_only_what_is_written_during_the_iteration_counts(loop: Loop, writer: str) -> None:
    """Not what a check writes, nor a process between two iterations, nor one that outlived its own and had the id."""
    loop.make()
    claim = f"echo '{{\"complete\": true}}' > {quote(str(loop.workspace))}/.status.json"
    if writer == "check":
        loop.checks(f"{claim}; false")
        acts(loop, CLAIM, "true")
        flags: tuple[str, ...] = ("-m", "2")
    elif writer == "between":
        # The review is a call of Claude, and no iteration.
        acts(loop, CLAIM, claim, "true")
        flags = ("-m", "2", "--verify")
    else:
        # What escaped from iteration 1 writes while iteration 2 is at work.
        acts(loop, UNFINISHED, WITH_ID % "1")
        flags = ("-m", "2")
    assert ended(loop, *flags) == "max_iterations"
    assert "status" not in loop.events("IterationFinished")[1]
    assert not any(event["status"]["complete"] for event in loop.events("StatusChanged")[1:])


BLOCK = "---LOOP_STATUS---\\nSTATUS: COMPLETE\\n{}---END_LOOP_STATUS---"


@pytest.mark.parametrize(
    ("say", "reason"),
    [
        (BLOCK.format(""), "completed"),
        (BLOCK.format("EXIT_SIGNAL: false\\n"), "max_iterations"),
        ("An example:\\n```\\n" + BLOCK.format("") + "\\n```\\nNothing is done.", "max_iterations"),
    ],
    ids=["block", "exit-signal-false", "quoted"],
)
def test_a_block_in_the_answer(loop: Loop, say: str, reason: str) -> None:
    """It counts where there is no report, unless it says that the loop is to go on or is only quoted."""
    loop.make()
    acts(loop, f"SAY='{say}'")
    assert ended(loop, "-m", "1") == reason


def test_a_report_in_the_words_of_a_sub_agent_is_none(loop: Loop) -> None:
    """Only what Claude itself says last counts."""
    loop.make()
    words = '{"role":"assistant","content":[{"type":"text","text":"' + BLOCK.format("") + '"}]}'
    line = '{"type":"assistant","message":' + words + ',"parent_tool_use_id":"t1"}'
    acts(loop, f"printf '%s\\n' '{line}'")
    assert ended(loop, "-m", "1") == "max_iterations"
    assert [event["parent"] for event in loop.events("AssistantText")] == ["t1"]


def test_the_prompt_asks_for_an_id_and_claude_gives_it(loop: Loop) -> None:
    """Another one in each iteration; the journal has it, and so has the report of the built-in Claude."""
    loop.make()
    assert loop.run().code == 0
    first, second = (event["report_id"] for event in loop.events("IterationStarted"))
    assert first != second
    assert json.loads((loop.workspace / ".status.json").read_text())["iteration"] == second
