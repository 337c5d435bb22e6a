"""`history NAME`: one row per iteration: when, how long, how much, what it did, with what outcome; and the sum."""

from __future__ import annotations

import time

import click

from claude_iterate.cli import completion, options, output
from claude_iterate.cli.history_table import cells, print_table, short_id
from claude_iterate.cli.invocation import Invocation
from claude_iterate.core.events.vocabulary import Kind
from claude_iterate.core.formats import cost, plural
from claude_iterate.errors import UsageProblem
from claude_iterate.views import history_view
from claude_iterate.views.history_view import HistoryView
from claude_iterate.views.run_totals import RunHistory, lost_journals, total_lines
from claude_iterate.views.run_view import RunRecords
from claude_iterate.workspace.layout import Layout

_OUTCOMES = (history_view.FAILED, *(str(kind) for kind in Kind))


@options.command("history")
@click.option(
    "--run",
    "run",
    metavar="ID",
    shell_complete=completion.runs,
    help="A certain run, by its id or its number. Default: the last one.",
)
@options.flag("--all", "every", help="All runs.")
@click.option("--last", type=options.Whole(1), metavar="N", help="Only the last N rows.")
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
    as_json: bool,
) -> None:
    """Show what each iteration of the workspace NAME took and what came of it.

    FILES (created +, changed ~, deleted -), COMMITS and TESTS (green of all) are measured; PROGRESS is what
    Claude reports, CLAIM what became of its word that all is done. A last run that went on with a killed one is shown
    together with that one. A dry run is one row, and counts nowhere.
    """
    if run is not None and every:
        raise UsageProblem("Choose one of --run and --all.", "They exclude each other.")
    layout = invocation.project.layout(name)
    records = RunRecords(layout)
    runs = history_view.every(layout) if every else _chosen(layout, run) if run else history_view.last(records)
    view = history_view.history(layout, history_view.narrowed(runs, last, only))
    lost = () if as_json else history_view.without_journal(records)
    if as_json:
        output.view(view)
    elif any(told.iterations for told in view.runs) or view.total.other_cost_usd:
        _print(view, run is not None, wide, totals)
    elif run or any(told.iterations for told in runs):
        output.note(f"The run {run} has no iterations." if run and not only else f"No iteration is {only}.")
    elif not lost:
        output.note(f"{name} has no history yet. Begin one: claude-iterate run {name}")
    if lost:
        output.warn(lost_journals(lost))


def _chosen(layout: Layout, wanted: str) -> list[RunHistory]:
    found = [identity for identity in layout.run_ids() if wanted in {identity, short_id(identity)}]
    runs = [told for told in (history_view.run(RunRecords(layout), identity) for identity in found) if told is not None]
    if not runs:
        raise UsageProblem(f"{layout.name} has no run {wanted!r}.", f"See: claude-iterate logs {layout.name} --list")
    return runs


def _print(view: HistoryView, whole: bool, wide: bool, totals: bool) -> None:
    """A dry run is one row, unless the `whole` of it was asked for. The table fits 80 columns, unless `wide`."""
    total = view.total
    if totals:
        for line in total_lines(total):
            output.result(line)
    else:
        print_table(cells(view, whole, None if wide else time.time()), wide)
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
