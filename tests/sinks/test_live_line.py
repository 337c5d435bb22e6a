"""The line at the bottom of the terminal."""

from __future__ import annotations

import io

import pytest

from claude_iterate.core.events import (
    ApiRetried,
    AssistantText,
    IterationFinished,
    IterationStarted,
    Outcome,
    Requested,
    ResultReported,
    Resumed,
    RunFinished,
    SessionOpened,
    StatusChanged,
    ToolCalled,
    ToolResult,
    WaitEnded,
    WaitStarted,
)
from claude_iterate.core.events.enums import Kind, Verb, Why
from claude_iterate.core.events.run import Breaker, Waiting
from claude_iterate.core.formats import clip, width
from claude_iterate.core.reports.status import Change, Status
from claude_iterate.core.settings.declared import Settings
from claude_iterate.core.settings.modes import stop_settings
from claude_iterate.core.state.run_state import RunState
from claude_iterate.sinks.console import Console
from claude_iterate.sinks.live_line import compose
from tests.screen import Screen
from tests.sinks.conftest import BEGAN, Fed, Terminal, entry, started

NPM = ToolCalled("1", "Bash", {"command": "npm test"})


def live(color: bool = False, columns: int = 80) -> tuple[Fed, io.StringIO]:
    """A console with a live line, and its terminal."""
    err = Terminal()
    return Fed(Console(io.StringIO(), err, "progress", color=color, live=True, columns=lambda: columns)), err


@pytest.mark.parametrize("color", [True, False])
def test_what_it_says(color: bool) -> None:
    """Iteration, bar, elapsed, cost so far, last tool and its age."""
    console, err = live(color)
    console(entry(started()))
    console(entry(IterationStarted(1), 0.1))
    console(entry(IterationFinished(1, Outcome(Kind.OK), Status(False), cost_usd=0.3), 60))
    console(entry(IterationStarted(2), 61))
    console(entry(StatusChanged(Status(False, 30, 60), Change(30)), 62))
    console(entry(ResultReported(cost_usd=0.12), 63))
    console(entry(NPM, 177))
    console.tick(185)
    assert Screen(err.getvalue()).rows == [
        "Starting my-task (loop mode, at most 50 iterations)",
        "Running iteration 1...",
        "✓ Iteration 1 complete ($0.30)",
        "Running iteration 2...",
        "  ↳ 30/60 items (+30)",
        "[2/50] ████░░░░ 30/60 · 3m 05s · $0.42 · Bash npm test (8s)",
    ]


def test_it_names_the_key_that_goes_on() -> None:
    """Where keys are read: in a wait and in a pause, and at the end always the one that names them all."""
    for keys, waits, paused in ((True, "59m 58s left (r tries now)", "paused (p resumes)"), (False, "left", "paused")):
        err, hint = Terminal(), "  ? keys" if keys else ""
        console = Fed(Console(io.StringIO(), err, "progress", live=True, wall=lambda: BEGAN, keys=keys))
        console(entry(started()))
        console(entry(WaitStarted(Why.USAGE_LIMIT, BEGAN + 3600), 1))
        console.tick(2)
        assert Screen(err.getvalue()).rows[-1].endswith(waits + hint)
        console(entry(WaitEnded(Why.USAGE_LIMIT), 3))
        console(entry(Requested(Verb.PAUSE), 4))
        console.tick(5)
        assert Screen(err.getvalue()).rows[-1].endswith(f"· {paused}{hint}")


def test_a_wait_is_counted_down_on_the_wall() -> None:
    """Also one that a run took over; a computer that slept is believed; a clock that was set back is not."""
    wait = WaitStarted(Why.USAGE_LIMIT, BEGAN + 3600)
    wall = [BEGAN]
    err = Terminal()
    console = Fed(Console(io.StringIO(), err, "progress", live=True, wall=lambda: wall[0]))
    console(entry(started(resumed=Resumed("r0", iterations=2, waiting=Waiting(wait)))))
    shown = Screen(err.getvalue()).rows
    assert "Still waiting until " in shown[2]
    assert shown[2].endswith("(1h 00m). To try now: claude-iterate retry my-task")
    assert shown[-1].endswith("Usage limit reached: 1h 00m left")
    wall[0] += 3000
    console.tick(5)
    assert Screen(err.getvalue()).rows[-1].endswith(": 10m 00s left")
    wall[0] -= 9e6
    console.tick(3590)
    assert Screen(err.getvalue()).rows[-1].endswith(": 10s left")


