"""What Claude or a check wrote cannot control the terminal of a later reader; a pipe gets it unchanged."""

from __future__ import annotations

import json

import pytest

from tests.e2e.conftest import Loop
from tests.e2e.reviewers import reviewing
from tests.e2e.terminal import Terminal

EVIL = "\x1b]0;owned\x07"
MASKED = "␛]0;owned␇"


def seen(loop: Loop, *arguments: str) -> str:
    """All that a command shows on a terminal, once the marked text is there."""
    terminal = Terminal(loop, *arguments)
    terminal.process.wait(timeout=120)
    terminal.await_text("owned")
    terminal.close()
    return terminal.seen


def test_the_report_of_a_review(loop: Loop) -> None:
    """`verify --show-report`."""
    loop.make()
    reviewing(loop, "VERIFIED", body=f"report.write_text(text.replace('Looked.', {EVIL!r}))")
    shown = seen(loop, "verify", "my-task", "--quiet", "--show-report")
    assert (EVIL in shown, MASKED in shown) == (False, True)
    assert EVIL in loop.call("verify", "my-task", "--show-report").out


def test_the_report_on_instructions(loop: Loop) -> None:
    """`validate`."""
    loop.make()
    path = "validation-report.md"
    loop.script([{"init": {}}, {"write": {"path": path, "text": f"# {EVIL}\n\nVERDICT: READY\n"}}, {"result": {}}])
    shown = seen(loop, "validate", "my-task")
    assert (EVIL in shown, MASKED in shown) == (False, True)
    assert EVIL in loop.call("validate", "my-task").out


@pytest.mark.parametrize("command", ["show", "logs"])
def test_a_workspace(loop: Loop, command: str) -> None:
    """Summaries, the output of checks, and the log."""
    loop.make()
    loop.env["CLAUDE_ITERATE_VERIFICATION__CHECKS"] = json.dumps([r"printf '\033]0;owned\007'; false"])
    loop.script([{"init": {}}, {"status": {"complete": True, "summary": f"{EVIL} did it"}}, {"result": {}}])
    assert loop.run().code == 1
    assert EVIL in loop.call(command, "my-task").out
    shown = seen(loop, command, "my-task")
    assert (EVIL in shown, MASKED in shown) == (False, True)


def test_words_of_claude_in_an_error(loop: Loop) -> None:
    """`setup --goal` quotes Claude when it wrote nothing."""
    loop.script([{"init": {}}, {"result": {"result": f"{EVIL} no"}}])
    shown = seen(loop, "setup", "my-task", "--goal", "tea")
    assert (EVIL in shown, MASKED in shown) == (False, True)
