"""What every iteration took: rows folded from the journals of the runs, and their total. Reads, never writes.

A call that was killed before its end is a row too: its money is spent. Nothing is taken from a state that a run took
over from a killed one, so no row is counted twice.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from claude_iterate.core import events
from claude_iterate.core.events.vocabulary import Kind
from claude_iterate.core.formats import moment
from claude_iterate.core.outcomes.classes import RETRIED
from claude_iterate.core.state.call_state import Call, Spending, advance
from claude_iterate.views import run_view
from claude_iterate.workspace.journal import reader
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.lifecycle.run_summary import Progress, TokenCounts, counts, progress


class Row(msgspec.Struct, frozen=True, rename="camel"):
    """One call of Claude for an iteration."""

    run: str
    number: int
    attempt: int
    """Above 1 when the iteration was done again."""
    began: str
    duration: float = 0.0
    cost_usd: float | None = 0.0
    """null: Claude worked and did not report the cost."""
    known_cost_usd: float = 0.0
    """As much of the cost as is known; the sums count it."""
    cost_is_lower_bound: bool = False
    """It is what Claude's messages cost at least, or what it had reported before more messages came."""
    tokens: TokenCounts = TokenCounts()
    turns: int = 0
    tools: int = 0
    progress: Progress | None = None
    worked: bool | None = None
    complete: bool | None = None
    outcome: str = Kind.UNFINISHED
    """unfinished: the call has none yet, or never will."""
    message: str = ""
    done_again: bool = False
    """The iteration is done again, so this row does not count as one."""
    resumed_session: str | None = None


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
    rows, other = _rows(identity, found.milestones)
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


def _rows(identity: str, entries: Iterable[events.Entry]) -> tuple[tuple[Row, ...], Spending]:
    """The rows of one run from its milestones, and what its other calls cost."""
    started: events.RunStarted | None = None
    rows: list[Row] = []
    under_way: Row | None = None
    call = Call(0, 0.0)
    began = 0.0
    other = Spending()
    for entry in entries:
        event = entry.event
        if isinstance(event, events.RunStarted):
            started = event
        elif isinstance(event, events.IterationStarted):
            attempt = _attempt(started, rows, event.number)
            began, call = entry.at, Call(event.number, entry.elapsed)
            under_way = Row(identity, event.number, attempt, moment(began), resumed_session=event.resumes or None)
        elif isinstance(event, events.IterationFinished):
            begun = under_way or Row(identity, event.number, 1, moment(entry.at - event.duration))
            rows.append(_ended(begun, event, call.spending))
            under_way, call = None, Call(0, 0.0)
        elif isinstance(event, events.ReviewFinished | events.ErrandFinished):
            other, call = _sum(other, Spending(event.cost_usd, at_least=event.cost_is_lower_bound)), Call(0, 0.0)
        else:
            call = advance(call, entry)
            under_way = _so_far(under_way, entry, began, call) if under_way is not None else None
    if under_way is not None:
        return (*rows, under_way), other
    return tuple(rows), _sum(other, call.spending)


def _sum(one: Spending, more: Spending) -> Spending:
    return Spending(one.cost_usd + more.cost_usd, at_least=one.at_least or more.at_least)


def _attempt(started: events.RunStarted | None, rows: list[Row], number: int) -> int:
    """Which attempt at this iteration it is; a run that goes on remembers those of the killed one."""
    before = started.resumed if started is not None else None
    earlier = before.retries if before is not None and number == before.iterations + 1 else 0
    return earlier + sum(row.number == number for row in rows) + 1


def _so_far(row: Row, entry: events.Entry, began: float, call: Call) -> Row:
    """What is known of a call that has not ended: the time until its last sign, and what it said of its costs."""
    spent, turns = call.spending, call.result.turns if call.result is not None else 0
    return replace(_paid(row, spent), duration=round(max(row.duration, entry.at - began), 3), turns=turns)


def _paid(row: Row, spent: Spending) -> Row:
    return replace(
        row,
        cost_usd=None if spent.at_least else spent.cost_usd,
        known_cost_usd=spent.cost_usd,
        cost_is_lower_bound=spent.at_least,
        tokens=counts(spent.tokens),
    )


def _ended(row: Row, event: events.IterationFinished, call: Spending) -> Row:
    """A row of a call that is over. Journals of earlier versions do not say whether its cost is all; its events do."""
    status = event.status
    partly = event.cost_is_lower_bound or call.at_least
    return replace(
        _paid(row, Spending(event.cost_usd, event.tokens, partly)),
        duration=round(event.duration, 3),
        turns=event.turns,
        tools=event.tools,
        progress=progress(status),
        worked=status.worked if status else None,
        complete=status.complete if status else None,
        outcome=event.outcome.kind,
        message=event.outcome.message,
        done_again=event.outcome.kind in RETRIED and not (status is not None and status.complete),
    )
