"""`history NAME`: one row per iteration: when, how long, how much, what it did, with what outcome; and the sum."""

from __future__ import annotations

import time
from typing import cast

import click

from claude_iterate.cli import options, output
from claude_iterate.cli.invocation import Invocation
from claude_iterate.core.events.enums import Kind
from claude_iterate.core.formats import cost, duration, plural
from claude_iterate.core.tones import Tone
from claude_iterate.text import local_times
from claude_iterate.text.run_lines import describe_tests
from claude_iterate.views import history_view, run_view
from claude_iterate.views.history_view import (
    HistoryView,
    RunHistory,
    Total,
    changed_files,
    lost_journals,
    total_lines,
)
from claude_iterate.views.iteration_rows import Row
from claude_iterate.views.pages.charts import outcome, outcome_tone, time_taken
from claude_iterate.views.run_view import short_id
from claude_iterate.views.settings_view import short_count
from claude_iterate.views.story import RunRecords
from claude_iterate.workspace.run_summary import TokenCounts

_OUTCOMES = (history_view.FAILED, *(str(kind) for kind in Kind))
_COLUMNS = 80
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


@options.command("history")
@options.run_option(help="A certain run, by its id or number. Default: the last one.")
@options.flag("--all", "every", help="All runs.")
@click.option("--last", type=options.whole(1), metavar="N", help="Only the last N rows.")
@click.option(
    "--only",
    type=click.Choice(_OUTCOMES),
    metavar="OUTCOME",
    help="Only rows with this outcome; failed: all failures.",
)
@options.flag("--totals", help="Only the figures of all rows together.")
@options.flag("--wide", help="All columns: also tokens, turns, tools, and whole moments.")
def command(
    invocation: Invocation,
    name: str,
    run: str | None,
    every: bool,
    last: int | None,
    only: str | None,
    totals: bool,
    wide: bool,
) -> None:
    """Show each iteration of the workspace NAME: its time, cost, work and outcome.

    FILES (created +, changed ~, deleted -), COMMITS and TESTS (passed of all) are measured; PROGRESS is what Claude
    reports, CLAIM whether its claim to be done held. A run that continued a killed one is shown together with it. A
    dry run is one row and does not count.
    """
    options.choose_one({"--run": run is not None, "--all": every})
    layout = invocation.project.layout(name)
    records = RunRecords(layout)
    if run is not None:
        told = history_view.run(records, run_view.find_run(layout, run))
        runs = [told] if told is not None else []
    else:
        runs = history_view.all_runs(layout) if every else history_view.last_runs(records)
    chosen = tuple(history_view.narrow_runs(runs, last, only))
    view = HistoryView(layout.name, chosen, history_view.total(chosen))
    lost = () if output.wants_json() else history_view.without_journal(records)
    if output.wants_json():
        output.view(view)
    elif any(told.iterations for told in view.runs) or view.total.other_cost_usd:
        _print(view, run is not None, wide, totals)
    elif run or any(told.iterations for told in runs):
        output.note(f"The run {run} has no iterations." if run and not only else f"No iteration is {only}.")
    elif not lost:
        output.note(f"{name} has no history yet. Start one: claude-iterate run {name}")
    if lost:
        output.warn(lost_journals(lost))


def _print(view: HistoryView, whole: bool, wide: bool, totals: bool) -> None:
    """A dry run is one row, unless the `whole` of it was asked for. The table fits 80 columns, unless `wide`."""
    total = view.total
    if totals:
        for line in total_lines(total):
            output.result(line)
    else:
        _print_table(_rows(view, whole, None if wide else time.time()), wide)
    for told in view.runs:
        if told.plan is not None:
            left = told.plan.open + told.plan.doing
            output.result(f"Run {short_id(told.id)} in {told.mode} mode: plan {told.plan.done} done, {left} left")
    others = any(told.other_cost_is_lower_bound for told in view.runs)
    if total.other_cost_usd or others:
        in_all = cost(total.cost_usd, total.cost_is_lower_bound)
        output.result(f"Reviews and other calls: {cost(total.other_cost_usd, others)}; in all {in_all}")
    if total.cost_is_lower_bound:
        calls = plural(total.calls_without_cost, "call") if total.calls_without_cost else "Some calls"
        output.note(f"{calls} without a reported cost: still at work, or ended before Claude reported it.")
        output.note("What its messages cost at least is counted, where the price of the model is known.")
    if any(told.dry_run for told in view.runs):
        output.note("A dry run costs nothing and is not part of the sums.")


