"""While Claude or a check works: every rule names the moment at which it would end it; the engine sleeps until the
earliest."""

from __future__ import annotations

from collections.abc import Callable

from claude_iterate.core.events.enums import Cause
from claude_iterate.core.rules import steering
from claude_iterate.core.rules.facts import Facts
from claude_iterate.core.rules.verdicts import Cut, Limit, Wait
from claude_iterate.core.state.run_state import RunState

Running = Callable[[RunState, Facts], Limit | None]


def lingers_after_result(state: RunState, facts: Facts) -> Limit | None:
    """Claude gave its last result and no background task is open: `timeouts.result_grace` later."""
    call = state.call
    if call is None or call.result_at is None or call.open_tasks:
        return None
    grace = facts.settings.timeouts.result_grace
    return call.result_at + grace, Cut(Cause.LINGERING, grace)


def silent_for_too_long(state: RunState, facts: Facts) -> Limit | None:
    """Claude is silent: `timeouts.idle` after its last sign of life."""
    return facts.last_heard + facts.settings.timeouts.idle, Cut(Cause.IDLE, facts.settings.timeouts.idle)


def call_too_long(state: RunState, facts: Facts) -> Limit | None:
    """The call continues: `timeouts.iteration` after its start."""
    if state.call is None:
        return None
    return state.call.started + facts.settings.timeouts.iteration, Cut(Cause.TIMEOUT, facts.settings.timeouts.iteration)


def run_too_long(state: RunState, facts: Facts) -> Limit | None:
    """The run has taken its `limits.max_duration`: at that moment."""
    most = facts.limits.max_duration
    return None if most is None else (most - state.elapsed_before, Cut(Cause.DURATION, most))


def check_too_long(state: RunState, facts: Facts) -> Limit | None:
    """The check or stop script continues: `verification.check_timeout` after its start."""
    most = facts.settings.verification.check_timeout
    return facts.program_began + most, Cut(Cause.TIMEOUT, most)


def hook_too_long(state: RunState, facts: Facts) -> Limit | None:
    """The hook continues: `hooks.timeout` after its start."""
    most = facts.settings.hooks.timeout
    return facts.program_began + most, Cut(Cause.TIMEOUT, most)


RUNNING_RULES: tuple[Running, ...] = (
    steering.urgent_stop,
    steering.skip_or_reboot,
    lingers_after_result,
    silent_for_too_long,
    call_too_long,
    run_too_long,
)
CHECK_RULES: tuple[Running, ...] = (steering.stop_ends_check, check_too_long, run_too_long)
HOOK_RULES: tuple[Running, ...] = (steering.signal_ends_hook, hook_too_long)


def decide_running(state: RunState, facts: Facts, rules: tuple[Running, ...] = RUNNING_RULES) -> Wait | Cut:
    """End what is under way now, or decide again at the moment that the earliest rule names."""
    limits = [limit for rule in rules if (limit := rule(state, facts)) is not None]
    due = next((cut for at, cut in limits if facts.now >= at), None)
    return due or Wait(min((at for at, _ in limits), default=float("inf")))
