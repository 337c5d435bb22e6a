"""Rules that end a run before the work is done: help is needed, failures, and bounds that the user set."""

from __future__ import annotations

from msgspec.structs import replace

from claude_iterate.core.events import Outcome
from claude_iterate.core.events.enums import Kind, Purpose
from claude_iterate.core.formats import cost, duration, money, plural
from claude_iterate.core.outcomes.classes import COUNTED_FAILURES, ENDING_FAILURES
from claude_iterate.core.outcomes.evidence import FOR_ONE_RUN
from claude_iterate.core.rules import next_steps
from claude_iterate.core.rules.facts import Facts
from claude_iterate.core.rules.verdicts import Finish, Verdict
from claude_iterate.core.state.claims import claim_is_open
from claude_iterate.core.state.run_state import RunState


def agent_is_blocked(state: RunState, facts: Facts) -> Verdict | None:
    """The agent reported `blocked`: **blocked**, with its reason."""
    if state.last_status is not None and state.last_status.blocked:
        advice = "Give it what it needs, in INSTRUCTIONS.md or in the project."
        return Finish("blocked", state.last_status.blocked, advice)
    return None


def failure_ends_the_run(state: RunState, facts: Facts) -> Verdict | None:
    """Login, billing, settings: **agent_failed** at once; an iteration that spent what the workspace had left:
    **budget**. One that spent only `limits.max_cost_per_iteration_usd` is a failure like others."""
    outcome = state.last_outcome
    if outcome is None:
        return None
    if outcome.kind == Kind.BUDGET and facts.limits.max_cost_per_iteration_usd is None:
        figures = _figures(state, facts) if facts.limits.max_cost_usd is not None else outcome.message
        return Finish("budget", figures, next=_with_more_money(state, facts))
    return failed(outcome, outcome.message, state, facts) if outcome.kind in ENDING_FAILURES else None


def failed(outcome: Outcome, detail: str, state: RunState, facts: Facts) -> Finish:
    """A call of Claude failed for good: **agent_failed**, with what helps against this outcome."""
    line = facts.command_line
    cause = "" if outcome.called else f"Cannot start: {detail}"
    step = ""
    if outcome.kind == Kind.CRASH:
        step = next_steps.command(line, "doctor")
    elif outcome.kind == Kind.CONFIG and outcome.called:
        step = next_steps.command(line, "config", "--list", "--workspace", next_steps.name(state))
    return Finish("agent_failed", detail, outcome.advice, cause, step)


def denied_again(state: RunState, facts: Facts) -> Verdict | None:
    """Two iterations in a row were denied the same tools and got no further: **agent_failed**, with the rules to
    add."""
    if state.streaks.denials < 2:
        return None
    rules = ", ".join(state.streaks.denied.splitlines())
    outcome = state.last_outcome or Outcome(Kind.DENIED)
    cause = f"Claude got no further, because it is not allowed to use {rules}"
    allowed = next_steps.again(state, facts.command_line, *outcome.allowed_by)
    # The next step is the command for one run.
    advice = "\n".join(line for line in outcome.advice.splitlines() if not line.startswith(FOR_ONE_RUN))
    return Finish("agent_failed", f"not allowed: {rules}", advice, cause, allowed)


def too_many_failures(state: RunState, facts: Facts) -> Verdict | None:
    """`stop.failures` crashes, hangs, time-outs, refused requests or iterations that spent their money, without
    progress in between: **agent_failed**."""
    outcome = state.last_outcome
    if outcome is None or outcome.kind not in COUNTED_FAILURES:
        return None
    if not 0 < facts.settings.stop.failures <= state.streaks.failures:
        return None
    times = "1 iteration" if state.streaks.failures == 1 else f"{state.streaks.failures} iterations in a row"
    ending = failed(outcome, f"{times} failed; the last: {outcome.message}", state, facts)
    step = ending.next or next_steps.again(state, facts.command_line, ("--reset",))
    return replace(ending, next=step, tripped=f"after {plural(state.streaks.failures, 'failed iteration')}")


def stagnated(state: RunState, facts: Facts) -> Verdict | None:
    """In iterative mode `stagnation_threshold` iterations in a row with `worked: false`: **stagnation**."""
    idle = state.streaks.idle_iterations
    if not facts.stagnates or not 0 < facts.settings.stagnation_threshold <= idle:
        return None
    advice = "Claude found nothing left to do. See whether that is so, or say in INSTRUCTIONS.md what is missing."
    return Finish("stagnation", str(idle), advice, next=next_steps.about(state, facts.command_line, "verify"))


def money_is_spent(state: RunState, facts: Facts) -> Verdict | None:
    """The workspace cost `limits.max_cost_usd` or more: **budget**."""
    most = facts.limits.max_cost_usd
    # A millionth more or less is a matter of how computers add.
    if most is not None and state.total_cost_usd + 1e-6 >= most:
        return Finish("budget", _figures(state, facts), next=_with_more_money(state, facts))
    return None


def _figures(state: RunState, facts: Facts) -> str:
    spent = cost(state.total_cost_usd, state.total_is_lower_bound)
    return f"{spent} of {money(facts.limits.max_cost_usd or 0.0)} (limits.max_cost_usd)"


def _with_more_money(state: RunState, facts: Facts) -> str:
    """Twice as much may be spent; only `run` has an option for that."""
    most = facts.limits.max_cost_usd
    if most is None:
        return ""
    amount = f"{2 * max(most, state.total_cost_usd):.2g}"
    if facts.purpose == Purpose.RUN:
        return next_steps.again(state, facts.command_line, ("--max-cost", amount))
    scope = ("--workspace", next_steps.name(state))
    return next_steps.command(facts.command_line, "config", "limits.max_cost_usd", amount, *scope)


def budget(state: RunState, facts: Facts) -> float | None:
    """What the next call may cost: the cap of an iteration, or what the workspace has left; None: any amount."""
    most, cap = facts.limits.max_cost_usd, facts.limits.max_cost_per_iteration_usd
    bounds = [cap, None if most is None else most - state.total_cost_usd]
    return min((bound for bound in bounds if bound is not None), default=None)


def time_is_up(state: RunState, facts: Facts) -> Verdict | None:
    """The run took `limits.max_duration` or more: **duration**."""
    most = facts.limits.max_duration
    if most is not None and facts.now + state.elapsed_before >= most:
        return Finish("duration", f"{duration(most)} (limits.max_duration)")
    return None


def iterations_are_used_up(state: RunState, facts: Facts) -> Verdict | None:
    """`max_iterations` iterations are done, and no claim waits for its proof: **max_iterations**."""
    unproven = facts.proof_wanted and claim_is_open(state)
    if 0 < facts.max_iterations <= state.iterations and not unproven:
        most = facts.max_iterations + max(facts.max_iterations, state.iterations)  # a killed run may have done more
        more = next_steps.again(state, facts.command_line, ("--max-iterations", str(most)))
        look = next_steps.about(state, facts.command_line, "show")
        played = state.started is not None and state.started.cassette
        options = [] if played else [f"To increase the limit: {more}", f"To check progress: {look}"]
        return Finish("max_iterations", str(facts.max_iterations), "\n".join(options))
    return None
