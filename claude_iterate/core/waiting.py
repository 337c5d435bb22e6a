"""Rules about limits and overloads: they are nobody's failure, so the run waits and does the same iteration again."""

from __future__ import annotations

from claude_iterate.core import backoff
from claude_iterate.core.durations import describe
from claude_iterate.core.reasons import Reason
from claude_iterate.core.state import RunState
from claude_iterate.core.verdicts import EndWait, Facts, Finish, StartWait, Verdict, Wait


def wait_is_on(state: RunState, facts: Facts) -> Verdict | None:
    """A wait was begun: go on waiting until its moment on the wall clock, or until somebody says `retry`."""
    if state.wait is None:
        return None
    if facts.wall >= state.wait.until:
        return EndWait(state.wait.why)
    return Wait(facts.now + state.wait.until - facts.wall)


def limit_is_reached(state: RunState, facts: Facts) -> Verdict | None:
    """The provider's usage limit: wait until its reset plus `limits.reset_margin` (without a known reset: look again
    after growing pauses), at most `limits.max_wait` in all; with `limits.on_usage_limit = stop`: **usage_limit**."""
    outcome = state.last_outcome
    if outcome is None or outcome.kind != "usage_limit":
        return None
    if not facts.wait_for_limits:
        return Finish("usage_limit", outcome.message, "Run again after the reset; nothing is lost.")
    if outcome.resets_at is not None:
        until = max(outcome.resets_at, facts.wall) + facts.reset_margin
    else:
        until = facts.wall + backoff.probe(state.retries)
    return _wait(state, facts, StartWait("usage_limit", until, outcome.message, outcome.window, state.retries))


def api_is_in_trouble(state: RunState, facts: Facts) -> Verdict | None:
    """Overload, server or network error: wait 5 s, doubling to 5 min, and try again; after `limits.max_wait` in all:
    **agent_failed**."""
    outcome = state.last_outcome
    if outcome is None or outcome.kind != "transient":
        return None
    until = facts.wall + backoff.transient(state.retries, facts.chance)
    return _wait(state, facts, StartWait("transient", until, outcome.message, "", state.retries))


def reserve_is_reached(state: RunState, facts: Facts) -> Verdict | None:
    """Less than `limits.reserve` percent of a usage window is left: **reserve**, or wait for the window's reset."""
    for window, percent in facts.reserve.items():
        seen = state.windows.get(window)
        if seen is None or seen.utilization is None or (seen.resets_at or facts.wall + 1) <= facts.wall:
            continue
        left = 100 * (1 - seen.utilization)
        if left < percent:
            figures = f"{left:.0f}% of {window} left, {percent:.0f}% are to be kept"
            if facts.wait_for_reserve and seen.resets_at is not None:
                return _wait(state, facts, StartWait("reserve", seen.resets_at + facts.reset_margin, figures, window))
            return Finish("reserve", figures, "Run again after the window's reset, or change `limits.reserve`.")
    return None


def _wait(state: RunState, facts: Facts, wanted: StartWait) -> Verdict:
    """This wait, cut to what is left of `limits.max_wait`; the end of the run when nothing is."""
    since = state.waiting_since if state.waiting_since is not None else facts.wall
    last = since + facts.max_wait
    if facts.wall >= last:
        reason: Reason = "agent_failed" if wanted.why == "transient" else "usage_limit"
        detail = f"{wanted.detail} (waited {describe(facts.max_wait)})"
        return Finish(reason, detail, "Run again later, or raise `limits.max_wait`; nothing is lost.")
    return wanted._replace(until=min(wanted.until, last))