def _print_table(rows: list[dict[str, str]], wide: bool) -> None:
    """The columns that have something to say and, unless `wide`, fit."""
    names = [name for name in _ORDER if name not in _OPTIONAL or any(row[name] for row in rows)]
    if not wide:
        names = [name for name in names if name not in _COUNTS]
        if _width(names, rows) > _COLUMNS:
            rows = [{**row, "OUTCOME": row["OUTCOME"].partition(",")[0]} for row in rows]
        runs = {row["RUN"] for row in rows}
        for name in _LEAST if len(runs - {""}) > 1 else ("RUN", *_LEAST):
            if _width(names, rows) > _COLUMNS and name in names:
                names.remove(name)
    tones = [cast("Tone", row.get("tone", "plain")) for row in rows]
    output.table([tuple(row[name] for name in names) for row in rows], tuple(names), -1, tones, right=_FIGURES)


def _width(names: list[str], rows: list[dict[str, str]]) -> int:
    return sum(max(len(name), *(len(row[name]) for row in rows)) for name in names) + 2 * (len(names) - 1)


def _rows(view: HistoryView, whole: bool, now: float | None) -> list[dict[str, str]]:
    """The cells of each row by the name of their column, and the sum if there is something to sum up; `now` for a short
    form of moments."""
    rows = [row for told in view.runs for row in (told.iterations if whole or not told.dry_run else _dry_run(told))]
    found = [_row(row, now) for row in rows]
    return [*found, _sums(view)] if any(not told.dry_run for told in view.runs) else found


def _dry_run(told: RunHistory) -> list[Row]:
    """A dry run as one row."""
    rows = told.iterations
    if not rows:
        return []
    took, turns, tools = (sum(getattr(row, name) for row in rows) for name in ("duration", "turns", "tools"))
    known = {"duration": took, "turns": turns, "tools": tools, "progress": rows[-1].progress}
    return [Row(told.id, _DRY_RUN, 1, rows[0].began, outcome=told.reason or Kind.UNFINISHED, **known)]


def _row(row: Row, now: float | None) -> dict[str, str]:
    number = str(row.number) if row.attempt == 1 else f"{row.number}.{row.attempt}"
    worked = {True: "worked", False: "no work", None: ""}[row.worked]
    held = {True: "held", False: "failed", None: "done"}[row.claim_held]
    return {
        "RUN": short_id(row.run),
        "#": "dry run" if row.number == _DRY_RUN else number,
        "BEGAN": local_times.whole(row.began) if now is None else local_times.narrow(row.began, now),
        "TOOK": time_taken(row),
        "COST": cost(row.known_cost_usd, row.cost_is_lower_bound),
        **_counts(row),
        "FILES": changed_files(row.files),
        "COMMITS": "" if row.commits is None else str(row.commits),
        "TESTS": describe_tests(row.tests),
        "PROGRESS": f"{row.progress.completed}/{row.progress.total}" if row.progress is not None else worked,
        "CLAIM": held if row.complete else "",
        "tone": outcome_tone(row),
        "OUTCOME": outcome(row) + (", done again" if row.done_again else ""),
    }


def _counts(figures: Row | Total) -> dict[str, str]:
    tokens: TokenCounts = figures.tokens
    kinds = (tokens.input, tokens.output, tokens.cache_read, tokens.cache_creation)
    return dict(zip(_COUNTS, (*map(short_count, kinds), str(figures.turns), str(figures.tools)), strict=True))


def _sums(view: HistoryView) -> dict[str, str]:
    total = view.total
    at_least = any(row.cost_is_lower_bound for told in view.runs for row in told.iterations)
    again = f", {total.retries} done again" if total.retries else ""
    return {
        **dict.fromkeys(_ORDER, ""),
        "#": "total",
        "TOOK": duration(total.duration),
        "COST": cost(total.cost_usd - total.other_cost_usd, at_least),
        **_counts(total),
        "FILES": changed_files(total.files),
        "COMMITS": "" if total.commits is None else str(total.commits),
        "OUTCOME": f"{plural(total.iterations, 'iteration')}{again}",
    }
