"""The iterations of a run as words for a table and as charts in SVG: the report and the dashboard show the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from claude_iterate.core.events.enums import Kind
from claude_iterate.core.formats import cost, duration, money, plural
from claude_iterate.core.outcomes.classes import WELL
from claude_iterate.core.tones import Tone
from claude_iterate.text import local_times
from claude_iterate.text.run_lines import describe_tests
from claude_iterate.views.history_view import FAILURES, changed_files
from claude_iterate.views.iteration_rows import Row
from claude_iterate.views.pages.drawn_page import panel
from claude_iterate.views.settings_view import short_count

_SEEN = 50
"""A bar of less than this part of a fixed scale cannot be seen."""
_WIDTH, _HEIGHT, _EDGE, _TOP, _BASE = 400, 120, 4, 18, 104
_GAP = 0.25
"""The part of a bar's place that is left empty."""
_MOST = 200
"""Bars that can be told apart; of more values each bar is the largest of several."""


class Bar(msgspec.Struct, frozen=True):
    """One value. `mark` is a class of the style sheet: ok, bad or plain; `says` is read aloud and shown on hovering."""

    value: float
    says: str
    mark: str = "plain"


def draw_charts(rows: Sequence[Row]) -> list[str]:
    """One chart for each figure, as SVG; those without a value that can be seen are left out."""
    shares = [row.progress.completed / row.progress.total if row.progress and row.progress.total else 0 for row in rows]

    def draw(title: str, values: Sequence[float], write: Callable[[float], str], most: float = 0.0) -> str:
        bars = [
            Bar(value, f"Iteration {row.number}: {write(value)}, {row.outcome}", "ok" if row.outcome in WELL else "bad")
            for row, value in zip(rows, values, strict=True)
        ]
        return draw_bars(title, bars, write, most)

    drawn = [
        draw("Cost", [row.known_cost_usd for row in rows], money),
        draw("Duration", [row.duration for row in rows], duration),
        draw("Tokens", [row.tokens.total for row in rows], lambda value: short_count(int(value))),
        draw("Items done", [100 * share for share in shares], "{:.0f} %".format, 100.0),
        draw("Context", [100 * (row.context or 0) for row in rows], "{:.0f} %".format, 100.0),
        draw("Tool calls", [row.tools for row in rows], "{:.0f}".format),
    ]
    return [chart for chart in drawn if chart]


def draw_bars(title: str, values: Sequence[Bar], write: Callable[[float], str], most: float = 0.0) -> str:
    """A chart of bars with its largest value written above; empty without one that can be seen. `most` fixes the
    scale."""
    each = -(-len(values) // _MOST) or 1
    groups = [values[start : start + each] for start in range(0, len(values), each)]
    shown = [max(group, key=lambda bar: bar.value) for group in groups]
    largest = max((bar.value for bar in shown), default=0.0)
    if largest <= most / _SEEN:
        return ""
    place = (_WIDTH - 2 * _EDGE) / len(shown)
    bars = []
    for number, bar in enumerate(shown):
        tall = max(0.0, min(1.0, bar.value / (most or largest))) * (_BASE - _TOP)
        bars.append((_EDGE + place * (number + _GAP / 2), _BASE - tall, place * (1 - _GAP), tall, bar))
    sizes = {"width": _WIDTH, "height": _HEIGHT, "base": _BASE}
    return panel("chart", "chart", title=title, bars=bars, count=len(values), largest=write(largest), **sizes)


def outcome(row: Row) -> str:
    """`ok`, `no report`, `usage limit`."""
    return "no report" if row.outcome == Kind.OK and row.complete is None else row.outcome.replace("_", " ")


def outcome_tone(row: Row) -> Tone:
    """How that looks."""
    if row.outcome in WELL and row.complete is not None:
        return "good"
    return "bad" if row.outcome in FAILURES else "plain" if row.outcome == Kind.UNFINISHED else "warning"


def time_taken(row: Row) -> str:
    """`2.1s`; of a call without an end `2.1s+`, because only its last sign is known."""
    return duration(row.duration) + ("+" if row.outcome == Kind.UNFINISHED else "")


def row_words(row: Row) -> dict[str, str]:
    """Each figure of it as text. It is not escaped for HTML."""
    number = str(row.number) if row.attempt == 1 else f"{row.number} (attempt {row.attempt})"
    return {
        "number": number,
        "began": local_times.whole(row.began),
        "took": time_taken(row),
        "cost": cost(row.known_cost_usd, row.cost_is_lower_bound),
        "tokens": short_count(row.tokens.total),
        "tools": str(row.tools),
        "files": _changes(row),
        "tests": describe_tests(row.tests),
        "progress": f"{row.progress.completed}/{row.progress.total}" if row.progress is not None else "",
        "claim": {None: "", True: "held", False: "failed"}[row.claim_held] or ("claimed" if row.complete else ""),
        "outcome": outcome(row),
        "message": row.message,
        "summary": row.summary,
        "denied": ", ".join(row.denied),
        "tone": outcome_tone(row),
        "run": row.run,
    }


def _changes(row: Row) -> str:
    changed = changed_files(row.files) or "not measured"
    return f"{changed}, {plural(row.commits, 'commit')}" if row.commits else changed
