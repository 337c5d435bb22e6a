"""The morning report as a page: HTML that needs nothing but itself, or Markdown.

Whatever Claude, a check or the user wrote is a value of the template and is escaped there; the page has no script.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from claude_iterate.core.formats import cost, counted, duration, money
from claude_iterate.core.harmless import harmless
from claude_iterate.text import local_times
from claude_iterate.views.report.charts import Bar, bars
from claude_iterate.views.report.night_report import NightReport
from claude_iterate.views.setting_values import shortened
from claude_iterate.views.story.iteration_rows import Row

_LONGEST = 4000
"""Characters of a check's output on the page."""
_FINE = frozenset({"ok", "max_turns"})


def html(report: NightReport) -> str:
    """One file: no script, no style sheet, no picture from elsewhere."""
    return _rendered("report.html", True, {**_values(report), "charts": _charts(report.iterations)})


def markdown(report: NightReport) -> str:
    """The same as Markdown. What others wrote stands in fences that it cannot end."""
    return _rendered("report.md", False, {**_values(report), "fence": _fence})


def _values(report: NightReport) -> dict[str, Any]:
    return {
        "report": report,
        "run": report.run,
        "rows": [_row(row) for row in report.iterations],
        "paid": cost(report.total.cost_usd, report.total.cost_is_lower_bound),
        "tokens": shortened(sum(getattr(report.total.tokens, name) for name in _TOKENS)),
        "duration": duration,
        "when": local_times.whole,
        "counted": counted,
        "clean": lambda text: harmless(text)[-_LONGEST:],
    }


_TOKENS = ("input", "output", "cache_read", "cache_creation")


def _row(row: Row) -> dict[str, str]:
    """One iteration as words."""
    number = str(row.number) if row.attempt == 1 else f"{row.number} (attempt {row.attempt})"
    return {
        "number": number,
        "began": local_times.whole(row.began),
        "took": duration(row.duration),
        "cost": cost(row.known_cost_usd, row.cost_is_lower_bound),
        "tokens": shortened(_tokens(row)),
        "tools": str(row.tools),
        "files": _files(row),
        "tests": _tests(row),
        "progress": f"{row.progress.completed}/{row.progress.total}" if row.progress is not None else "",
        "claim": {None: "", True: "held", False: "refuted"}[row.claim_held] or ("claimed" if row.complete else ""),
        "outcome": row.outcome.replace("_", " "),
        "message": harmless(row.message),
        "mark": "ok" if row.outcome in _FINE else "bad",
    }


def _files(row: Row) -> str:
    if row.files is None:
        return "not measured"
    changed = f"+{row.files.created} ~{row.files.modified} -{row.files.deleted}"
    return f"{changed}, {counted(row.commits, 'commit')}" if row.commits else changed


def _tests(row: Row) -> str:
    if row.tests is None:
        return ""
    return f"{row.tests.passed}/{row.tests.passed + row.tests.failed + row.tests.errors}"


def _tokens(row: Row) -> int:
    return sum(getattr(row.tokens, name) for name in _TOKENS)


def _charts(rows: Sequence[Row]) -> list[str]:
    """What an iteration cost and took, one chart each; those without a value are left out."""
    done = [_share(row) for row in rows]
    drawn = [
        _chart("Cost", rows, [row.known_cost_usd for row in rows], money),
        _chart("Duration", rows, [row.duration for row in rows], duration),
        _chart("Tokens", rows, [float(_tokens(row)) for row in rows], lambda value: shortened(int(value))),
        _chart("Items done", rows, done, _percent, 100.0),
        _chart("Context", rows, [100 * (row.context or 0.0) for row in rows], _percent, 100.0),
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
        Bar(value, f"Iteration {row.number}: {write(value)}, {row.outcome}", "ok" if row.outcome in _FINE else "bad")
        for row, value in zip(rows, values, strict=True)
    ]
    return bars(title, found, write, most) if any(values) else ""


def _fence(text: str) -> str:
    """A code block that the text cannot end."""
    ticks = "```"
    while ticks in text:
        ticks += "`"
    return f"{ticks}text\n{text.rstrip()}\n{ticks}"


def _rendered(name: str, escapes: bool, values: dict[str, Any]) -> str:
    from jinja2 import Environment, StrictUndefined  # only a report needs it

    source = Path(__file__).with_name(f"{name}.jinja").read_text(encoding="utf-8")
    # Markdown is no HTML: there, fences take the place of escapes.
    environment = Environment(autoescape=escapes, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)  # noqa: S701
    return environment.from_string(source).render(values)
