"""What every iteration of some runs took, and their sum, also as lines: `history`, `show`, `run --json`, the report."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from claude_iterate.core.events.enums import Kind
from claude_iterate.core.formats import cost, duration, join_names, plural
from claude_iterate.core.outcomes.call import Spending
from claude_iterate.core.outcomes.classes import COUNTED_FAILURES, ENDING_FAILURES
from claude_iterate.text.run_lines import describe_files, describe_tests
from claude_iterate.views.iteration_rows import FileCounts, Row, TestsView
from claude_iterate.views.story import RunRecords, Story
from claude_iterate.workspace import journal_reader, metadata
from claude_iterate.workspace.journal_reader import size_of
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.run_summary import PlanCounts, TokenCounts, plan_counts

Sums = TypeVar("Sums", TokenCounts, FileCounts)
_LISTED = 5
FAILED = "failed"
FAILURES = frozenset(map(str, COUNTED_FAILURES | ENDING_FAILURES))


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
    waits: int = 0
    """For limits, overloads and the like."""
    waited: float = 0.0
    """Seconds; of a wait under way, until now."""
    mode: str = "loop"
    plan: PlanCounts | None = None
    """The tasks of the plan, as the run last read it."""
    claim_before_held: bool | None = None
    """Whether the last claim of the killed run that it continues held; null: that run judged none."""


class Total(msgspec.Struct, frozen=True, rename="camel"):
    """The sum of some runs, or of some of their iterations. Dry runs do not count."""

    iterations: int = 0
    retries: int = 0
    """Calls whose iteration was repeated."""
    duration: float = 0.0
    cost_usd: float = 0.0
    other_cost_usd: float = 0.0
    calls_without_cost: int = 0
    """Calls of iterations whose cost is not known; the sums include the part that is known."""
    cost_is_lower_bound: bool = False
    """Only part of the cost of some calls is known."""
    tokens: TokenCounts = TokenCounts()
    turns: int = 0
    tools: int = 0
    outcomes: dict[str, int] = {}
    """How many calls ended in each way."""
    reboots: int = 0
    """Iterations that began with a fresh session instead of the last one."""
    waits: int = 0
    waited: float = 0.0
    measured: int = 0
    """Iterations whose changes are known."""
    moved: int = 0
    """Iterations that made progress: commits, files, tests or the plan."""
    files: FileCounts | None = None
    """The sums over all iterations; a file that two iterations changed counts twice. null: not measured."""
    commits: int | None = None
    tests: TestsView | None = None
    """Their last result."""
    claims: int = 0
    """How often Claude said that the task is done."""
    claims_held: int = 0
    longest: float = 0.0
    """The longest call of an iteration."""
    mean: float = 0.0


class HistoryView(msgspec.Struct, frozen=True, rename="camel"):
    """Some runs of a workspace, and their sum."""

    workspace: str
    runs: tuple[RunHistory, ...]
    total: Total


def history_of(story: Story, at: float = 0.0) -> RunHistory:
    """The history of one run, of one under way at the moment `at`. Money and tokens of a dry run are made up, so they
    are left out."""
    rows, other, started = story.rows.every(at), story.rows.other, story.state.run
    if started.dry_run:
        free = {"cost_usd": 0.0, "known_cost_usd": 0.0, "cost_is_lower_bound": False, "tokens": TokenCounts()}
        rows, other = tuple(replace(row, **free) for row in rows), Spending()
    return RunHistory(
        story.run,
        str(started.purpose),
        started.dry_run,
        started.resumed.run if started.resumed else None,
        story.state.reason,
        other.cost_usd,
        rows,
        other.at_least,
        story.wait_count,
        round(story.waited_by(at), 3),
        started.mode or "loop",
        plan_counts(story.state),
        story.rows.claim_before_held,
    )


def settle_claims(runs: Sequence[RunHistory]) -> list[RunHistory]:
    """The runs, where a claim that a killed run left open has the verdict of the run that continued it."""
    found = {one.id: one for one in runs}
    for one in runs:
        killed = found.get(one.goes_on_with or "")
        if killed is None or one.claim_before_held is None or not killed.iterations:
            continue
        *others, last = killed.iterations
        if last.complete and last.claim_held is None:
            rows = (*others, replace(last, claim_held=one.claim_before_held))
            found[killed.id] = replace(killed, iterations=rows)
    return list(found.values())


def total(runs: Iterable[RunHistory]) -> Total:
    """What they took together."""
    runs = [one for one in runs if not one.dry_run]
    rows = [row for one in runs for row in one.iterations]
    ended = [row for row in rows if row.outcome != Kind.UNFINISHED]
    files = [row.files for row in rows if row.files is not None]
    commits = [row.commits for row in rows if row.commits is not None]
    other = sum(one.other_cost_usd for one in runs)
    return Total(
        iterations=sum(not row.done_again for row in ended),
        retries=sum(row.done_again for row in rows),
        duration=round(sum(row.duration for row in rows), 3),
        cost_usd=sum(row.known_cost_usd for row in rows) + other,
        other_cost_usd=other,
        calls_without_cost=sum(row.cost_usd is None for row in rows),
        cost_is_lower_bound=any(row.cost_is_lower_bound for row in rows)
        or any(one.other_cost_is_lower_bound for one in runs),
        tokens=_sum_fields(TokenCounts, [row.tokens for row in rows]),
        turns=sum(row.turns for row in rows),
        tools=sum(row.tools for row in rows),
        outcomes=dict(Counter(row.outcome for row in rows)),
        reboots=sum(row.rebooted is not None for row in rows),
        waits=sum(one.waits for one in runs),
        waited=round(sum(one.waited for one in runs), 3),
        measured=sum(row.moved is not None for row in rows),
        moved=sum(bool(row.moved) for row in rows),
        files=_sum_fields(FileCounts, files) if files else None,
        commits=sum(commits) if commits else None,
        tests=next((row.tests for row in reversed(rows) if row.tests is not None), None),
        claims=sum(row.complete is True for row in rows),
        claims_held=sum(row.claim_held is True for row in rows),
        longest=max((row.duration for row in ended), default=0.0),
        mean=round(sum(row.duration for row in ended) / len(ended), 3) if ended else 0.0,
    )


def _sum_fields(kind: type[Sums], values: Sequence[Sums]) -> Sums:
    return kind(*(sum(getattr(one, name) for one in values) for name in kind.__struct_fields__))


def changed_files(files: FileCounts | None) -> str:
    """`+2 ~5 -1`: created, changed, deleted; `none`; empty: not known."""
    return "" if files is None else describe_files(files) or "none"


def total_lines(total: Total) -> list[str]:
    """One figure in each line; what there is none of is left out."""
    known = {
        "Iterations": f"{total.iterations}{_outcomes(total)}",
        **_work(total),
        "Claims": f"{total.claims}, {total.claims_held} proven" if total.claims else "",
        "Time": duration(total.duration),
        "Cost": cost(total.cost_usd, total.cost_is_lower_bound),
    }
    width = max(len(name) for name in known) + 1
    return [f"{name + ':':<{width}} {text}" for name, text in known.items() if text]


def work_line(total: Total) -> str:
    """What was done, in one line; empty when nothing of it is known."""
    return " · ".join(f"{name}: {text}" for name, text in _work(total).items() if text)


def _work(total: Total) -> dict[str, str]:
    return {
        "Done again": str(total.retries or ""),
        "Fresh sessions": str(total.reboots or ""),
        "Waits": f"{total.waits} ({duration(total.waited)})" if total.waits else "",
        "Files": changed_files(total.files),
        "Commits": "" if total.commits is None else str(total.commits),
        "Tests": describe_tests(total.tests),
        "Progress": f"in {total.moved} of {plural(total.measured, 'iteration')}" if total.measured else "",
        "Longest": duration(total.longest) if total.iterations > 1 else "",
        "Mean": duration(total.mean) if total.iterations > 1 else "",
    }


def lost_journals(runs: Sequence[str]) -> str:
    """`Without a journal: run 1. What it did is not known; ...`."""
    numbers = [run.partition("-")[0].lstrip("0") or run for run in runs]
    named = join_names(numbers, _LISTED)
    noun, they = ("run", "it") if len(numbers) == 1 else ("runs", "they")
    return f"Without a journal: {noun} {named}. What {they} did is not known, and of the money only the sum."


def _outcomes(total: Total) -> str:
    """` (7 ok, 1 crash)`: how the calls ended, the most frequent first."""
    found = sorted(total.outcomes.items(), key=lambda item: -item[1])
    words = ", ".join(f"{number} {outcome}".replace("_", " ") for outcome, number in found)
    return f" ({words})" if found else ""


def run(records: RunRecords, identity: str) -> RunHistory | None:
    """The history of one run, until now if it is under way; None when its journal has no beginning."""
    story = records.story(identity)
    if story.started is None:
        return None
    on = story.state.finished is None and records.is_under_way(identity)
    return history_of(story, time.time() if on else 0.0)


def narrow_runs(runs: Sequence[RunHistory], last: int | None, only: str | None) -> list[RunHistory]:
    """The runs with their last iterations, or those of an outcome; `failed` is every outcome that is a failure. What a
    run cost and waited beside its iterations is not theirs."""
    if last is None and only is None:
        return list(runs)
    kinds = FAILURES if only == FAILED else {only}
    rows = [row for one in runs for row in one.iterations if only is None or row.outcome in kinds]
    kept = {(row.run, row.number, row.attempt) for row in rows[-(last or len(rows)) :]}
    nothing = {"other_cost_usd": 0.0, "other_cost_is_lower_bound": False, "waits": 0, "waited": 0.0}
    found = []
    for one in runs:
        shown = tuple(row for row in one.iterations if (row.run, row.number, row.attempt) in kept)
        found.append(one if shown == one.iterations else replace(one, iterations=shown, **nothing))
    return [one for one in found if one.iterations]


def last_runs(records: RunRecords) -> list[RunHistory]:
    """The last run, after the killed ones that it continues, and the dry runs since then."""
    found = records.newest(("run",))
    wanted = found.run if found is not None else ""
    tried = [run(records, identity) for identity in records.runs if identity > wanted]
    return [*_chain(records, wanted), *(one for one in tried if one is not None and one.dry_run)]


def task_runs(records: RunRecords) -> list[RunHistory]:
    """The runs of the task, those of `verify` included, oldest first; a dry run only where there is nothing else. It
    begins after the last `reset`, and after a completion that was followed by work on other instructions."""
    since = metadata.read(records.layout.metadata).reset_after
    found: list[RunHistory] = []
    for identity in journal_reader.newest_runs(records.layout, ("run", "verify")):
        one = run(records, identity) if identity > since else None
        if one is None or _is_of_another(one, found):
            break
        found.insert(0, one)
    return settle_claims(found) or last_runs(records)[-1:]


def _is_of_another(one: RunHistory, later: Sequence[RunHistory]) -> bool:
    """It completed a task, and what worked after it was given other instructions."""
    after = [row.instructions_hash for run in later for row in run.iterations]
    given = [row.instructions_hash for row in one.iterations]
    return one.reason == "completed" and one.purpose == "run" and bool(given and after) and given[-1] != after[0]


def totals(records: RunRecords, identity: str) -> Total:
    """The figures of a run, with those of the killed ones that it continues."""
    return total(_chain(records, identity))


def _chain(records: RunRecords, wanted: str) -> list[RunHistory]:
    """A run after those that it continues; these are older, whatever a journal says."""
    found: list[RunHistory] = []
    while (not found or wanted < found[0].id) and wanted in records.runs and (one := run(records, wanted)) is not None:
        found.insert(0, one)
        wanted = one.goes_on_with or ""
    return settle_claims(found)


def without_journal(records: RunRecords) -> tuple[str, ...]:
    """Runs whose journal is gone or empty; not one that is about to begin."""
    runs = (run for run in records.runs if not records.is_under_way(run))
    return tuple(run for run in runs if size_of(records.layout.journal(run)) <= 0)


def all_runs(layout: Layout) -> list[RunHistory]:
    """All runs, oldest first. Of each only its rows stay in memory."""
    found = (run(RunRecords(layout), identity) for identity in layout.run_ids())
    return settle_claims([one for one in found if one is not None])
