"""What a watcher sees of a workspace: true words, and `not known` where nothing is known."""

from __future__ import annotations

import re
from typing import Any

import pytest

from claude_iterate.core.events import (
    Entry,
    Event,
    IterationFinished,
    IterationStarted,
    LimitReported,
    Outcome,
    RunFinished,
    RunStarted,
    WaitStarted,
)
from claude_iterate.core.events.enums import Kind, Why
from claude_iterate.core.reports.status import Status
from claude_iterate.views import watched_workspace
from claude_iterate.views.story import Story
from claude_iterate.views.watched_workspace import Seen, WatchedWorkspace
from claude_iterate.workspace.project import Project
from tests.cli.journals import write

BEGAN = 1_767_225_600.0
_RUNNER: dict[str, Any] = {"max_iterations": 50, "pid": 1, "host": "h", "version": "0", "command": ("claude",)}


def story(*events: Event, **more: Any) -> Story:
    """One second from event to event."""
    started = RunStarted("r", "w", **{"mode": "loop", **more}, **_RUNNER)
    return Story("r", [Entry(seq, BEGAN + seq, float(seq), event) for seq, event in enumerate((started, *events), 1)])


def iteration(number: int, completed: int, total: int = 10, took: float = 60.0) -> tuple[Event, Event]:
    status = Status(complete=False, completed=completed, total=total)
    return IterationStarted(number), IterationFinished(number, Outcome(Kind.OK), status, duration=took, cost_usd=0.1)


@pytest.mark.parametrize(
    ("events", "left"),
    [
        ((), "not known"),
        ((*iteration(1, 0),), "not known"),
        ((*iteration(1, 2),), "not known"),
        ((*iteration(1, 2), *iteration(2, 4)), "about 3m 00s"),
        ((*iteration(7, 6), *iteration(8, 7)), "about 3m 00s"),
        ((*iteration(1, 4), *iteration(2, 2)), "not known"),
        ((*iteration(1, 9), *iteration(2, 10)), "about 0.0s"),
    ],
)
def test_the_rest_is_estimated_from_what_was_done_or_not_at_all(events: tuple[Event, ...], left: str) -> None:
    """How long the items of the first iteration took is not known: some may have been done before."""
    assert watched_workspace.time_left(story(*events)) == left


def lines(seen: Seen, at: float, columns: int = 80) -> list[str]:
    return [line.text for line in watched_workspace.lines(seen, at, columns, 20)]


def test_what_is_left_is_told_of_a_run_that_goes_on() -> None:
    """After its end nothing is left of it."""
    told_story = story(*iteration(1, 2))
    assert any("left:" in line for line in lines(Seen("w", told_story, alive=True), BEGAN))
    assert not any("left:" in line for line in lines(Seen("w", told_story), BEGAN))


def test_a_wait_says_what_for_and_how_long() -> None:
    """Not that Claude thinks."""
    seen = Seen("w", story(WaitStarted(Why.USAGE_LIMIT, BEGAN + 600.0)), alive=True)
    assert watched_workspace.activity(seen, BEGAN) == ("Usage limit reached", ": 10m 00s left")
    assert watched_workspace.row(seen, BEGAN)[1] == "waiting"


def test_a_killed_run_names_the_way_on() -> None:
    """Its clock stands still at its last sign."""
    seen = Seen("w", story(IterationStarted(1)), alive=False)
    shown = lines(seen, BEGAN + 9999)
    assert "Next: claude-iterate run w" in shown
    other = Seen("w", story(IterationStarted(1), again="claude-iterate build w"), alive=False)
    assert "Next: claude-iterate build w" in lines(other, BEGAN)
    assert watched_workspace.row(seen, BEGAN + 9999)[5] == "2s"


def test_windows_breaker_and_notes_have_a_line_each() -> None:
    """With the time to the reset, the limits that the run was started with, and nothing that is not known."""
    found = story(
        LimitReported("allowed", "five_hour", BEGAN + 3600.0, 0.42),
        LimitReported("allowed", "seven_day", BEGAN - 1.0),
        settings={"stop.no_progress": 7, "stop.failures": 0},
    )
    shown = lines(Seen("w", found, alive=True, notes=2), BEGAN)
    assert any(re.fullmatch(r"Window five hour: 42 % used, resets .*\d\d:\d\d", line) for line in shown)
    assert "Window seven day: allowed" in shown
    assert "Breaker: no progress 0/7 · same error 0/5" in shown
    assert any("Notes waiting: 2" in line for line in shown)


def test_how_a_run_ended_is_told_in_words() -> None:
    """As `list` has them: no underscores."""
    seen = Seen("w", story(*iteration(1, 2), RunFinished("max_iterations")), alive=False)
    assert watched_workspace.row(seen, BEGAN)[1] == "max iterations"
    assert lines(seen, BEGAN)[0].startswith("w: max iterations · iteration 1 of 50")


def test_a_workspace_whose_journal_has_lost_its_beginning_is_not_new(project: Project) -> None:
    """It ran; what is left of it is its log."""
    layout = project.create("w")
    assert WatchedWorkspace(layout).look().condition == "new"
    write(layout, "000001-20260101-000000-aaaaaa", [IterationStarted(1)])
    seen = WatchedWorkspace(layout).look()
    assert seen.condition == "unreadable"
    assert "claude-iterate logs w" in lines(seen, BEGAN, 120)[0]
