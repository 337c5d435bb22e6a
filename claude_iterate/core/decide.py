"""What happens next: ordered tuples of small rules over state and facts. The documentation's tables are these.

Between iterations the first rule with an opinion wins. While Claude works every rule names the moment at which
it would cut in; the engine sleeps until the earliest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from claude_iterate.core.durations import describe
from claude_iterate.core.outcome import ENDING_FAILURES, FINE
from claude_iterate.core.reasons import Reason
from claude_iterate.core.state import RunState


class Facts(NamedTuple):
    """What the state cannot know: the time, and the bounds that hold for this run. Times are `elapsed` seconds."""

    now: float
    max_iterations: int = 0
    delay: float = 0.0
    stagnates: bool = False
    stagnation_threshold: int = 0
    failures_allowed: int = 3
    max_duration: float | None = None
    max_cost_usd: float | None = None
    iteration_timeout: float = 3600.0
    idle_timeout: float = 900.0
    result_grace: float = 15.0
    last_heard: float = 0.0
    proof_wanted: bool = False
    claims_allowed: int = 1
    only_verify: bool = False
    only_errand: bool = False


class Begin(NamedTuple):
    """Start iteration `number`."""

    number: int


class Wait(NamedTuple):
    """Nothing to do before `until`."""

    until: float


class Verify(NamedTuple):
    """Look whether the claim of completion holds."""

    claim: int


class RunErrand(NamedTuple):
    """Make the one call that this run is for."""


class Cut(NamedTuple):
    """End Claude now. `after` is how long the thing that tripped lasted."""

    cause: str
    after: float = 0.0


class Finish(NamedTuple):
    """The run is over."""

    reason: Reason
    detail: str = ""
    advice: str = ""


Verdict = Begin | Wait | Verify | RunErrand | Cut | Finish
Between = Callable[[RunState, Facts], Verdict | None]
Running = Callable[[RunState, Facts], tuple[float, Cut] | None]


def errand(state: RunState, facts: Facts) -> Verdict | None:
    """`setup`, `edit` and `validate` make one call and are done: **completed**, or **agent_failed** if it failed."""
    if not facts.only_errand:
        return None
    if state.errand is None:
        return RunErrand() if state.stop is None else None
    outcome = state.errand.outcome
    if state.stop is not None and outcome.kind == "interrupted":
        return None
    if outcome.kind in FINE:
        return Finish("completed")
    return Finish("agent_failed", outcome.message, outcome.advice)


def _claims_completion(state: RunState) -> bool:
    return state.last_status is not None and state.last_status.complete


def completed(state: RunState, facts: Facts) -> Verdict | None:
    """The agent reported `complete: true` in the iteration that just ended, and the proof (if one is wanted) holds:
    **completed**."""
    if facts.only_verify:
        return Finish("completed", "verified") if state.proof is not None and state.proof.passed else None
    if _claims_completion(state) and (not facts.proof_wanted or (state.proof is not None and state.proof.passed)):
        return Finish("completed", (state.last_status.summary or "") if state.last_status else "")
    return None


def claim_must_be_proven(state: RunState, facts: Facts) -> Verdict | None:
    """The agent reported `complete: true` and checks or a review are wanted: look for ourselves."""
    if state.proof is None and (facts.only_verify or (facts.proof_wanted and _claims_completion(state))):
        return Verify(state.claims + 1)
    return None


def proof_failed(state: RunState, facts: Facts) -> Verdict | None:
    """The proof failed, and `verification.max_attempts` claims were made or `resume_on_fail` is off:
    **verification_failed**."""
    if state.proof is None or state.proof.passed or (not facts.only_verify and state.claims < facts.claims_allowed):
        return None
    return Finish(
        "verification_failed", state.proof.findings, "Help it along, then run again; the evidence is in show."
    )


def stop_was_asked(state: RunState, facts: Facts) -> Verdict | None:
    """Ctrl-C: **interrupted**; SIGTERM or SIGHUP: **terminated**."""
    if state.stop is None:
        return None
    return Finish("interrupted" if state.stop.by == "SIGINT" else "terminated", state.stop.by)


def agent_is_blocked(state: RunState, facts: Facts) -> Verdict | None:
    """The agent reported `blocked`: **blocked**, with its reason."""
    if state.last_status is not None and state.last_status.blocked:
        return Finish("blocked", state.last_status.blocked, "Help it (INSTRUCTIONS.md, files), then run again.")
    return None


def failure_ends_the_run(state: RunState, facts: Facts) -> Verdict | None:
    """Limits, login, money, settings, denied tools: **usage_limit**, **budget** or **agent_failed** at once."""
    outcome = state.last_outcome
    if outcome is None or outcome.kind not in ENDING_FAILURES:
        return None
    reason: Reason = "agent_failed"
    if outcome.kind == "usage_limit":
        reason = "usage_limit"
    elif outcome.kind == "budget":
        reason = "budget"
    return Finish(reason, outcome.message, outcome.advice)


def too_many_failures(state: RunState, facts: Facts) -> Verdict | None:
    """`stop.failures` crashes, hangs or time-outs in a row: **agent_failed**."""
    outcome = state.last_outcome
    if outcome is None or not 0 < facts.failures_allowed <= state.failures:
        return None
    times = "1 iteration" if state.failures == 1 else f"{state.failures} iterations in a row"
    return Finish("agent_failed", f"{times} failed; the last: {outcome.message}", outcome.advice)


def stagnated(state: RunState, facts: Facts) -> Verdict | None:
    """Iterative mode, `worked: false` in `stagnation_threshold` iterations in a row: **stagnation**."""
    if facts.stagnates and 0 < facts.stagnation_threshold <= state.idle_iterations:
        return Finish("stagnation", str(state.idle_iterations))
    return None


def money_is_spent(state: RunState, facts: Facts) -> Verdict | None:
    """The workspace cost `limits.max_cost_usd` or more: **budget**."""
    if facts.max_cost_usd is not None and state.total_cost_usd >= facts.max_cost_usd:
        figures = f"${state.total_cost_usd:.2f} of ${facts.max_cost_usd:.2f} spent"
        return Finish("budget", figures, "Raise `limits.max_cost_usd` (or --max-cost) and run again.")
    return None


def time_is_up(state: RunState, facts: Facts) -> Verdict | None:
    """The run took `limits.max_duration` or more: **duration**."""
    if facts.max_duration is not None and facts.now >= facts.max_duration:
        return Finish("duration", f"{describe(facts.max_duration)} are over", "Run again to go on.")
    return None


def iterations_are_used_up(state: RunState, facts: Facts) -> Verdict | None:
    """`max_iterations` iterations are done: **max_iterations**."""
    if 0 < facts.max_iterations <= state.iterations:
        return Finish("max_iterations", str(facts.max_iterations))
    return None


def pause_between_iterations(state: RunState, facts: Facts) -> Verdict | None:
    """`delay` seconds have not passed since the last iteration: wait."""
    if state.iterations == 0 or facts.now >= state.last_ended + facts.delay:
        return None
    return Wait(state.last_ended + facts.delay)


def begin_the_next(state: RunState, facts: Facts) -> Verdict | None:
    """Otherwise: the next iteration begins."""
    return Begin(state.iterations + 1)


BETWEEN_RULES: tuple[Between, ...] = (
    errand,
    completed,
    stop_was_asked,
    claim_must_be_proven,
    proof_failed,
    agent_is_blocked,
    failure_ends_the_run,
    too_many_failures,
    stagnated,
    money_is_spent,
    time_is_up,
    iterations_are_used_up,
    pause_between_iterations,
    begin_the_next,
)


def stop_now(state: RunState, facts: Facts) -> tuple[float, Cut] | None:
    """A stop was asked for with urgency (second Ctrl-C, SIGTERM, SIGHUP): at once."""
    return (facts.now, Cut("stopped")) if state.stop is not None and state.stop.now else None


def lingers_after_result(state: RunState, facts: Facts) -> tuple[float, Cut] | None:
    """Claude gave its last result and no background task is open: `timeouts.result_grace` later."""
    now = state.call
    if now is None or now.result_at is None or now.open_tasks:
        return None
    return now.result_at + facts.result_grace, Cut("lingering", facts.result_grace)


def silent_for_too_long(state: RunState, facts: Facts) -> tuple[float, Cut] | None:
    """Nothing was heard of Claude: `timeouts.idle` after its last sign of life."""
    return facts.last_heard + facts.idle_timeout, Cut("idle", facts.idle_timeout)


def iteration_too_long(state: RunState, facts: Facts) -> tuple[float, Cut] | None:
    """The iteration goes on: `timeouts.iteration` after its start."""
    if state.call is None:
        return None
    return state.call.started + facts.iteration_timeout, Cut("timeout", facts.iteration_timeout)


RUNNING_RULES: tuple[Running, ...] = (
    stop_now,
    lingers_after_result,
    silent_for_too_long,
    iteration_too_long,
)


def decide(state: RunState, facts: Facts) -> Verdict:
    """Between iterations: the first rule that has an opinion."""
    for rule in BETWEEN_RULES:
        verdict = rule(state, facts)
        if verdict is not None:
            return verdict
    raise AssertionError("the last rule always has an opinion")


def decide_running(state: RunState, facts: Facts) -> Wait | Cut:
    """While Claude works: cut in now, or look again at the moment the earliest rule names."""
    earliest = float("inf")
    for rule in RUNNING_RULES:
        limit = rule(state, facts)
        if limit is not None:
            at, cut = limit
            if facts.now >= at:
                return cut
            earliest = min(earliest, at)
    return Wait(earliest)
