"""The line at the bottom of a terminal that shows the state of a run. It uses the run's clock; countdowns use wall
time, so that they stay right after a suspend."""

from __future__ import annotations

from collections.abc import Callable

from claude_iterate.core.events import ApiRetried, Entry, IterationFinished, ToolCalled
from claude_iterate.core.formats import age, clip, money, width
from claude_iterate.core.settings.declared import StopSettings
from claude_iterate.core.state.condition import items_done
from claude_iterate.core.state.run_state import RunState
from claude_iterate.sinks.safe_stream import Output
from claude_iterate.text import run_lines
from claude_iterate.text.run_lines import WAITS
from claude_iterate.text.tool_lines import headline

PAUSE = 0.2
"""Least time between two drawings."""
CELLS = 8
TOOL_COLUMNS = 60
FEWEST = 8
"""Columns that a tool's name and command get at least; a terminal with fewer shows the time alone."""
QUIET = 3.0
"""Seconds without a word from Claude after which the line says what is waited for."""
API_TROUBLES = {
    "overloaded": "API overloaded",
    "rate_limit": "API rate limit",
    "authentication_failed": "login refused",
}


HINT = "  ? keys"
"""At the end of the line, dim, where there is room."""


class LiveLine:
    """Draws over itself at most five times a second, and gets out of the way of every normal line. With `keys` it says
    which key goes on."""

    def __init__(
        self,
        output: Output,
        columns: Callable[[], int],
        wall: Callable[[], float],
        keys: bool = False,
        stop: StopSettings | None = None,
    ) -> None:
        self._stop = stop
        self._output = output
        self._columns = columns
        self._keys = keys
        self._tool: tuple[str, float] | None = None
        self._retry: tuple[ApiRetried, float] | None = None
        self._heard = 0.0
        self._wall = wall
        self._drawn_at = -PAUSE
        self._drawn = False

    def note(self, entry: Entry) -> None:
        """Remember which tool was called last, which retry was told last, and when anything was heard."""
        event, self._heard = entry.event, entry.elapsed
        if isinstance(event, ToolCalled):
            self._tool = (headline(event), entry.elapsed)
        elif isinstance(event, ApiRetried):
            self._retry = (event, entry.elapsed)
        elif isinstance(event, IterationFinished):
            self._tool = None

    def draw(self, state: RunState, now: float) -> None:
        """Show where the run stands, unless it has not begun or the last drawing is too fresh."""
        if state.started is None or now - self._drawn_at < PAUSE:
            return
        self._drawn_at = now
        # One column stays free: a terminal wraps when the last one is filled.
        room = (self._columns() or 80) - 1
        text = self._fit(compose(state, now, self._stop), *self._doing(state, now), room)
        if self._keys and width(text) + len(HINT) <= room:
            text += f"\x1b[2m{HINT}\x1b[0m" if self._output.color else HINT
        if self._output.control(f"\r{text}\x1b[K", now_or_never=True):
            self._drawn = True

    def _fit(self, head: str, what: str, time: str, columns: int) -> str:
        """The line. Where there is little room, what is done is shortened; the time that it takes stays."""
        printable = self._output.printable
        head, what = printable(head), printable(what)
        if what or time:
            room = columns - width(head) - width(time) - 3
            what = clip(what, max(min(room, TOOL_COLUMNS), 0)) if room >= FEWEST else ""
            head = f"{head} · {what}{time}" if what else f"{head} ·{time}"
        return clip(head, columns)

    def _doing(self, state: RunState, now: float) -> tuple[str, str]:
        """What the run does or waits for, and for how long."""
        if state.wait is not None:
            left = min(state.wait.until - self._wall(), state.waiting.ends - now)
            return f"{WAITS.get(state.wait.why, state.wait.why)}:", f" {age(left)} left{self._key('r tries now')}"
        call = state.call
        if call is None:
            return ("paused", self._key("p resumes")) if state.paused else ("", "")
        if call.retrying and self._retry is not None:
            return _retry(*self._retry, now)
        if call.open_tools and self._tool is not None:
            return self._tool[0], f" ({age(now - self._tool[1])})"
        if call.result is None and now - self._heard >= QUIET:
            return "waiting for the API" if call.session else "Claude starts", f" {age(now - self._heard)}"
        return self._tool[0] if self._tool is not None else "", ""

    def _key(self, does: str) -> str:
        return f" ({does})" if self._keys else ""

    def erase(self) -> None:
        """Leave an empty line with the cursor at its beginning."""
        if self._drawn:
            self._drawn = False
            self._output.control("\r\x1b[K")


def compose(state: RunState, now: float, stop: StopSettings | None = None) -> str:
    """`[3/50] ██░░░░░░ 12/60 · 3m 05s · $0.42`; what is not known is left out. `$0.42+`: and more, not known yet. What
    the breaker counts is shown from half way."""
    number, most = state.last_iteration, state.run.max_iterations
    parts = [f"[{number}/{most}]" if most else f"[{number}]"]
    if (items := items_done(state)) is not None:
        filled = CELLS * min(items.completed, items.total) // items.total
        parts[0] += f" {'█' * filled}{'░' * (CELLS - filled)} {items.completed}/{items.total}"
    parts.append(age(now))
    if (spent := state.spent).cost_usd:
        parts.append(f"{money(spent.cost_usd)}{'+' if spent.at_least else ''}")
    if stop is not None and (close := run_lines.close_counters(state.breaker, stop)):
        parts.append(close)
    return " · ".join(parts)


def _retry(event: ApiRetried, told: float, now: float) -> tuple[str, str]:
    """`API overloaded, retry 5/10 in 9s`: what went wrong, and when it is tried again."""
    trouble = API_TROUBLES.get(event.error) or (f"API error {event.status}" if event.status else "API unreachable")
    most = f"/{event.max_retries}" if event.max_retries else ""
    left = told + event.delay - now
    return f"{trouble}, retry {event.attempt}{most}", f" in {age(left)}" if left >= 1 else f" ({age(now - told)})"
