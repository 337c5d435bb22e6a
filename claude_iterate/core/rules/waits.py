"""Rules about waits: limits and overloads, Claude that is away, the pace and the hours of the run, and pauses.

A limit or an overload is no failure: the run waits and does the same iteration again."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec.structs import replace

from claude_iterate.core import hours
from claude_iterate.core.events import Outcome, WaitEnded, WaitStarted
from claude_iterate.core.events.enums import Kind, Purpose, Reason, Why
from claude_iterate.core.formats import duration, plural
from claude_iterate.core.outcomes.classes import COUNTED_FAILURES, plausible
from claude_iterate.core.rules.facts import Facts
from claude_iterate.core.rules.verdicts import Finish, Verdict, Wait
from claude_iterate.core.state.run_state import RunState

_NOTHING = 0.1
"""Seconds; a wait is recorded a moment after it was decided, so a little of what was allowed is always left."""


def wait_is_on(state: RunState, facts: Facts) -> Verdict | None:
    """A wait is under way: wait until its moment on the wall clock, or until the user says `retry`. Where a dry run
    plays a recorded run, the wait is over."""
    wait = state.wait
    if wait is None:
        return None
    if state.run.cassette:
        return WaitEnded(wait.why)
    if wait.why == Why.USAGE_LIMIT and facts.limits.on_usage_limit != "wait":
        return _stop_at_limit(wait.detail, wait.until)
    if wait.why == Why.SCHEDULE and outside_hours(state, facts) is None:
        return WaitEnded(wait.why)
    # A computer may sleep, so the wall clock counts; it may be set back, so the run's own clock counts as well.
    left = min(wait.until - facts.wall, state.waiting.ends - facts.now)
    return Wait(facts.now + left) if left > 0 else WaitEnded(wait.why)


def another_run_met_the_limit(state: RunState, facts: Facts) -> Verdict | None:
    """A run that was started by the same command met a usage limit: wait as long as it does, instead of running into it
    as well; with `limits.on_usage_limit = stop`: **usage_limit**."""
    held = state.waiting.held
    if held is None or held.until <= facts.wall:
        return None
    said = f"{held.by} met the usage limit" + (f": {held.detail}" if held.detail else "")
    if facts.limits.on_usage_limit != "wait":
        return _stop_at_limit(said, held.until)
    return _wait_at_most(state, facts, WaitStarted(Why.USAGE_LIMIT, held.until, said))


def limit_is_reached(state: RunState, facts: Facts) -> Verdict | None:
    """The provider's usage limit: wait until its reset plus `limits.reset_margin` (without a known reset: try again
    after growing pauses), at most `limits.max_wait` in all; with `limits.on_usage_limit = stop`: **usage_limit**."""
    outcome = state.last_outcome
    if outcome is None or outcome.kind != Kind.USAGE_LIMIT:
        return None
    if facts.limits.on_usage_limit != "wait":
        return _stop_at_limit(outcome.message, outcome.resets_at)
    attempt = state.waiting.waits + 1
    if outcome.resets_at is None:
        until = facts.wall + probe(attempt)
    elif outcome.resets_at > facts.wall:
        until = outcome.resets_at + facts.limits.reset_margin
    else:  # It lags behind, and asking again at once would only ask too often.
        until = facts.wall + max(facts.limits.reset_margin, backoff(attempt, facts.chance))
    return _wait_at_most(state, facts, WaitStarted(Why.USAGE_LIMIT, until, outcome.message, outcome.window))


def api_is_in_trouble(state: RunState, facts: Facts) -> Verdict | None:
    """Overload, rate limit, server or network error: wait 5 s, doubling to 5 min, and try again; after
    `limits.max_wait` in all: **agent_failed**."""
    outcome = state.last_outcome
    if outcome is None or outcome.kind != Kind.TRANSIENT:
        return None
    attempt = state.waiting.waits + 1
    until = facts.wall + backoff(attempt, facts.chance)
    why = Why.RATE_LIMIT if outcome.throttled else Why.TRANSIENT
    return _wait_at_most(state, facts, WaitStarted(why, until, outcome.message))


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
            resets_at = plausible(seen.resets_at, facts.wall)
            if facts.limits.on_reserve == "wait" and resets_at is not None:
                until = resets_at + facts.limits.reset_margin
                return _wait_at_most(state, facts, WaitStarted(Why.RESERVE, until, figures, window))
            when = _moment(resets_at) if resets_at is not None else "the window's reset"
            return Finish("reserve", figures, f"Wait until {when}, or change `limits.reserve`.")
    return None


_HOUR = 3600.0


def pace_is_reached(state: RunState, facts: Facts) -> Verdict | None:
    """`limits.calls_per_hour` calls of Claude were made within the last hour: wait until the first of them is an hour
    old."""
    if not facts.limits.calls_per_hour:
        return None
    recent = [at for at in state.waiting.calls if at > facts.wall - _HOUR]
    if len(recent) < facts.limits.calls_per_hour:
        return None
    until = min(recent[-facts.limits.calls_per_hour], facts.wall) + _HOUR
    return WaitStarted(Why.PACE, until, f"{plural(facts.limits.calls_per_hour, 'call')} within an hour")


def outside_hours(state: RunState, facts: Facts) -> WaitStarted | None:
    """The local time is outside of `limits.hours` and `limits.days`: wait until they open. An iteration under way is
    not cut when they close. `retry` waives them until they would have opened; they do not apply to dry runs and
    `verify`."""
    limits = facts.limits
    if not (limits.hours or limits.days) or facts.purpose != Purpose.RUN or state.run.dry_run:
        return None
    if facts.wall < state.waiting.hours_waived:
        return None
    opens = hours.next_opening(facts.wall, facts.zone, limits.hours, limits.days)
    if opens is None:
        return None
    named = {"limits.hours": limits.hours, "limits.days": limits.days}
    detail = "; ".join(f"{key} {', '.join(spans)}" for key, spans in named.items() if spans)
    return WaitStarted(Why.SCHEDULE, opens, detail)


AWAY_PAUSES = (5.0, 10.0, 15.0, 30.0)
"""Seconds before each new try to call Claude; together a minute."""


def claude_is_away(state: RunState, facts: Facts) -> Verdict | None:
    """Claude worked earlier in this run, and now it is missing or not logged in: wait 5 s, 10 s, 15 s, 30 s and try
    again; then **agent_failed**."""
    outcome = state.last_outcome
    if outcome is None or outcome.kind != Kind.AWAY:
        return None
    attempt = max(1, state.streaks.absences)
    until = facts.wall + AWAY_PAUSES[min(attempt, len(AWAY_PAUSES)) - 1]
    return _wait_at_most(state, facts, WaitStarted(Why.AWAY, until, outcome.message))


def retry_if_temporary(outcome: Outcome, state: RunState) -> Outcome:
    """This failure to call Claude as `away`, if Claude worked earlier in this run and the last minute of tries is not
    over: an upgrade removes it for some seconds, or the API answers 401 once."""
    if not state.worked or state.streaks.absences >= len(AWAY_PAUSES):
        return outcome
    return replace(outcome, kind=Kind.AWAY)


def pause_after_failure(state: RunState, facts: Facts) -> Verdict | None:
    """The last iteration failed: wait 5 s, twice as long after each further failure without progress in between, at
    most 5 min, but never less than `delay`; with `delay = 0` and in dry runs not at all."""
    last = state.last_outcome
    if last is None or last.kind not in COUNTED_FAILURES or not facts.settings.delay or state.run.made_up:
        return None
    pause = max(facts.settings.delay, backoff(state.breaker.failures, 0.0))
    return WaitStarted(Why.FAILURES, facts.wall + pause, last.message)


def pause_between_iterations(state: RunState, facts: Facts) -> Verdict | None:
    """`delay` seconds have not passed since the last iteration of this process: wait; not where a dry run plays a
    recorded run."""
    ends = state.last_ended + facts.settings.delay
    if state.run.cassette or not state.last_ended or facts.now >= ends:
        return None
    return Wait(ends)


def _stop_at_limit(said: str, until: float | None) -> Finish:
    when = _moment(until) if until is not None else "the reset"
    return Finish("usage_limit", said, f"Wait until {when}; nothing is lost.")


def _moment(at: float) -> str:
    """In UTC, because rules do not know where they are."""
    return datetime.fromtimestamp(at, UTC).strftime("%a %d %b %H:%M UTC")


def _wait_at_most(state: RunState, facts: Facts, wanted: WaitStarted) -> Verdict:
    """This wait, cut to what is left of `limits.max_wait`; the end of the run when nothing is."""
    left = facts.limits.max_wait - state.waiting.waited
    if left < _NOTHING:
        failed = wanted.why in {Why.TRANSIENT, Why.RATE_LIMIT, Why.AWAY}
        reason: Reason = "agent_failed" if failed else "usage_limit"
        detail = f"{wanted.detail} (waited {duration(facts.limits.max_wait)})"
        cause = f"The API did not recover: {detail}" if wanted.why in {Why.TRANSIENT, Why.RATE_LIMIT} else ""
        return Finish(reason, detail, "Try later, or raise `limits.max_wait`; nothing is lost.", cause)
    return replace(wanted, until=min(wanted.until, facts.wall + left))


def backoff(attempt: int, chance: float) -> float:
    """Pause after the `attempt`-th overload or network error in a row; up to a quarter is added by chance (0..1)."""
    return _double(5.0, 300.0, attempt) * (1 + chance / 4)


def probe(attempt: int) -> float:
    """Pause before the `attempt`-th try whether a limit without a known end is over."""
    return _double(300.0, 3600.0, attempt)


def _double(first: float, longest: float, attempt: int) -> float:
    return min(longest, first * 2.0 ** min(max(attempt - 1, 0), 30))
