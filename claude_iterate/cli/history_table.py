"""The table of `history`: which columns there are, and which of them 80 columns have room for."""

from __future__ import annotations

from typing import cast

from claude_iterate.cli import output
from claude_iterate.core.events.vocabulary import Kind
from claude_iterate.core.formats import cost, duration, plural
from claude_iterate.core.tones import Tone
from claude_iterate.text import local_times
from claude_iterate.views.history_view import HistoryView
from claude_iterate.views.iteration_charts import outcome, outcome_tone, took
from claude_iterate.views.iteration_rows import Row
from claude_iterate.views.run_totals import RunHistory, Total, changed_files, green_tests
from claude_iterate.views.settings_view import shortened
from claude_iterate.workspace.run_summary import TokenCounts

COLUMNS = 80
_COUNTS = ("IN", "OUT", "CACHE READ", "CACHE WRITE", "TURNS", "TOOLS")
_FIGURES = ("RUN", "#", "BEGAN", "TOOK", "COST", *_COUNTS, "COMMITS", "TESTS")
"""Columns that stand at the right of their width."""
_ORDER = ("RUN", "#", "BEGAN", "TOOK", "COST", *_COUNTS, "FILES", "COMMITS", "TESTS", "PROGRESS", "CLAIM", "OUTCOME")
_OPTIONAL = frozenset({"FILES", "COMMITS", "TESTS", "CLAIM"})
"""Left out where no row has anything to say in them."""
_LEAST = ("BEGAN", "RUN", "TOOK", "PROGRESS", "COMMITS")
"""What makes room first, if a table is wider than 80 columns: `--wide` has it."""
_DRY_RUN = 0
"""Stands for the number of the iteration in the row of a dry run."""

Cells = dict[str, str]


def short_id(identity: str) -> str:
    """The number that an id begins with; old ids have none."""
    number, _, rest = identity.partition("-")
    return str(int(number)) if rest and number.isdecimal() and len(number) == 6 else identity


def cells(view: HistoryView, whole: bool, now: float | None) -> list[Cells]:
    """The rows, and the sum if there is something to sum up; `now` for a short form of moments."""
    rows = [row for told in view.runs for row in (told.iterations if whole or not told.dry_run else _dry_run(told))]
    of_rows = any(row.cost_is_lower_bound for told in view.runs for row in told.iterations)
    found = [_cells(row, now) for row in rows]
    real = any(not told.dry_run for told in view.runs)
    return [*found, _sums(view.total, of_rows)] if real else found


def print_table(rows: list[Cells], wide: bool) -> None:
    """The columns that have something to say and, unless `wide`, fit."""
    names = [name for name in _ORDER if name not in _OPTIONAL or any(row[name] for row in rows)]
    if not wide:
        names = [name for name in names if name not in _COUNTS]
        if _width(names, rows) > COLUMNS:
            rows = [{**row, "OUTCOME": row["OUTCOME"].partition(",")[0]} for row in rows]
        runs = {row["RUN"] for row in rows}
        for name in _LEAST if len(runs - {""}) > 1 else ("RUN", *_LEAST):
            if _width(names, rows) > COLUMNS and name in names:
                names.remove(name)
    widths = _widths(names, rows)
    aligned = [tuple(_aligned(name, row[name], widths[name]) for name in names) for row in rows]
    tones = [cast("Tone", row.get("tone", "plain")) for row in rows]
    output.table(aligned, tuple(_aligned(name, name, widths[name]) for name in names), -1, tones)


def _aligned(name: str, text: str, width: int) -> str:
    return text.rjust(width) if name in _FIGURES else text


def _widths(names: list[str], rows: list[Cells]) -> dict[str, int]:
    return {name: max(len(name), *(len(row[name]) for row in rows)) for name in names}


def _width(names: list[str], rows: list[Cells]) -> int:
    return sum(_widths(names, rows).values()) + 2 * (len(names) - 1)


def _dry_run(told: RunHistory) -> list[Row]:
    """A dry run as one row."""
    rows = told.iterations
    if not rows:
        return []
    outcome = told.reason or Kind.UNFINISHED
    took, turns, tools = (sum(getattr(row, name) for row in rows) for name in ("duration", "turns", "tools"))
    known = {"duration": took, "turns": turns, "tools": tools, "progress": rows[-1].progress}
    return [Row(told.id, _DRY_RUN, 1, rows[0].began, outcome=outcome, **known)]


def _cells(row: Row, now: float | None) -> Cells:
    number = str(row.number) if row.attempt == 1 else f"{row.number}.{row.attempt}"
    return {
        "RUN": short_id(row.run),
        "#": "dry run" if row.number == _DRY_RUN else number,
        "BEGAN": local_times.whole(row.began) if now is None else local_times.narrow(row.began, now),
        "TOOK": took(row),
        "COST": cost(row.known_cost_usd, row.cost_is_lower_bound),
        **_counts(row.tokens, row.turns, row.tools),
        "FILES": changed_files(row.files),
        "COMMITS": "" if row.commits is None else str(row.commits),
        "TESTS": green_tests(row.tests),
        "PROGRESS": _progress(row),
        "CLAIM": _claim(row),
        "tone": outcome_tone(row),
        "OUTCOME": outcome(row) + (", done again" if row.done_again else ""),
    }


def _counts(tokens: TokenCounts, turns: int, tools: int) -> Cells:
    kinds = (tokens.input, tokens.output, tokens.cache_read, tokens.cache_creation)
    return dict(zip(_COUNTS, (*map(shortened, kinds), str(turns), str(tools)), strict=True))


def _sums(total: Total, of_rows: bool) -> Cells:
    again = f", {total.retries} done again" if total.retries else ""
    return {
        **dict.fromkeys(_ORDER, ""),
        "#": "total",
        "TOOK": duration(total.duration),
        "COST": cost(total.cost_usd - total.other_cost_usd, of_rows),
        **_counts(total.tokens, total.turns, total.tools),
        "FILES": changed_files(total.files),
        "COMMITS": "" if total.commits is None else str(total.commits),
        "OUTCOME": f"{plural(total.iterations, 'iteration')}{again}",
    }


def _progress(row: Row) -> str:
    if row.progress is not None:
        return f"{row.progress.completed}/{row.progress.total}"
    return {True: "worked", False: "no work", None: ""}[row.worked]


def _claim(row: Row) -> str:
    """Whether Claude says that all is done, and whether that held."""
    if not row.complete:
        return ""
    return {True: "held", False: "failed", None: "done"}[row.claim_held]
