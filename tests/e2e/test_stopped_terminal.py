"""A terminal that takes nothing holds up neither the work nor the time-outs."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.conftest import Loop, until
from tests.e2e.terminal import Terminal

DONE: list[dict[str, Any]] = [{"status": {"complete": True}}, {"result": {}}]
LINES = 3000


def words(count: int = LINES) -> list[dict[str, Any]]:
    return [{"say": f"line {number:05d} {'x' * 80}"} for number in range(count)]


@pytest.fixture
def open_terminals() -> Iterator[list[Terminal]]:
    made: list[Terminal] = []
    yield made
    for terminal in made:
        terminal.close()


def outcomes(loop: Loop) -> list[str]:
    return [event["outcome"]["kind"] for event in loop.events("IterationFinished")]


@pytest.mark.parametrize("level", ["progress", "verbose"])
def test_ctrl_s_does_not_switch_off_the_time_outs(loop: Loop, open_terminals: list[Terminal], level: str) -> None:
    """A tool that hangs is ended, and so is the run, with its exit code; all without Ctrl-Q."""
    loop.make()
    loop.env |= {"CLAUDE_ITERATE_TIMEOUTS__ITERATION": "3s", "CLAUDE_ITERATE_STOP__FAILURES": "1"}
    go = str(loop.folder / "go")
    loop.script([{"init": {}}, {"wait_for": go}, *words(), {"hang": True}])
    terminal = Terminal(loop, "run", "my-task", "--output", level)
    open_terminals.append(terminal)
    terminal.await_text("Running iteration 1")
    terminal.stop_output()
    (loop.folder / "go").touch()
    assert terminal.finish() == 1
    assert outcomes(loop) == ["timeout"]
    assert loop.events("RunFinished")


def test_a_connection_that_hangs_is_not_waited_for(loop: Loop, open_terminals: list[Terminal]) -> None:
    """More is printed than a terminal holds."""
    loop.make()
    loop.script([{"init": {}}, *words(), *DONE])
    terminal = Terminal(loop, "run", "my-task", "--output", "verbose", hangs=True)
    open_terminals.append(terminal)
    assert terminal.finish() == 0
    assert outcomes(loop) == ["ok"]
    assert loop.log().count("xxxx line 0") == 0
    assert len(re.findall(r"^line \d{5}", loop.log(), re.MULTILINE)) == LINES


def shown(terminal: Terminal) -> list[int]:
    return [int(number) for number in re.findall(r"line (\d{5}) x", terminal.seen)]


def stopped_while_claude_talks(loop: Loop, open_terminals: list[Terminal]) -> Terminal:
    """The terminal was stopped while Claude said all of its words, and goes on before Claude does."""
    loop.make()
    go, end = str(loop.folder / "go"), str(loop.folder / "end")
    loop.script([{"init": {}}, {"wait_for": go}, *words(), {"wait_for": end}, *DONE])
    terminal = Terminal(loop, "run", "my-task", "--output", "verbose")
    open_terminals.append(terminal)
    terminal.await_text("Running iteration 1")
    terminal.stop_output()
    (loop.folder / "go").touch()
    until(lambda: len(loop.events("Said")) == LINES)
    terminal.continue_output()
    until(lambda: shown(terminal)[-1:] == [LINES - 1])
    (loop.folder / "end").touch()
    assert terminal.finish() == 0
    return terminal


def test_nothing_is_lost_that_fits(loop: Loop, open_terminals: list[Terminal]) -> None:
    """After Ctrl-Q all is shown, in order, the end included; the terminal is not left without waiting for others."""
    terminal = stopped_while_claude_talks(loop, open_terminals)
    terminal.await_text("Claude reports that it is done")
    assert shown(terminal) == list(range(LINES))
    assert "not shown" not in terminal.seen
    assert not fcntl.fcntl(terminal.theirs, fcntl.F_GETFL) & os.O_NONBLOCK


def test_what_does_not_fit_is_counted(loop: Loop, open_terminals: list[Terminal]) -> None:
    """The newest lines are kept, and where others are missing stands how many."""
    loop.patch("sinks.safe_stream", MOST=20_000)
    terminal = stopped_while_claude_talks(loop, open_terminals)
    terminal.await_text("Claude reports that it is done")
    seen = shown(terminal)
    gaps = [int(number) for number in re.findall(r"… (\d+) lines? not shown", terminal.seen)]
    assert seen == sorted(set(seen))
    assert len(gaps) == 1
    assert 0 < LINES - len(seen) <= gaps[0]