@pytest.mark.parametrize("color", [True, False])
def test_it_leaves_nothing_behind(color: bool) -> None:
    """At the end, and before each normal line, the line is gone."""
    console, err = live(color)
    console(entry(started()))
    console(entry(IterationStarted(1), 1))
    console(entry(NPM, 2))
    console.tick(3)
    console(entry(IterationFinished(1, Outcome(Kind.OK), Status(False)), 3.1))
    console(entry(RunFinished("interrupted", "SIGINT"), 4))
    console.tick(9)
    console.close()
    assert Screen(err.getvalue()).rows == [
        "Starting my-task (loop mode, at most 50 iterations)",
        "Running iteration 1...",
        "✓ Iteration 1 complete",
        "⚠️ Interrupted by Ctrl-C",
        "  Log: /w/iterate-1.log",
        "  Iterations: 0 · Time: 0.0s · Cost: $0.00",
        "  Next: claude-iterate run my-task",
        "",
    ]
    assert ("\x1b" in err.getvalue().replace("\x1b[K", "")) == color


def test_at_most_five_drawings_a_second() -> None:
    """A flood of events does not become a flood of drawings."""
    console, err = live()
    console(entry(started()))
    for number in range(1000):
        console(entry(AssistantText("x"), 1 + number / 1000))
    assert err.getvalue().count("\r[") <= 7


def test_it_fits_the_terminal() -> None:
    """Cut to the width with one column free; wide characters count twice; the seconds of a long tool stay."""
    console, err = live(columns=40)
    console(entry(started()))
    console(entry(IterationStarted(1), 0.1))
    console(entry(ToolCalled("1", "Bash", {"command": "漢字" * 40}), 1))
    console.tick(75)
    last = Screen(err.getvalue()).rows[-1]
    assert last.endswith("… (1m 14s)")
    assert 38 <= width(last) <= 39


@pytest.mark.parametrize("columns", [12, 20, 24])
def test_a_tiny_terminal_keeps_the_seconds(columns: int) -> None:
    """Where there is no room for the tool, its time stands alone; nothing is wider than the terminal."""
    console, err = live(columns=columns)
    console(entry(started()))
    console(entry(IterationStarted(1), 0.1))
    console(entry(NPM, 1))
    console.tick(9)
    last = Screen(err.getvalue()).rows[-1]
    assert width(last) < columns
    assert columns < 20 or last == "[1/50] · 9s · (8s)"


def shown(console: Fed, err: io.StringIO, now: float) -> str:
    """What the live line says behind the time."""
    console.tick(now)
    return Screen(err.getvalue()).rows[-1].split("s", 1)[1].removeprefix(" · ")


