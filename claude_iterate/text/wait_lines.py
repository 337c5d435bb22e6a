"""Waits as lines: why, until when, what then. Pure functions."""

from __future__ import annotations

from datetime import UTC, datetime

from claude_iterate.core.events import WaitEnded, WaitStarted
from claude_iterate.core.formats import duration, one_line
from claude_iterate.core.state.run_state import RunState

REASONS = {
    "usage_limit": "Usage limit reached",
    "reserve": "The reserve is reached",
    "transient": "The API is overloaded or down",
    "rate_limit": "The API's rate limit is reached",
    "away": "Claude worked before and cannot be called now",
    "pace": "Keeping the pace",
    "schedule": "Outside of the hours for this run",
    "failures": "A pause after the failure",
}
IN_SHORT = {
    "usage_limit": "usage limit",
    "reserve": "the reserve is reached",
    "transient": "the API is overloaded or down",
    "rate_limit": "rate limit of the API",
    "away": "Claude cannot be called",
    "pace": "keeping the pace",
    "schedule": "outside of the hours for this run",
    "failures": "a pause after the failure",
}
"""The same where a line says more than that."""
_LONG = 60.0
"""Seconds; for a longer wait it is worth saying how to end it."""


def started(event: WaitStarted, at: float, state: RunState) -> list[str]:
    """Why, until when in local time, what comes then, and how to try sooner."""
    about = f": {one_line(event.detail)}" if event.detail else ""
    name = state.started.workspace if state.started is not None else ""
    then = f"{_afterwards(event, state)}.{_sooner(event, at, name)}"
    return [f"⏳ {REASONS.get(event.why, event.why)}{about}", f"  Waiting until {_moment(event, at)}{then}"]


def resumed(event: WaitStarted, at: float, name: str) -> str:
    """For a run that takes over the wait of a killed one."""
    return f"  Still waiting until {_moment(event, at)}.{_sooner(event, at, name)}"


def ended(event: WaitEnded, paused: bool = False) -> list[str]:
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
