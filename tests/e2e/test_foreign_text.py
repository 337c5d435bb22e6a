"""What Claude or a check wrote cannot control a terminal: neither the one that it is printed to nor that of a later
reader of a pipe, a file or a message. Journal and raw output keep it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.agents import reviewing
from tests.e2e.conftest import Loop
from tests.e2e.terminal import Terminal

EVIL = "\x1b]0;owned\x07"
MASKED = "␛]0;owned␇"


def seen(loop: Loop, *arguments: str) -> str:
    """All that a command shows on a terminal."""
    terminal = Terminal(loop, *arguments)
    terminal.finish()
    terminal.close()
    return terminal.seen


def test_the_report_of_a_review(loop: Loop) -> None:
    """`verify --show-report`."""
    loop.make()
    reviewing(loop, body=f"structured = dict(review, summary={EVIL!r})")
    shown = seen(loop, "verify", "my-task", "--quiet", "--show-report")
    assert (EVIL in shown, MASKED in shown) == (False, True)
    piped = loop.call("verify", "my-task", "--show-report").out
    assert (EVIL in piped, MASKED in piped) == (False, True)


def test_the_report_on_instructions(loop: Loop) -> None:
    """`validate` shows what Claude says of them."""
    loop.make()
    graded = [{"number": 1, "grade": "fail", "evidence": EVIL, "suggestion": f"{EVIL} first"}]
    said: dict[str, Any] = {"structured": {"summary": f"{EVIL} looked", "criteria": graded, "changes": [EVIL]}}
    loop.script([{"init": {}}, said, {"result": {}}])
    shown = seen(loop, "validate", "my-task")
    assert (EVIL in shown, MASKED in shown) == (False, True)
    piped = loop.call("validate", "my-task").out
    assert (EVIL in piped, MASKED in piped) == (False, True)


@pytest.mark.parametrize("command", ["show", "logs"])
def test_a_workspace(loop: Loop, command: str) -> None:
    """Summaries, the output of checks, and the log."""
    loop.make()
    loop.checks(r"printf '\033]0;owned\007'; false")
    loop.script([{"init": {}}, {"status": {"complete": True, "summary": f"{EVIL} did it"}}, {"result": {}}])
    done = loop.run("--verbose")
    assert done.code == 1
    for printed in (done.err, loop.log(), loop.call(command, "my-task").out):
        assert (EVIL in printed, MASKED in printed) == (False, True)
    assert any(EVIL in event["output"] for event in loop.events("CheckFinished"))
    shown = seen(loop, command, "my-task")
    assert (EVIL in shown, MASKED in shown) == (False, True)


@pytest.mark.parametrize("quiet", [True, False])
def test_a_document_holds_the_same_and_controls_nothing(loop: Loop, quiet: bool) -> None:
    """With --json: escaped, so that a program reads what was said, and a terminal that shows it is safe."""
    words = f"{EVIL}\x9b2J\x7f\u202e needs a key"
    loop.make()
    loop.script([{"init": {}}, {"status": {"complete": False, "blocked": words}}, {"result": {}}])
    done = loop.run("--json", *(["--quiet"] if quiet else []))
    for document in (done.out, loop.call("show", "my-task", "--json").out, loop.call("logs", "my-task", "--json").out):
        assert not set(document) & set("\x1b\x07\x9b\x7f\u202e")
        assert words.rsplit(maxsplit=1)[-1] in document
    assert json.loads(done.out)["detail"] == words
    assert "❌ Claude is blocked and needs you: ␛]0;owned␇" in done.err
    assert not set(done.err) & set("\x1b\x07\x9b\x7f\u202e")


def test_words_of_claude_in_an_error(loop: Loop) -> None:
    """`setup --goal` quotes Claude when it wrote nothing."""
    loop.script([{"init": {}}, {"result": {"result": f"{EVIL} no"}}])
    shown = seen(loop, "setup", "my-task", "--goal", "tea")
    assert (EVIL in shown, MASKED in shown) == (False, True)
