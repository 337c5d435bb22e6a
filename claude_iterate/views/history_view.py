"""What every iteration took: the rows of the runs' stories, and their total. Reads, never writes."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

import msgspec

from claude_iterate.core.outcomes.classes import COUNTED_FAILURES, ENDING_FAILURES
from claude_iterate.views.run_totals import RunHistory, Total, history_of, settle_claims, total, with_rows
from claude_iterate.views.run_view import RunRecords
from claude_iterate.views.story import Story
from claude_iterate.workspace import metadata
from claude_iterate.workspace.journal import reader
from claude_iterate.workspace.journal.reader import size_of
from claude_iterate.workspace.layout import Layout

_LOOKED_AT = 200
"""Runs that are looked at for a journal that is lost."""
FAILED = "failed"
FAILURES = frozenset(map(str, COUNTED_FAILURES | ENDING_FAILURES))


class HistoryView(msgspec.Struct, frozen=True, rename="camel"):
    """Some runs of a workspace, and their sum."""

    workspace: str
    runs: tuple[RunHistory, ...]
    total: Total


def history(layout: Layout, runs: Iterable[RunHistory]) -> HistoryView:
    """These runs and their sum."""
    runs = tuple(runs)
    return HistoryView(layout.name, runs, total(runs))


def run(records: RunRecords, identity: str) -> RunHistory | None:
    """The history of one run; None when its journal has no beginning."""
    story = records.story(identity)
    return history_of(story, _now(records, story)) if story.started is not None else None


def _now(records: RunRecords, story: Story) -> float:
    """The time now for a run under way; 0 for one that does not run."""
    over = story.state.finished is not None
    named = not over and records.holder is not None and records.holder.get("run") == story.run
    return time.time() if named else 0.0


def narrow_runs(runs: Iterable[RunHistory], last: int | None, only: str | None) -> list[RunHistory]:
    """The runs with their last iterations, or those of an outcome; `failed` is every outcome that is a failure."""
    kinds = FAILURES if only == FAILED else {only}
    found = [(told, [row for row in told.iterations if only is None or row.outcome in kinds]) for told in runs]
    left_out = max(0, sum(len(rows) for _, rows in found) - last) if last is not None else 0
    kept = []
    for told, rows in found:
        kept.append(with_rows(told, tuple(rows[left_out:])))
        left_out = max(0, left_out - len(rows))
    return [told for told in kept if told.iterations or (last is None and only is None)]


def last(records: RunRecords) -> list[RunHistory]:
    """The last run, after those that it goes on with because they were killed, and the dry runs since then."""
    found = records.newest(("run",))
    wanted = found.run if found is not None else None
    later = records.runs[records.runs.index(wanted) + 1 :] if wanted is not None else records.runs
    tried = [told for identity in later if (told := run(records, identity)) is not None and told.dry_run]
    return [*settle_claims(_chain(records, records.runs, wanted)), *tried]


def task(records: RunRecords) -> list[RunHistory]:
    """The runs of the task, those of `verify` included, oldest first; a dry run only where there is nothing else. It
    begins after the last `reset`, and after a completion that was followed by work on other instructions."""
    since = metadata.read(records.layout.metadata).reset_after
    found: list[RunHistory] = []
    for identity in reader.newest_runs(records.layout, ("run", "verify")):
        told = run(records, identity) if identity > since else None
        if told is None or _is_of_another(told, found):
            break
        found.insert(0, told)
    return settle_claims(found) or last(records)[-1:]


def _is_of_another(told: RunHistory, later: Sequence[RunHistory]) -> bool:
    """It completed a task, and what worked after it was given other instructions."""
    after = [row.instructions_hash for one in later for row in one.iterations]
    given = [row.instructions_hash for row in told.iterations]
    return told.reason == "completed" and told.purpose == "run" and bool(given and after) and given[-1] != after[0]


def totals(records: RunRecords, story: Story) -> Total:
    """The figures of a run, with those of the killed ones that it goes on with."""
    told = history_of(story, _now(records, story))
    known = [identity for identity in records.runs if identity < told.id]
    return total(settle_claims([*_chain(records, known, told.goes_on_with), told]))


def _chain(records: RunRecords, known: list[str], wanted: str | None) -> list[RunHistory]:
    """A run after those that it goes on with."""
    found: list[RunHistory] = []
    while wanted in known:
        told = run(records, wanted)
        if told is None:
            break
        found.insert(0, told)
        known = known[: known.index(wanted)]  # a journal that names a later run must not lead us in circles
        wanted = told.goes_on_with
    return found


def without_journal(records: RunRecords) -> tuple[str, ...]:
    """Runs whose journal is gone or empty; not one that is about to begin."""
    runs = (run for run in records.runs[-_LOOKED_AT:] if not records.is_under_way(run))
    return tuple(run for run in runs if size_of(records.layout.journal(run)) <= 0)


def every(layout: Layout) -> list[RunHistory]:
    """All runs, oldest first. Of each only its rows stay in memory."""
    found = (run(RunRecords(layout), identity) for identity in layout.run_ids())
    return settle_claims([told for told in found if told is not None])
