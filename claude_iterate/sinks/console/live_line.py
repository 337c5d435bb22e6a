"""The line at the bottom of a terminal that shows the state of a run. It uses the run's clock; countdowns use wall
time, so that they stay right after a suspend."""

from __future__ import annotations

from collections.abc import Callable

from claude_iterate.core.events import Entry, IterationFinished, ToolCalled
from claude_iterate.core.formats import clip, duration, money, width
from claude_iterate.core.state.run_state import RunState
from claude_iterate.sinks.console.safe_stream import Output
from claude_iterate.text.tool_calls import headline

PAUSE = 0.2
"""Least time between two drawings."""
CELLS = 8
WAITS = {
    "usage_limit": "waiting for the usage limit",
    "transient": "waiting for the API",
    "reserve": "waiting for the window's reset",
    "pace": "keeping the pace",
}
TOOL_COLUMNS = 60


class LiveLine:
    """Draws over itself at most five times a second, and gets out of the way of every normal line."""

    def __init__(self, output: Output, columns: Callable[[], int], wall: Callable[[], float]) -> None:
        self._output = output
        self._columns = columns
        self._tool: tuple[str, float] | None = None
        self._wall = wall
        self._drawn_at = -PAUSE
        self._drawn_columns = 0

    def note(self, entry: Entry) -> None:
        """Remember which tool was called last, and when."""
        event = entry.event
        if isinstance(event, ToolCalled):
            self._tool = (headline(event), entry.elapsed)
        elif isinstance(event, IterationFinished):
            self._tool = None

    def draw(self, state: RunState, now: float) -> None:
        """Show where the run stands, unless it has not begun or the last drawing is too fresh."""
        if state.started is None or now - self._drawn_at < PAUSE:
            return
        self._drawn_at = now
        # One column stays free: a terminal wraps when the last one is filled.
        text = clip(self._output.shown(compose(state, self._doing(state, now), now)), (self._columns() or 80) - 1)
        columns = width(text)
        rest = "\x1b[K" if self._output.color else " " * (self._drawn_columns - columns)
        self._drawn_columns = columns
        self._output.control(f"\r{text}{rest}")

    def _doing(self, state: RunState, now: float) -> str:
        if state.wait is not None:
            left = min(state.wait.until - self._wall(), state.waiting.ends - now)
            return f"{WAITS.get(state.wait.why, state.wait.why)}: {_age(left)} left"
        if state.paused and state.call is None:
            return "paused"
        if self._tool is None:
            return ""
        return f"{clip(self._tool[0], TOOL_COLUMNS)} ({_age(now - self._tool[1])})"

    def erase(self) -> None:
        """Leave an empty line with the cursor at its beginning."""
        if self._drawn_columns:
            rest = "\x1b[K" if self._output.color else " " * self._drawn_columns + "\r"
            self._drawn_columns = 0
            self._output.control(f"\r{rest}")


def compose(state: RunState, doing: str, now: float) -> str:
    """`[3/50] ██░░░░░░ 12/60 · 3m 05s · $0.42 · Bash npm test (8s)`; what is not known is left out."""
    number = state.call.number if state.call and state.call.number else state.iterations
    most = state.started.max_iterations if state.started else 0
    parts = [f"[{number}/{most}]" if most else f"[{number}]"]
    status = state.status
    if status is not None and status.total:
        done = min(status.completed or 0, status.total)
        filled = CELLS * done // status.total
        parts[0] += f" {'█' * filled}{'░' * (CELLS - filled)} {status.completed}/{status.total}"
    parts.append(_age(now))
    cost = state.cost_usd
    if state.call is not None and state.call.result is not None:
        cost += state.call.result.cost_usd
    if cost:
        parts.append(money(cost))
    if doing:
        parts.append(doing)
    return " · ".join(parts)


def _age(seconds: float) -> str:
    """Whole seconds: tenths would only flicker."""
    whole = max(0, int(seconds))
    return f"{whole}s" if whole < 60 else duration(whole)
