"""Waits as lines: why, until when, what then. Pure functions."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from claude_iterate.core.events import WaitEnded, WaitStarted
from claude_iterate.core.formats import duration, one_line
from claude_iterate.core.state.run_state import RunState


class Words(msgspec.Struct, frozen=True):
    """What is said of a wait: as a sentence; where a line says more than that; and of what the run does meanwhile."""

    sentence: str
    short: str
    doing: str


WORDS: dict[str, Words] = {
    "usage_limit": Words("Usage limit reached", "usage limit", "waiting for the usage limit"),
    "reserve": Words("The reserve is reached", "the reserve is reached", "waiting for the window's reset"),
    "transient": Words("The API is overloaded or down", "the API is overloaded or down", "waiting for the API"),
    "rate_limit": Words("The API's rate limit is reached", "rate limit of the API", "waiting for the API's rate limit"),
    "away": Words("Claude worked before and cannot be called now", "Claude cannot be called", "waiting for Claude"),
    "pace": Words("Keeping the pace", "keeping the pace", "keeping the pace"),
    "schedule": Words(
        "Outside of the hours for this run", "outside of the hours for this run", "waiting for its hours"
    ),
    "failures": Words("A pause after the failure", "a pause after the failure", "pausing after a failure"),
}
_LONG = 60.0
"""Seconds; for a longer wait it is worth saying how to end it."""


def words_for(why: str) -> Words:
    """The words for this wait. One that a newer version recorded has its own name only."""
    return WORDS.get(why) or Words(why, why, why)


def wait_started(event: WaitStarted, at: float, state: RunState) -> list[str]:
    """Why, until when in local time, what comes then, and how to try sooner."""
    about = f": {one_line(event.detail)}" if event.detail else ""
    name = state.started.workspace if state.started is not None else ""
    then = f"{_afterwards(event, state)}.{_sooner(event, at, name)}"
    return [f"⏳ {words_for(event.why).sentence}{about}", f"  Waiting until {_moment(event, at)}{then}"]


def wait_resumed(event: WaitStarted, at: float, name: str) -> str:
    """For a run that takes over the wait of a killed one."""
    return f"  Still waiting until {_moment(event, at)}.{_sooner(event, at, name)}"


def wait_ended(event: WaitEnded, paused: bool = False) -> list[str]:
    """The run goes on, unless it is paused."""
    if paused:
        return []
    return ["Going on." if event.by == "time" else f"Going on ({event.by})."]


def _moment(event: WaitStarted, at: float) -> str:
    left = duration(max(0.0, event.until - at))
    try:
        moment = datetime.fromtimestamp(event.until, UTC).astimezone().strftime("%a %H:%M:%S")
    except (ValueError, OverflowError, OSError):  # beyond the calendar
        return f"a moment that is {left} away"
    return f"{moment} ({left})"


def _afterwards(event: WaitStarted, state: RunState) -> str:
    if event.why in {"reserve", "pace", "schedule", "failures"}:
        return ""
    claims = state.last_status is not None and state.last_status.complete
    proving = claims or (state.started is not None and state.started.purpose == "verify")
    return "; then the review is repeated" if proving else "; then the iteration is repeated"


def _sooner(event: WaitStarted, at: float, name: str) -> str:
    return f" To try now: claude-iterate retry {name}" if event.until - at > _LONG else ""
