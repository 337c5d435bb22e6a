"""What every iteration took: rows folded from the journals of the runs, and their total. Reads, never writes.

A call that was killed before its end is a row too: its money is spent. Nothing is taken from a state that a run took
over from a killed one, so no row is counted twice.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from claude_iterate.core.events import (
    Entry,
    ErrandFinished,
    IterationFinished,
    IterationStarted,
    Outcome,
    ResultReported,
    ReviewFinished,
    RunFinished,
    RunStarted,
    SessionOpened,
    Tokens,
)
from claude_iterate.core.events.vocabulary import Kind
from claude_iterate.core.outcomes.classes import RETRIED
from claude_iterate.core.reports.status import Status
from claude_iterate.workspace.journal import reader
from claude_iterate.workspace.layout import Layout

UNFINISHED = Kind.UNFINISHED
"""The outcome of a call that has none yet, or never will."""


class Row(msgspec.Struct, frozen=True):
    """One call of Claude for an iteration. `attempt` is above 1 when the iteration was done again; `again` says that
    it will be, so this row is none of those that count. `untold`: Claude has worked and not told the cost."""

    run: str
    number: int
    attempt: int
    began: float
    duration: float = 0.0
    outcome: Outcome = Outcome(UNFINISHED)
    status: Status | None = None
    again: bool = False
    cost_usd: float = 0.0
    tokens: Tokens = Tokens()
    turns: int = 0
    tools: int = 0
    resumes: str = ""
    untold: bool = False


class Run(msgspec.Struct, frozen=True):
    """One run: its rows, and what its other calls (reviews, setup) cost."""

    id: str
    started: RunStarted
    rows: tuple[Row, ...]
    finished: RunFinished | None = None
    other_cost_usd: float = 0.0


class Total(msgspec.Struct, frozen=True):
    """The sum of some runs."""

    iterations: int = 0
    retries: int = 0
    duration: float = 0.0
    cost_usd: float = 0.0
    other_cost_usd: float = 0.0
    tokens: Tokens = Tokens()
    turns: int = 0
    tools: int = 0
    untold: int = 0
    """Calls whose cost nobody knows; the sums lack it."""


def run(layout: Layout, identity: str) -> Run | None:
    """The history of one run; None when its journal does not tell of a beginning."""
    path = layout.journal(identity)
    return read(identity, reader.milestones(path)) if path.is_file() else None


def last(layout: Layout) -> list[Run]:
    """The last run, after those that it goes on with because they were killed."""
    found: list[Run] = []
    known = layout.run_ids()
    wanted = next((name for name in reversed(known) if _is_run(layout, name)), "")
    while wanted in known:
        told = run(layout, wanted)
        if told is None:
            break
        found.insert(0, told)
        known = known[: known.index(wanted)]  # a journal that names a later run must not lead us in circles
        wanted = told.started.resumed.run if told.started.resumed else ""
    return found


def every(layout: Layout) -> list[Run]:
    """All runs, oldest first; rehearsals are none."""
    found = (run(layout, identity) for identity in layout.run_ids())
    return [told for told in found if told is not None and not told.started.dry_run]


def total(runs: Iterable[Run]) -> Total:
    """What they took together."""
    runs = list(runs)
    rows = [row for told in runs for row in told.rows]
    counted = [row for row in rows if not row.again and row.outcome.kind != UNFINISHED]
    other = sum(told.other_cost_usd for told in runs)
    return Total(
        iterations=len(counted),
        retries=sum(row.again for row in rows),
        duration=sum(row.duration for row in rows),
        cost_usd=sum(row.cost_usd for row in rows) + other,
        other_cost_usd=other,
        tokens=sum((row.tokens for row in rows), Tokens()),
        turns=sum(row.turns for row in rows),
        tools=sum(row.tools for row in rows),
        untold=sum(row.untold for row in rows),
    )


def read(identity: str, entries: Iterable[Entry]) -> Run | None:
    """Fold the milestones of one journal."""
    started: RunStarted | None = None
    finished: RunFinished | None = None
    rows: list[Row] = []
    under_way: Row | None = None
    other = unclaimed = 0.0
    for entry in entries:
        event = entry.event
        if isinstance(event, RunStarted):
            started = event
        elif isinstance(event, IterationStarted):
            under_way = Row(
                identity, event.number, _attempt(started, rows, event.number), entry.at, resumes=event.resumes
            )
        elif isinstance(event, IterationFinished):
            begun = under_way or Row(identity, event.number, 1, entry.at - event.duration)
            rows.append(_ended(begun, event))
            under_way = None
        elif under_way is not None:
            under_way = _so_far(under_way, entry)
        elif isinstance(event, ResultReported):
            unclaimed = event.cost_usd
        elif isinstance(event, ReviewFinished | ErrandFinished):
            other, unclaimed = other + event.cost_usd, 0.0
        elif isinstance(event, RunFinished):
            finished = event
    if under_way is not None:
        rows.append(under_way)
    return Run(identity, started, tuple(rows), finished, other + unclaimed) if started is not None else None


def _is_run(layout: Layout, identity: str) -> bool:
    started = reader.beginning(layout.journal(identity))
    return started is not None and started.purpose == "run"


def _attempt(started: RunStarted | None, rows: list[Row], number: int) -> int:
    """Which attempt at this iteration it is; a run that goes on remembers those of the killed one."""
    before = started.resumed if started is not None else None
    earlier = before.retries if before is not None and number == before.iterations + 1 else 0
    return earlier + sum(row.number == number for row in rows) + 1


def _so_far(row: Row, entry: Entry) -> Row:
    """What is known of a call that has not ended: the time until its last sign, and its result if it gave one."""
    row = replace(row, duration=max(row.duration, entry.at - row.began))
    told = entry.event
    if isinstance(told, SessionOpened):
        row = replace(row, untold=True)
    elif isinstance(told, ResultReported):
        cost = max(row.cost_usd, told.cost_usd)
        row = replace(row, untold=told.untold and not cost, cost_usd=cost, tokens=told.tokens, turns=told.turns)
    return row


def _ended(row: Row, event: IterationFinished) -> Row:
    complete = event.status is not None and event.status.complete
    return replace(
        row,
        duration=event.duration,
        outcome=event.outcome,
        status=event.status,
        again=event.outcome.kind in RETRIED and not complete,
        cost_usd=event.cost_usd,
        tokens=event.tokens,
        turns=event.turns,
        tools=event.tools,
    )
