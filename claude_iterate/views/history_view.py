"""What every iteration took: the rows of the runs' stories, and their total. Reads, never writes."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from claude_iterate.core.events.vocabulary import Kind
from claude_iterate.core.state.call_state import Spending
from claude_iterate.views import run_view
from claude_iterate.views.story.iteration_rows import Row
from claude_iterate.workspace.journal import reader
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.lifecycle.run_summary import TokenCounts


class RunHistory(msgspec.Struct, frozen=True, rename="camel"):
    """One run: its rows, and what its other calls (reviews, setup) cost."""

    id: str
    purpose: str
    dry_run: bool
    goes_on_with: str | None
    reason: str | None
    other_cost_usd: float
    iterations: tuple[Row, ...]
    other_cost_is_lower_bound: bool = False


class Total(msgspec.Struct, frozen=True, rename="camel"):
    """The sum of some runs."""

    iterations: int = 0
    retries: int = 0
    duration: float = 0.0
    cost_usd: float = 0.0
    other_cost_usd: float = 0.0
    calls_without_cost: int = 0
    """Calls of iterations whose cost is not known; the sums have what is known of it."""
    cost_is_lower_bound: bool = False
    """Of some calls only a part of the cost is known."""
    tokens: TokenCounts = TokenCounts()
    turns: int = 0
    tools: int = 0


class HistoryView(msgspec.Struct, frozen=True, rename="camel"):
    """Some runs of a workspace, and their sum."""

    workspace: str
    runs: tuple[RunHistory, ...]
    total: Total


def history(layout: Layout, runs: Iterable[RunHistory]) -> HistoryView:
    """These runs and their sum."""
    runs = tuple(runs)
    return HistoryView(layout.name, runs, total(runs))


def run(layout: Layout, identity: str) -> RunHistory | None:
    """The history of one run; None when its journal has no beginning."""
    found = run_view.recorded(layout, identity)
    if found is None:
        return None
    view = found.view
    rows, other = found.story.rows.every(), found.story.rows.other
    if view.dry_run:  # its money and tokens are made up
        free = {"cost_usd": 0.0, "known_cost_usd": 0.0, "cost_is_lower_bound": False, "tokens": TokenCounts()}
        rows, other = tuple(replace(row, **free) for row in rows), Spending()
    about = identity, view.purpose, view.dry_run, view.goes_on_with, view.reason
    return RunHistory(*about, other.cost_usd, rows, other.at_least)


def last(layout: Layout) -> list[RunHistory]:
    """The last run, after those that it goes on with because they were killed, and the dry runs since then."""
    known = layout.run_ids()
    wanted = next(reader.newest(layout, ("run",)), None)
    later = known[known.index(wanted) + 1 :] if wanted is not None else known
    tried = [told for identity in later if (told := run(layout, identity)) is not None and told.dry_run]
    return [*_chain(layout, known, wanted), *tried]


def _chain(layout: Layout, known: list[str], wanted: str | None) -> list[RunHistory]:
    """A run after those that it goes on with."""
    found: list[RunHistory] = []
    while wanted in known:
        told = run(layout, wanted)
        if told is None:
            break
        found.insert(0, told)
        known = known[: known.index(wanted)]  # a journal that names a later run must not lead us in circles
        wanted = told.goes_on_with
    return found


def every(layout: Layout) -> list[RunHistory]:
    """All runs, oldest first."""
    found = (run(layout, identity) for identity in layout.run_ids())
    return [told for told in found if told is not None]


def total(runs: Iterable[RunHistory]) -> Total:
    """What they took together. Dry runs do not count."""
    runs = [told for told in runs if not told.dry_run]
    rows = [row for told in runs for row in told.iterations]
    counted = [row for row in rows if not row.done_again and row.outcome != Kind.UNFINISHED]
    other = sum(told.other_cost_usd for told in runs)
    return Total(
        iterations=len(counted),
        retries=sum(row.done_again for row in rows),
        duration=round(sum(row.duration for row in rows), 3),
        cost_usd=sum(row.known_cost_usd for row in rows) + other,
        other_cost_usd=other,
        calls_without_cost=sum(row.cost_usd is None for row in rows),
        cost_is_lower_bound=any(row.cost_is_lower_bound for row in rows)
        or any(told.other_cost_is_lower_bound for told in runs),
        tokens=TokenCounts(*(sum(getattr(row.tokens, kind) for row in rows) for kind in TokenCounts.__struct_fields__)),
        turns=sum(row.turns for row in rows),
        tools=sum(row.tools for row in rows),
    )
