"""While Claude or a check works: every rule names the moment at which it would end it; the engine sleeps until the
earliest."""

from __future__ import annotations

from collections.abc import Callable

from claude_iterate.core.events.enums import Cause
from claude_iterate.core.rules.facts import Facts
from claude_iterate.core.rules.verdicts import Cut, Wait
from claude_iterate.core.state.run_state import RunState

Limit = tuple[float, Cut]
Running = Callable[[RunState, Facts], Limit | None]


def stop_now(state: RunState, facts: Facts) -> Limit | None:
    """A stop was asked for with urgency (second Ctrl-C, SIGTERM, SIGHUP, `stop --now`): at once."""
    return (facts.now, Cut(Cause.STOPPED)) if state.stop is not None and state.stop.now else None


def skip_was_asked(state: RunState, facts: Facts) -> Limit | None:
    """The user said `skip` or `reboot`: at once."""
    return (facts.now, Cut(state.requests.cut)) if state.requests.cut is not None else None


def lingers_after_result(state: RunState, facts: Facts) -> Limit | None:
    """Claude gave its last result and no background task is open: `timeouts.result_grace` later."""
    call = state.call
    if call is None or call.result_at is None or call.open_tasks:
        return None
    grace = facts.settings.timeouts.result_grace
    return call.result_at + grace, Cut(Cause.LINGERING, grace)


def silent_for_too_long(state: RunState, facts: Facts) -> Limit | None:
    """Nothing was heard of Claude: `timeouts.idle` after its last sign of life."""
    return facts.last_heard + facts.settings.timeouts.idle, Cut(Cause.IDLE, facts.settings.timeouts.idle)


def call_too_long(state: RunState, facts: Facts) -> Limit | None:
    """The call goes on: `timeouts.iteration` after its start."""
    if state.call is None:
        return None
    return state.call.started + facts.settings.timeouts.iteration, Cut(Cause.TIMEOUT, facts.settings.timeouts.iteration)


def run_too_long(state: RunState, facts: Facts) -> Limit | None:
    """The run has taken its `limits.max_duration`: at that moment."""
    most = facts.limits.max_duration
    return None if most is None else (most - state.elapsed_before, Cut(Cause.DURATION, most))


RUNNING_RULES: tuple[Running, ...] = (
    stop_now,
    skip_was_asked,
    lingers_after_result,
    silent_for_too_long,
    call_too_long,
    run_too_long,
)


def stop_ends_a_check(state: RunState, facts: Facts) -> Limit | None:
    """A stop was asked for: at once, because a check can be repeated."""
    return (facts.now, Cut(Cause.STOPPED)) if state.stop is not None else None


def check_too_long(state: RunState, facts: Facts) -> Limit | None:
    """The check or stop script goes on: `verification.check_timeout` after its start."""
    most = facts.settings.verification.check_timeout
    return facts.program_began + most, Cut(Cause.TIMEOUT, most)


CHECK_RULES: tuple[Running, ...] = (stop_ends_a_check, check_too_long, run_too_long)


def signal_ends_a_hook(state: RunState, facts: Facts) -> Limit | None:
    """A signal came while the hook ran: at once. The first Ctrl-C lets `iteration_finished` end."""
    return (facts.now, Cut(Cause.STOPPED)) if state.hooks.hook_signals > 0 else None


def hook_too_long(state: RunState, facts: Facts) -> Limit | None:
    """The hook goes on: `hooks.timeout` after its start."""
    most = facts.settings.hooks.timeout
    return facts.program_began + most, Cut(Cause.TIMEOUT, most)


HOOK_RULES: tuple[Running, ...] = (signal_ends_a_hook, hook_too_long)


def decide_hook(state: RunState, facts: Facts) -> Wait | Cut:
    """End the hook now, or look again at the moment the earliest rule names."""
    return _earliest(HOOK_RULES, state, facts)


def decide_running(state: RunState, facts: Facts) -> Wait | Cut:
    """End Claude now, or look again at the moment the earliest rule names."""
    return _earliest(RUNNING_RULES, state, facts)


def decide_check(state: RunState, facts: Facts) -> Wait | Cut:
    """End the check now, or look again at the moment the earliest rule names."""
    return _earliest(CHECK_RULES, state, facts)


def _earliest(rules: tuple[Running, ...], state: RunState, facts: Facts) -> Wait | Cut:
    limits = [limit for rule in rules if (limit := rule(state, facts)) is not None]
    due = next((cut for at, cut in limits if facts.now >= at), None)
    return due or Wait(min((at for at, _ in limits), default=float("inf")))
