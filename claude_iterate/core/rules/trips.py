"""The rules of the breaker: they end a run in which nothing moves. It stays tripped until something does, or until the
user says `run --reset`."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from claude_iterate.core.events import ScriptResult, Trip, WaitStarted
from claude_iterate.core.events.enums import Purpose, Reason, Why
from claude_iterate.core.events.groups import Streaks
from claude_iterate.core.formats import duration, one_line, plural, shorten
from claude_iterate.core.outcomes.classes import COUNTED_FAILURES
from claude_iterate.core.rules import next_steps, waits
from claude_iterate.core.rules.facts import Facts
from claude_iterate.core.rules.verdicts import Finish, RunStopScripts, Verdict
from claude_iterate.core.settings.declared import StopSettings
from claude_iterate.core.settings.modes import most_unmoved
from claude_iterate.core.state.run_state import RunState

_QUOTED = 160
"""Characters of an error or a text that are shown."""
_LOOK = "See what Claude did, change the instructions or what stands in its way, then go on."


def nothing_moves(state: RunState, facts: Facts) -> Verdict | None:
    """`stop.no_progress` iterations in a row without measured progress: **no_progress**. In iterative mode
    `worked: false` is a matter of `stagnation_threshold`, unless that is 0."""
    most, status = most_unmoved(facts.settings, facts.stagnates), state.last_status
    if not _reached(state, most, state.streaks.unmoved):
        return None
    if facts.stagnates and facts.settings.stagnation_threshold and status is not None and status.worked is False:
        return None
    why, times = "without progress", state.streaks.unmoved
    reported = status if status is not None and status.source != "boxes" else None
    detail = "no commit, no changed file" + ("" if reported else "; the last iteration wrote no report")
    cause = f"Nothing moves: {_in_a_row(times)} {why}{_failed(state)}"
    ending = _trip("no_progress", f"after {plural(times, 'iteration')} {why}", detail, cause, state, facts)
    if reported is None or not (reported.completed or reported.worked):
        return ending
    return _with_switch(
        ending, "If the work that Claude reports is outside of this project", "stop.no_progress", state, facts
    )


def _failed(state: RunState) -> str:
    """The failures among the last iterations, with what the last of them said."""
    count, outcome = min(state.streaks.failures, state.streaks.unmoved), state.last_outcome
    if not count or outcome is None:
        return ""
    said = f": {_quoted(outcome.message)}" if outcome.message else ""
    return f"; the last {count if count > 1 else 'one'} failed{said}"


def same_error_again(state: RunState, facts: Facts) -> Verdict | None:
    """`stop.same_error` iterations in a row met the same error and did not get over it, whatever else they changed:
    **same_error**."""
    if not _reached(state, facts.settings.stop.same_error, state.streaks.errors):
        return None
    why, times = "with the same error", state.streaks.errors
    said = _quoted(state.streaks.error_said)
    cause = f"{_in_a_row(times)} {why}: {said}"
    ending = _trip("same_error", f"after {plural(times, 'iteration')} {why}", said, cause, state, facts)
    return _with_switch(ending, "If this error does not matter", "stop.same_error", state, facts)


def tests_stay_red(state: RunState, facts: Facts) -> Verdict | None:
    """The tests were red after `stop.test_failures` iterations in a row: **test_failures**."""
    if not _reached(state, facts.settings.stop.test_failures, state.streaks.red):
        return None
    last = state.work.last_measure
    tests = last.tests if last is not None else None
    figures = "" if tests is None else f"{tests.failed + tests.errors} red, {tests.passed} green"
    names = "" if tests is None or not tests.red else f": {', '.join(tests.red[:3])}"
    why, times = "with red tests", state.streaks.red
    cause = f"The tests stay red: {_in_a_row(times)}{f' ({figures})' if figures else ''}"
    return _trip("test_failures", f"after {plural(times, 'iteration')} {why}", figures + names, cause, state, facts)


def pattern_was_seen(state: RunState, facts: Facts) -> Verdict | None:
    """Claude's words or a tool's answer in the last iteration match one of `stop.patterns`: **pattern**."""
    seen = state.breaker.pattern
    if seen is None:
        return None
    detail = f"`{seen.pattern}` matches: {_quoted(seen.text)}"
    return _trip(
        "pattern", f"because a stop pattern was seen, {detail}", detail, f"Stop pattern: {detail}", state, facts
    )


def scripts_are_asked(state: RunState, facts: Facts) -> Verdict | None:
    """After each iteration the commands of `stop.scripts` are run."""
    if not facts.settings.stop.scripts or facts.purpose != Purpose.RUN or not state.iterations:
        return None
    asked = state.breaker.scripts.number if state.breaker.scripts is not None else 0
    return RunStopScripts(state.iterations) if asked < state.iterations else None


def script_says_stop(state: RunState, facts: Facts) -> Verdict | None:
    """A command of `stop.scripts` ended with 0 after the last iteration: **script**."""
    found = next(_saying_stop(state), None)
    if found is None:
        return None
    said = one_line(found.output)
    detail = f"`{found.command}` ended with 0{': ' + _quoted(said) if said else ''}"
    return _trip("script", f"because the stop script `{found.command}` said so", detail, "", state, facts)


def _saying_stop(state: RunState) -> Iterator[ScriptResult]:
    scripts = state.breaker.scripts
    if scripts is not None and scripts.number == state.iterations:
        yield from (result for result in scripts.results if result.code == 0)


def trial_moved_nothing(state: RunState, facts: Facts) -> Verdict | None:
    """The breaker had ended an earlier run, `stop.cooldown` was over, and the trial iteration moved nothing either:
    the reason of then."""
    trip = state.breaker.trip
    if trip is None or not state.iterations:
        return None
    cause = f"The trial iteration moved nothing. The run before was stopped {trip.why}"
    return _trip(trip.reason, trip.why, "a trial iteration without progress", cause, state, facts)


def failures_make_pauses(state: RunState, facts: Facts) -> Verdict | None:
    """The last iteration failed: wait 5 s, twice as long after each further failure without progress in between, at
    most 5 min, but never less than `delay`; with `delay = 0` and in dry runs not at all."""
    last, dry_run = state.last_outcome, state.started is not None and state.started.made_up
    if last is None or last.kind not in COUNTED_FAILURES or not facts.settings.delay or dry_run:
        return None
    pause = max(facts.settings.delay, waits.backoff(state.streaks.failures, 0.0))
    return WaitStarted(Why.FAILURES, facts.wall + pause, last.message, "", max(1, state.streaks.failures))


def _reached(state: RunState, most: int, now: int) -> bool:
    """Only an iteration of this run trips the breaker: what earlier runs counted is not enough."""
    return 0 < most <= now and state.iterations > 0


def _in_a_row(number: int) -> str:
    return "1 iteration" if number == 1 else f"{number} iterations in a row"


def _quoted(text: str) -> str:
    return shorten(one_line(text), _QUOTED)


def _trip(reason: Reason, why: str, detail: str, cause: str, state: RunState, facts: Facts) -> Finish:
    step = next_steps.again(state, facts.command_line, ("--reset",))
    return Finish(reason, detail, _LOOK, cause, step, tripped=why)


def _with_switch(ending: Finish, when: str, setting: str, state: RunState, facts: Facts) -> Finish:
    """The ending with the command that switches its rule off."""
    scope = ("--workspace", next_steps.name(state))
    command = next_steps.command(facts.command_line, "config", setting, "0", *scope)
    return replace(ending, advice=f"{ending.advice}\n{when}: {command}")


def refusal(name: str, trip: Trip) -> str:
    """`my-task was stopped after 3 iterations in a row without progress (run 12).`"""
    number = trip.run.partition("-")[0].lstrip("0")
    return f"{name} was stopped {trip.why}{f' (run {number})' if number.isdecimal() else ''}."


def cooldown_left(trip: Trip, cooldown: float | None, wall: float) -> float | None:
    """Seconds until one trial iteration is allowed; 0 or less: now; None: it needs `--reset`."""
    return None if cooldown is None else trip.at + cooldown - wall


def cooldown_hint(left: float | None) -> str:
    """What `stop.cooldown` has to do with a run that is refused."""
    return "" if left is None else f" One trial iteration is allowed in {duration(left)} (stop.cooldown)."


def counters(streaks: Streaks, stop: StopSettings) -> list[tuple[str, int, int]]:
    """What the breaker counts, each with its threshold; what can never trip is left out."""
    rows = (
        ("no progress", streaks.unmoved, stop.no_progress or 0),
        ("failures", streaks.failures, stop.failures),
        ("same error", streaks.errors, stop.same_error),
        ("red tests", streaks.red, stop.test_failures),
    )
    return [(name, now, most) for name, now, most in rows if most]
