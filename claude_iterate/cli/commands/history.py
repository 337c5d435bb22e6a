"""`history NAME`: one row per iteration: when, how long, how much, with what outcome; and the sum."""

from __future__ import annotations

import time

import click

from claude_iterate.cli import completion, options, output
from claude_iterate.cli.invocation import Invocation
from claude_iterate.core.events.vocabulary import Kind
from claude_iterate.core.formats import cost, counted, duration
from claude_iterate.errors import UsageProblem
from claude_iterate.text import local_times
from claude_iterate.views import history_view
from claude_iterate.views.history_view import HistoryView, RunHistory, Total
from claude_iterate.views.setting_values import shortened
from claude_iterate.views.story.iteration_rows import Row
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.lifecycle.run_summary import TokenCounts

_HEAD = ("RUN", "#", "BEGAN", "TOOK", "COST", "IN", "OUT", "CACHE READ", "CACHE WRITE", "TURNS", "TOOLS")
_ENDS = ("PROGRESS", "OUTCOME")
_WIDE = frozenset({"IN", "OUT", "CACHE READ", "CACHE WRITE", "TURNS", "TOOLS"})
"""Columns for which 80 have no room."""
_DRY_RUN = 0
"""Stands for the number of the iteration in the row of a dry run."""


@options.command("history")
@click.option(
    "--run",
    "run",
    metavar="ID",
    shell_complete=completion.runs,
    help="A certain run, by its id or its number. Default: the last one.",
)
@options.flag("--all", "every", help="All runs.")
@options.flag("--wide", help="All columns: also tokens, turns, tools, and whole moments.")
def command(invocation: Invocation, name: str, run: str | None, every: bool, wide: bool, as_json: bool) -> None:
    """Show what each iteration of the workspace NAME took and what came of it.

    A last run that went on with a killed one is shown together with that one. A dry run is one row, and counts nowhere.
    """
    if run is not None and every:
        raise UsageProblem("Choose one of --run and --all.", "They exclude each other.")
    layout = invocation.project.layout(name)
    runs = history_view.every(layout) if every else _chosen(layout, run) if run else history_view.last(layout)
    view = history_view.history(layout, runs)
    if as_json:
        output.view(view)
    elif any(told.iterations for told in view.runs) or view.total.other_cost_usd:
        _print(view, run is not None, wide)
    elif run:
        output.note(f"The run {run} has no iterations.")
    else:
        output.note(f"{name} has no history yet. Begin one: claude-iterate run {name}")


def _chosen(layout: Layout, wanted: str) -> list[RunHistory]:
    found = [identity for identity in layout.run_ids() if wanted in {identity, _short(identity)}]
    runs = [told for told in (history_view.run(layout, identity) for identity in found) if told is not None]
    if not runs:
        raise UsageProblem(f"{layout.name} has no run {wanted!r}.", f"See: claude-iterate logs {layout.name} --list")
    return runs


def _short(identity: str) -> str:
    """The number that an id begins with; old ids have none."""
    number, _, rest = identity.partition("-")
    return str(int(number)) if rest and number.isdecimal() and len(number) == 6 else identity


def _print(view: HistoryView, whole: bool, wide: bool) -> None:
    """The table. A dry run is one row, unless the `whole` of it was asked for. It fits 80 columns, unless `wide`."""
    total = view.total
    now = None if wide else time.time()
    rows = [row for told in view.runs for row in (told.iterations if whole or not told.dry_run else _dry_run(told))]
    of_rows = any(row.cost_is_lower_bound for told in view.runs for row in told.iterations)
    sums = ("", "", "total", duration(total.duration), cost(total.cost_usd - total.other_cost_usd, of_rows))
    figures = [_HEAD, *(_figures(row, now) for row in rows), (*sums, *_counts(total.tokens, total.turns, total.tools))]
    widths = [max(len(row[column]) for row in figures) for column in range(len(_HEAD))]
    shown_columns = [column for column, title in enumerate(_HEAD) if wide or title not in _WIDE]
    aligned = [tuple(row[column].rjust(widths[column]) for column in shown_columns) for row in figures]
    ends = [*((_progress(row), _outcome(row)) for row in rows), ("", _sum(total))]
    shown = [(*cells, *end) for cells, end in zip(aligned[1:], ends, strict=True)]
    real = any(not told.dry_run for told in view.runs)  # else there is nothing to sum up
    output.table(shown if real else shown[:-1], (*aligned[0], *_ENDS))
    others = any(told.other_cost_is_lower_bound for told in view.runs)
    if total.other_cost_usd or others:
        in_all = cost(total.cost_usd, total.cost_is_lower_bound)
        output.result(f"Reviews and other calls: {cost(total.other_cost_usd, others)}; in all {in_all}")
    if total.cost_is_lower_bound:
        calls = counted(total.calls_without_cost, "call") if total.calls_without_cost else "Some calls"
        output.note(f"{calls} without a reported cost: still at work, or ended before Claude reported it.")
        output.note("What its messages cost at least is counted, where the price of the model is known.")
    if any(told.dry_run for told in view.runs):
        output.note("A dry run costs nothing and is not part of the sums.")


def _dry_run(told: RunHistory) -> list[Row]:
    """A dry run as one row."""
    rows = told.iterations
    if not rows:
        return []
    outcome = told.reason or Kind.UNFINISHED
    took, turns, tools = (sum(getattr(row, name) for row in rows) for name in ("duration", "turns", "tools"))
    known = {"duration": took, "turns": turns, "tools": tools, "progress": rows[-1].progress}
    return [Row(told.id, _DRY_RUN, 1, rows[0].began, outcome=outcome, **known)]


def _figures(row: Row, now: float | None) -> tuple[str, ...]:
    """One row of figures; `now` for a short form of its moment."""
    number = str(row.number) if row.attempt == 1 else f"{row.number}.{row.attempt}"
    if row.number == _DRY_RUN:
        number = "dry run"
    paid = cost(row.known_cost_usd, row.cost_is_lower_bound)
    began = local_times.whole(row.began) if now is None else local_times.narrow(row.began, now)
    return (
        *(_short(row.run), number, began, duration(row.duration), paid),
        *_counts(row.tokens, row.turns, row.tools),
    )


def _counts(tokens: TokenCounts, turns: int, tools: int) -> tuple[str, ...]:
    kinds = (tokens.input, tokens.output, tokens.cache_read, tokens.cache_creation)
    return (*map(shortened, kinds), str(turns), str(tools))


def _sum(total: Total) -> str:
    return counted(total.iterations, "iteration") + (f", {total.retries} done again" if total.retries else "")


def _progress(row: Row) -> str:
    if row.progress is not None:
        return f"{row.progress.completed}/{row.progress.total}"
    return {True: "worked", False: "no work", None: ""}[row.worked]


def _outcome(row: Row) -> str:
    words = row.outcome.replace("_", " ")
    if row.done_again:
        return f"{words}, done again"
    return f"{words}, complete" if row.complete else words
