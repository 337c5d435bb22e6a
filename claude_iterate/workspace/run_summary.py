"""A run in short: the facts that `.metadata.json`, `show`, `list`, `history`, `logs --list` and `run --json` share.

Pure. `summarise` is the only place that turns a RunState into facts for readers, so no two of them can disagree.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

from claude_iterate.core import formats
from claude_iterate.core.events import ProofChange, Tokens
from claude_iterate.core.events.enums import Reason, ending_of
from claude_iterate.core.rules.endings import with_words
from claude_iterate.core.rules.next_steps import KILLED, continue_command
from claude_iterate.core.rules.proof import has_no_verdict
from claude_iterate.core.state.carry_over import carry_over
from claude_iterate.core.state.condition import Progress, condition, items_done
from claude_iterate.core.state.run_state import RunState


class TokenCounts(msgspec.Struct, frozen=True, rename="camel"):
    """Tokens by kind."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_creation: int = 0

    @property
    def total(self) -> int:
        """Of all kinds."""
        return sum(msgspec.structs.astuple(self))


class PlanCounts(msgspec.Struct, frozen=True, rename="camel"):
    """The tasks of the plan by state, as the run last read it."""

    open: int
    doing: int
    done: int


class CurrentWait(msgspec.Struct, frozen=True):
    """What a run waits for (usage_limit, transient, rate_limit, away, reserve, pace, schedule, failures) and until when
    (ISO 8601, UTC)."""

    why: str = msgspec.field(name="for")
    until: str


class ChangeView(msgspec.Struct, frozen=True, rename="camel"):
    """Something that defines the proof has changed since the run began; `earlier`: in an earlier run.
    `kind` is instructions, plan, settings, check, script, config, program, test, prompt or memory."""

    kind: str
    path: str
    how: str
    earlier: bool


class BreakerCounts(msgspec.Struct, frozen=True, rename="camel"):
    """What the breaker counts, at the end of the run or now, and the calls that `limits.calls_per_hour` counts."""

    no_progress: int
    failures: int
    same_error: int
    test_failures: int
    tripped: str | None
    """Why the next run is refused without `--reset`; null: it is not refused."""
    calls_in_last_hour: int


class WorktreeSummary(msgspec.Struct, frozen=True, rename="camel"):
    """The git worktree that the run worked in, and what it left there; null while it runs."""

    path: str
    branch: str
    base: str
    commits: int | None = None
    """Commits of the branch that the project did not have when the run ended."""
    clean: bool | None = None
    """Everything in it was committed, so it was removed."""


