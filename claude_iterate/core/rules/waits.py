"""Rules about limits and overloads: they are not failures, so the run waits and does the same iteration again."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec.structs import replace

from claude_iterate.core.events import WaitEnded, WaitStarted
from claude_iterate.core.events.enums import Kind, Reason, Why
from claude_iterate.core.formats import duration, plural
from claude_iterate.core.outcomes import reset_times
from claude_iterate.core.rules import schedule
from claude_iterate.core.rules.facts import Facts
from claude_iterate.core.rules.verdicts import Finish, Verdict, Wait
from claude_iterate.core.state.run_state import RunState

_NOTHING = 0.1
"""Seconds; a wait is recorded a moment after it was decided, so a little of what was allowed is always left."""


def wait_is_on(state: RunState, facts: Facts) -> Verdict | None:
    """A wait was begun: go on waiting until its moment on the wall clock, or until the user says `retry`. Where a dry
    run plays a recorded run, what it waited for is over."""
    wait = state.wait
    if wait is None:
        return None
    if state.started is not None and state.started.cassette:
        return WaitEnded(wait.why)
    if wait.why == Why.USAGE_LIMIT and facts.limits.on_usage_limit != "wait":
        return _limit_stops(wait.detail, wait.until)
    if wait.why == Why.SCHEDULE:
        return _hours_open(wait, state, facts)
    # A computer may sleep, so the wall clock counts; it may be set back, so the run's own clock counts as well.
    # One that was taken over may have been planned with another clock, or another `limits.max_wait`.
    ends = min(state.waiting.ends, state.waiting.began + facts.limits.max_wait)
    left = min(wait.until - facts.wall, ends - facts.now)
    return Wait(facts.now + left) if left > 0 else WaitEnded(wait.why)


def _hours_open(wait: WaitStarted, state: RunState, facts: Facts) -> Verdict:
    """No `limits.max_wait` cuts this wait, and it ends when the settings have changed meanwhile."""
    left = min(wait.until - facts.wall, state.waiting.ends - facts.now)
    closed = left > 0 and schedule.hours_are_closed(state, facts) is not None
    return Wait(facts.now + left) if closed else WaitEnded(wait.why)


def another_run_met_the_limit(state: RunState, facts: Facts) -> Verdict | None:
    """A run that was started by the same command met a usage limit: wait as long as it does, instead of running into it
    as well; with `limits.on_usage_limit = stop`: **usage_limit**."""
    held = state.waiting.held
    if held is None or held.until <= facts.wall:
        return None
    said = f"{held.by} met the usage limit" + (f": {held.detail}" if held.detail else "")
    if facts.limits.on_usage_limit != "wait":
        return _limit_stops(said, held.until)
    return at_most(state, facts, WaitStarted(Why.USAGE_LIMIT, held.until, said))


def limit_is_reached(state: RunState, facts: Facts) -> Verdict | None:
    """The provider's usage limit: wait until its reset plus `limits.reset_margin` (without a known reset: look again
    after growing pauses), at most `limits.max_wait` in all; with `limits.on_usage_limit = stop`: **usage_limit**."""
    outcome = state.last_outcome
    if outcome is None or outcome.kind != Kind.USAGE_LIMIT:
        return None
    if facts.limits.on_usage_limit != "wait":
        return _limit_stops(outcome.message, outcome.resets_at)
    attempt = state.waiting.waits + 1
    if outcome.resets_at is None:
        until = facts.wall + probe(attempt)
    elif outcome.resets_at > facts.wall:
        until = outcome.resets_at + facts.limits.reset_margin
    else:  # It lags behind, and asking again at once would only ask too often.
        until = facts.wall + max(facts.limits.reset_margin, backoff(attempt, facts.chance))
    return at_most(state, facts, WaitStarted(Why.USAGE_LIMIT, until, outcome.message, outcome.window, attempt))


def api_is_in_trouble(state: RunState, facts: Facts) -> Verdict | None:
    """Overload, rate limit, server or network error: wait 5 s, doubling to 5 min, and try again; after
    `limits.max_wait` in all: **agent_failed**."""
    outcome = state.last_outcome
    if outcome is None or outcome.kind != Kind.TRANSIENT:
        return None
    attempt = state.waiting.waits + 1
    until = facts.wall + backoff(attempt, facts.chance)
    why = Why.RATE_LIMIT if outcome.throttled else Why.TRANSIENT
    return at_most(state, facts, WaitStarted(why, until, outcome.message, "", attempt))


def reserve_is_reached(state: RunState, facts: Facts) -> Verdict | None:
    """Less than `limits.reserve` percent of a usage window is left: **reserve**; with `limits.on_reserve = wait`: wait
    for the window's reset."""
    for window, percent in facts.limits.reserve.items():
        seen = state.waiting.windows.get(window)
        if seen is None or seen.utilization is None or (seen.resets_at or facts.wall + 1) <= facts.wall:
            continue
        left = round(100 * (1 - seen.utilization), 6)  # 80% used leaves 20%, not a little less
        if left < percent:
            figures = f"{left:.0f}% of the {window} window is left; limits.reserve keeps {percent:.0f}%"
            resets_at = reset_times.plausible(seen.resets_at, facts.wall)
            if facts.limits.on_reserve == "wait" and resets_at is not None:
                until = resets_at + facts.limits.reset_margin
                return at_most(state, facts, WaitStarted(Why.RESERVE, until, figures, window))
            when = _moment(resets_at) if resets_at is not None else "the window's reset"
            return Finish("reserve", figures, f"Wait until {when}, or change `limits.reserve`.")
    return None