def test_trouble_with_the_api_is_shown() -> None:
    """A retry until the model answers, then silence after some seconds: nobody has to guess whether it is stuck."""
    console, err = live()
    console(entry(started()))
    console(entry(IterationStarted(1), 0))
    assert shown(console, err, 1) == ""
    assert shown(console, err, 5) == "Claude starts 5s"
    console(entry(SessionOpened("s"), 6))
    assert shown(console, err, 7) == ""
    assert shown(console, err, 24) == "waiting for the API 18s"
    console(entry(ApiRetried(5, 10, 9.1, 529, "overloaded"), 25))
    assert shown(console, err, 26) == "API overloaded, retry 5/10 in 8s"
    assert shown(console, err, 36) == "API overloaded, retry 5/10 (11s)"
    for now, event, words in (
        (37, ApiRetried(1, 10, 0.5, 503, "server_error"), "API error 503, retry 1/10"),
        (39, ApiRetried(2, 10, 0.5, None, "unknown"), "API unreachable, retry 2/10"),
        (41, ApiRetried(3), "API unreachable, retry 3"),
    ):
        console(entry(event, now))
        assert shown(console, err, now + 1) == f"{words} (1s)"
    console(entry(AssistantText("Hello"), 42))
    assert shown(console, err, 43) == ""
    console(entry(NPM, 44))
    assert shown(console, err, 59) == "Bash npm test (15s)"
    console(entry(ToolResult("1", "Bash", "ok"), 60))
    assert shown(console, err, 61) == "Bash npm test"
    assert shown(console, err, 70) == "waiting for the API 10s"
    console(entry(ResultReported(), 71))
    assert shown(console, err, 80) == "Bash npm test"


def test_a_tool_cannot_move_the_cursor() -> None:
    """Escape codes in a command are harmless here too."""
    console, err = live()
    console(entry(started()))
    console(entry(ToolCalled("1", "Bash", {"command": "echo \x1b[2J\n\rx"}), 1))
    assert "\x1b" not in err.getvalue().replace("\x1b[K", "")


def test_quiet_output_and_a_pipe_have_none() -> None:
    """There is no one who looks."""
    for err, level in ((Terminal(), "quiet"), (io.StringIO(), "progress"), (io.StringIO(), "verbose")):
        console = Fed(Console(io.StringIO(), err, level, live=True))
        console(entry(started()))
        console.tick(5)
        assert "\r" not in err.getvalue()


def test_it_stays_below_what_claude_says_and_does() -> None:
    """In verbose output, which names files from where Claude works."""
    err = Terminal()
    console = Fed(Console(io.StringIO(), err, "verbose", live=True, columns=lambda: 80))
    console(entry(started()))
    console.tick(1)
    console(entry(SessionOpened("s", cwd="/work/project"), 2))
    for number, path in enumerate(("/work/project/src/a.py", "/work/projects/b.py")):
        console(entry(ToolCalled(str(number), "Read", {"file_path": path}), 3 + number))
    console.tick(9)
    assert [row for row in Screen(err.getvalue()).rows if row][1:] == [
        "Session opened",
        "🔧 Read tool",
        "   File: src/a.py",
        "🔧 Read tool",
        "   File: /work/projects/b.py",
        "[0/50] · 9s",
    ]


@pytest.mark.parametrize(
    ("text", "columns", "expected"),
    [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("漢字", 3, "漢…"), ("e\u0301x", 2, "e\u0301x"), ("abc", 0, "")],
)
def test_clip(text: str, columns: int, expected: str) -> None:
    """As much as fits, with a sign of what is missing."""
    assert clip(text, columns) == expected


@pytest.mark.parametrize(
    ("unmoved", "failures", "shown"),
    [(1, 1, ""), (2, 0, "no progress 2/3"), (2, 2, "no progress 2/3 · failures 2/3"), (3, 1, "no progress 3/3")],
)
def test_the_breaker_is_shown_from_half_way(unmoved: int, failures: int, shown: str) -> None:
    """What is far from its limit, or has none, would only take room."""
    state = RunState(breaker=Breaker(unmoved=unmoved, failures=failures, red=9))
    assert compose(state, 5.0, stop_settings(Settings(), "loop")) == " · ".join(filter(None, ("[0]", "5s", shown)))
    assert compose(state, 5.0) == "[0] · 5s"


def test_what_is_long_over_is_not_drawn() -> None:
    """While a reader catches up, lines are shown and the live line waits for the next tick."""
    err = Terminal()
    console = Console(io.StringIO(), err, "progress", live=True)
    console.behind = True
    fed = Fed(console)
    fed(entry(started()))
    fed(entry(IterationStarted(1), 1.0))
    assert "[1/50]" not in err.getvalue()
    console.behind = False
    fed.tick(2.0)
    assert "[1/50]" in err.getvalue()