class RunSummary(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a run is and what came of it. Moments are ISO 8601 in UTC, durations are seconds."""

    id: str
    purpose: str
    """run, verify, setup, edit or validate."""
    mode: str
    """loop, iterative, plan or build; the commands `plan` and `build` have their own, whatever the workspace's is."""
    plan: PlanCounts | None
    """null in modes that do not read the plan."""
    state: str
    """running, finished, or unfinished: the journal does not have the end of the run."""
    started: str | None
    finished: str | None
    updated: str | None
    """When the last event that counts happened."""
    duration: float
    """Like all figures, it includes the killed run that this one continues."""
    iterations: int
    max_iterations: int
    """0: no limit."""
    iteration: int
    """The number of the iteration under way; 0 when there is none."""
    condition: str
    """What it is doing, in one word: starting, running, verifying, waiting, paused or stopping; killed, if its journal
    has no end and it is not running; at its end the reason."""
    total_iterations: int
    """Of all runs of the workspace, without one that is under way."""
    dry_run: bool
    cost_usd: float
    """Includes what a call under way has reported; 0 in a dry run."""
    cost_is_lower_bound: bool
    """Only part of the cost of some calls is known, because Claude ended before it reported it."""
    total_cost_usd: float
    """Of all runs of the workspace, as the next run will count it."""
    total_cost_is_lower_bound: bool
    tokens: TokenCounts
    reason: Reason | None
    meaning: str
    """What the reason means, in one sentence."""
    cause: str
    """Why it ended, in one sentence."""
    detail: str
    advice: str
    known_by: str | None
    """How it is known that the task is done: checks, review, checks_and_review; or not proven: report (Claude's word),
    plan (all of its tasks are ticked), changed (what defines the proof was changed). null: the run did not complete
    the task."""
    about_claim: str
    """What matters about the last claim: that it was not checked or did not hold, or what the report adds."""
    changes: tuple[ChangeView, ...]
    """Changes to what defines the proof since the run began, as far as it was checked."""
    flaky: tuple[str, ...]
    """Checks of the last claim whose result is not the same as before, although nothing changed."""
    next: str
    """The next step, as a command for a shell; empty when there is nothing to do."""
    last_error: str
    paused: bool
    waiting: CurrentWait | None
    progress: Progress | None
    claims: int
    proven: bool | None
    """Whether the last claim of completion held; null when none was judged, when the review gave no verdict, and in a
    dry run, which proves nothing."""
    breaker: BreakerCounts
    goes_on_with: str | None
    """The killed run that this one continues."""
    log: str
    worktree: WorktreeSummary | None = None


Summary = TypeVar("Summary", bound=RunSummary)


def summarise(kind: type[Summary], run: str, state: RunState, running: bool, **more: Any) -> Summary:
    """The facts of a run, as a RunSummary or a `kind` of it that adds `more`."""
    started, finished = state.run, state.finished
    over = finished is not None and not running
    failed = state.last_outcome if state.last_outcome and state.last_outcome.kind != "ok" else None
    spent, proof = state.spent, state.proof
    real = not started.dry_run  # what a dry run says of money and proof is made up
    handed = carry_over(state) if real else started.carried
    return kind(
        id=run,
        purpose=started.purpose,
        mode=started.mode or "loop",
        plan=plan_counts(state),
        state="running" if running else "finished" if finished else "unfinished",
        started=_moment(state.started_at),
        finished=_moment(state.last_at) if over else None,
        updated=_moment(state.last_at),
        duration=round(max(0.0, state.last_at - state.started_at) + state.elapsed_before, 3),
        iterations=state.iterations,
        max_iterations=started.max_iterations,
        iteration=state.call.number if state.call is not None else 0,
        condition=condition(state, alive=running),
        total_iterations=state.total_iterations,
        dry_run=started.dry_run,
        cost_usd=spent.cost_usd if real else 0.0,
        cost_is_lower_bound=real and spent.at_least,
        total_cost_usd=handed.cost_usd,
        total_cost_is_lower_bound=handed.cost_is_lower_bound,
        tokens=counts(spent.tokens) if real else TokenCounts(),
        **_ending(state, running),
        last_error=f"{failed.kind}: {failed.message}" if failed and failed.message else "",
        paused=state.paused and not finished,
        waiting=CurrentWait(state.wait.why, formats.moment(state.wait.until)) if state.wait and not finished else None,
        progress=items_done(state),
        claims=state.claim.judged,
        proven=proof.passed if proof is not None and real and not has_no_verdict(proof.findings) else None,
        known_by=(finished.known_by or None) if finished else None,
        about_claim=finished.about_claim if finished else "",
        changes=changes(state.changes),
        flaky=proof.flaky if proof is not None else (),
        breaker=_breaker(state),
        goes_on_with=started.resumed.run if started.resumed else None,
        log=started.log,
        worktree=_worktree(state),
        **more,
    )


def _ending(state: RunState, running: bool) -> dict[str, Any]:
    """Why the run ended, once it has; of one that was killed, how it goes on."""
    if state.finished is None and not running:
        return {
            "reason": None,
            "meaning": "",
            "detail": "",
            "advice": "",
            "cause": KILLED,
            "next": continue_command(state),
        }
    ended = with_words(state.finished, state) if state.finished is not None else None
    return {
        "reason": state.reason,
        "meaning": ending_of(state.reason, ended.known_by if ended else "").meaning if state.reason else "",
        **{name: getattr(ended, name, "") for name in ("cause", "detail", "advice", "next")},
    }


def _breaker(state: RunState) -> BreakerCounts:
    """As the next run takes it over."""
    handed = carry_over(state)
    standing = handed.breaker
    tripped = standing.trip.why if standing.trip is not None else None
    counted = (standing.unmoved, standing.failures, standing.errors, standing.red)
    return BreakerCounts(*counted, tripped=tripped, calls_in_last_hour=len(handed.calls))


def _worktree(state: RunState) -> WorktreeSummary | None:
    made, left = state.worktree.made, state.worktree.left
    if made is None:
        return None
    known = (left.commits, left.clean) if left is not None and not left.trouble else (None, None)
    return WorktreeSummary(made.path, made.branch, made.base, *known)


def plan_counts(state: RunState) -> PlanCounts | None:
    """The plan as the run last read it; None where it reads none."""
    plan = state.plans.now
    return PlanCounts(plan.open, plan.doing, plan.done) if plan is not None else None


def changes(found: Iterable[ProofChange]) -> tuple[ChangeView, ...]:
    """Changes in the form that readers see."""
    return tuple(msgspec.convert(change, ChangeView, from_attributes=True) for change in found)


def counts(tokens: Tokens) -> TokenCounts:
    """Tokens in the form that readers see."""
    return msgspec.convert(tokens, TokenCounts, from_attributes=True)


def _moment(at: float) -> str | None:
    return formats.moment(at) if at else None
