"""A note reaches the next iteration's prompt, once, whatever happens in between."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.conftest import DONE, HANGING, LIMITED, PATIENT, UNDONE, Loop, until
from tests.e2e.test_steering import say

NOTE = "Use tabs. {{ nothing }} $& %s"


def prompts(loop: Loop) -> list[bool]:
    """For each call of Claude: whether the note was in its prompt."""
    calls = sorted(loop.state.glob("call-*.stdin"))
    return [NOTE in Path(call).read_text() for call in calls]


def test_a_note_reaches_the_next_iteration_and_no_other(loop: Loop) -> None:
    """The running one is not disturbed; the text arrives as it was written."""
    loop.make()
    loop.script(PATIENT, UNDONE, DONE)
    process = loop.working()
    assert "Noted" in say(loop, "note", NOTE)
    loop.go()
    done = loop.finish(process)
    assert done.code == 0
    assert prompts(loop) == [False, True, False]
    assert "Running iteration 2... (with 1 note)" in done.err
    assert "Notes: 1" in loop.log()


def test_a_note_can_be_left_while_nothing_runs(loop: Loop) -> None:
    """From standard input as well; a dry run does not use it up."""
    loop.make()
    text = loop.folder / "note.md"
    text.write_text(NOTE)
    with text.open() as stdin:
        done = loop.call("note", "my-task", "-", stdin=stdin)
    assert done.code == 0
    assert "claude-iterate run my-task" in done.err
    assert loop.run("--dry-run", "-m", "1").code == 0
    loop.script(UNDONE, UNDONE, DONE)  # the dry run was the first call
    before = len(prompts(loop))
    assert loop.run().code == 0
    assert prompts(loop)[before:] == [True, False]
    assert (
        "my-task is completed. Next: claude-iterate run my-task --again\n" in loop.call("note", "my-task", "more").err
    )


def test_an_iteration_that_is_done_again_gets_the_note_again(loop: Loop) -> None:
    """After a limit, and after a reboot; then it is delivered."""
    loop.make()
    loop.env["CLAUDE_ITERATE_LIMITS__RESET_MARGIN"] = "0"
    loop.script(LIMITED, HANGING, UNDONE, DONE)
    say(loop, "note", NOTE)
    process = loop.waiting()
    say(loop, "retry")
    until((loop.workspace / "ready").exists)
    say(loop, "reboot")
    assert loop.finish(process).code == 0
    assert prompts(loop) == [True, True, True, False]
    assert loop.outcomes() == ["usage_limit", "rebooted", "ok", "ok"]


def test_a_killed_runner_delivers_the_note_again(loop: Loop) -> None:
    """Rather twice than never: the iteration is done again, too."""
    loop.make()
    loop.script(HANGING, UNDONE, DONE)
    say(loop, "note", NOTE)
    process = loop.working()
    loop.kill(process)
    assert loop.run().code == 0
    assert prompts(loop) == [True, True, False]


def test_a_note_that_no_iteration_read_is_named_at_the_end(loop: Loop) -> None:
    """It came in the last iteration, so nobody should take it for heard."""
    loop.make()
    loop.script([UNDONE[0], {"touch": "ready"}, {"wait_for": "go"}, *UNDONE[1:]])
    process = loop.working("-m", "1")
    say(loop, "note", NOTE)
    loop.go()
    assert "  Not read yet: 1 note.\n" in loop.finish(process).out


def test_an_iteration_that_ends_badly_does_not_use_the_note_up(loop: Loop) -> None:
    """The next one gets it, and the one after that only if it was not heard: a good iteration has it once."""
    loop.make()
    loop.script([{"init": {}}, {"exit": 3}], UNDONE, UNDONE, DONE)
    say(loop, "note", NOTE)
    assert loop.run().code == 0
    assert prompts(loop) == [True, True, False, False]


@pytest.mark.parametrize("words", [("- use tabs",), ("first", "- then this", "--", "-x")])
def test_a_note_may_begin_with_a_dash(loop: Loop, words: tuple[str, ...]) -> None:
    """A list item is no option, and after `--` nothing is; options before it still work."""
    loop.make()
    document = json.loads(say(loop, "note", "--json", *words))
    kept = (loop.workspace / "notes" / document["note"]).read_text()
    assert kept == " ".join(word for word in words if word != "--") + "\n"


def test_a_single_word_with_a_dash_is_taken_for_a_misspelt_option(loop: Loop) -> None:
    """The help shows how it becomes a note; one that belongs before the command is told that."""
    loop.make()
    refused = loop.call("note", "my-task", "--jsno", "text")
    assert refused.code == 2
    assert "See: claude-iterate note --help" in refused.err
    assert "It goes before the command" in loop.call("note", "my-task", "text", "-C", "/").err
    assert not (loop.workspace / "notes").exists()


def test_bad_notes_are_refused(loop: Loop) -> None:
    """10 MB and nothing at all: exit 2, what to do, and nothing is kept."""
    loop.make()
    huge = loop.folder / "huge"
    huge.write_bytes(b"x" * 10_000_000)
    with huge.open("rb") as stdin:
        refused = loop.call("note", "my-task", "-", stdin=stdin)
    assert refused.code == 2
    assert "larger than 1 MB" in refused.err
    assert "Put it into a file" in refused.err
    empty = loop.call("note", "my-task", "-")
    assert empty.code == 2
    assert "empty" in empty.err
    assert not (loop.workspace / "notes").exists()
