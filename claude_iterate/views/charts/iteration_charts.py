"""What each iteration cost, took and did as small charts: the report and the dashboard draw the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from claude_iterate.core.formats import duration, money
from claude_iterate.views.charts.bars import Bar, bars
from claude_iterate.views.charts.iteration_words import FINE, used_tokens
from claude_iterate.views.setting_values import shortened
from claude_iterate.views.story.iteration_rows import Row

_SEEN = 50
"""A bar of less than this part of a fixed scale cannot be seen."""


def iteration_charts(rows: Sequence[Row]) -> list[str]:
    """One chart for each figure, as SVG; those without a value that can be seen are left out."""
    drawn = [
        _chart("Cost", rows, [row.known_cost_usd for row in rows], money),
        _chart("Duration", rows, [row.duration for row in rows], duration),
        _chart("Tokens", rows, [float(used_tokens(row)) for row in rows], lambda value: shortened(int(value))),
        _chart("Items done", rows, [_share(row) for row in rows], _percent, 100.0),
        _chart("Context", rows, [100 * (row.context or 0.0) for row in rows], _percent, 100.0),
        _chart("Tool calls", rows, [float(row.tools) for row in rows], lambda value: str(int(value))),
    ]
    return [chart for chart in drawn if chart]


def _percent(value: float) -> str:
    return f"{value:.0f} %"


def _share(row: Row) -> float:
    return 100 * row.progress.completed / row.progress.total if row.progress is not None and row.progress.total else 0.0


def _chart(
    title: str, rows: Sequence[Row], values: Sequence[float], write: Callable[[float], str], most: float | None = None
) -> str:
    found = [
        Bar(value, f"Iteration {row.number}: {write(value)}, {row.outcome}", "ok" if row.outcome in FINE else "bad")
        for row, value in zip(rows, values, strict=True)
    ]
    return bars(title, found, write, most) if max(values, default=0.0) > (most or 0.0) / _SEEN else ""