_HOUR = 3600.0


def pace_is_kept(state: RunState, facts: Facts) -> Verdict | None:
    """`limits.calls_per_hour` calls of Claude were made within the last hour: wait until the first of them is an hour
    old."""
    if not facts.limits.calls_per_hour:
        return None
    recent = [at for at in state.waiting.calls if at > facts.wall - _HOUR]
    if len(recent) < facts.limits.calls_per_hour:
        return None
    until = min(recent[-facts.limits.calls_per_hour], facts.wall) + _HOUR
    return WaitStarted(Why.PACE, until, f"{plural(facts.limits.calls_per_hour, 'call')} within an hour")


def _limit_stops(said: str, until: float | None) -> Finish:
    when = _moment(until) if until is not None else "the reset"
    return Finish("usage_limit", said, f"Wait until {when}; nothing is lost.")


def _moment(at: float) -> str:
    """In UTC, because rules do not know where they are."""
    return datetime.fromtimestamp(at, UTC).strftime("%a %d %b %H:%M UTC")


def at_most(state: RunState, facts: Facts, wanted: WaitStarted) -> Verdict:
    """This wait, cut to what is left of `limits.max_wait`; the end of the run when nothing is."""
    left = facts.limits.max_wait - state.waiting.waited
    if left < _NOTHING:
        failed = wanted.why in {Why.TRANSIENT, Why.RATE_LIMIT, Why.AWAY}
        reason: Reason = "agent_failed" if failed else "usage_limit"
        detail = f"{wanted.detail} (waited {duration(facts.limits.max_wait)})"
        cause = f"The API did not recover: {detail}" if wanted.why in {Why.TRANSIENT, Why.RATE_LIMIT} else ""
        return Finish(reason, detail, "Try later, or raise `limits.max_wait`; nothing is lost.", cause)
    return replace(wanted, until=min(wanted.until, facts.wall + left))


_TRANSIENT_FIRST, _TRANSIENT_LONGEST = 5.0, 300.0
_PROBE_FIRST, _PROBE_LONGEST = 300.0, 3600.0


def backoff(attempt: int, chance: float) -> float:
    """Pause after the `attempt`-th overload or network error in a row; up to a quarter is added by chance (0..1)."""
    return _doubled(_TRANSIENT_FIRST, _TRANSIENT_LONGEST, attempt) * (1 + chance / 4)


def probe(attempt: int) -> float:
    """Pause before the `attempt`-th look whether a limit without a known end is over."""
    return _doubled(_PROBE_FIRST, _PROBE_LONGEST, attempt)


def _doubled(first: float, longest: float, attempt: int) -> float:
    return min(longest, first * 2.0 ** min(max(attempt - 1, 0), 30))
