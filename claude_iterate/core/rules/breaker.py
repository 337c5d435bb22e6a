"""Rules that end a run before the work is done: help is needed, failures, bounds that the user set, and the breaker.

The breaker ends a run without progress. It stays tripped until something changes, or until the user types
`run --reset`. Hints are weaker signs: they warn and never decide, because each may have a good reason."""

from __future__ import annotations

import re
from collections.abc import Iterator

from claude_iterate.core.events import Hints, Outcome, Trip, Warned
from claude_iterate.core.events.enums import Kind, Purpose, Reason
from claude_iterate.core.events.run import Breaker
from claude_iterate.core.formats import cost, duration, money, one_line, plural, shorten
from claude_iterate.core.outcomes.classes import COUNTED_FAILURES, ENDING_FAILURES
from claude_iterate.core.outcomes.denials import FOR_ONE_RUN
from claude_iterate.core.rules.facts import Facts
from claude_iterate.core.rules.verdicts import Finish, RunStopScripts, Verdict
from claude_iterate.core.settings.declared import StopSettings
from claude_iterate.core.settings.modes import most_unmoved
from claude_iterate.core.state.claims import claim_is_open
from claude_iterate.core.state.run_state import RunState

_QUOTED = 160
"""Characters of an error or a text that are shown."""
_LOOK = "See what Claude did, change the instructions or remove what stands in its way, then continue."


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
        return Finish("budget", figures, next=_command_with_more_money(state, facts))
    return end_after_failure(outcome, outcome.message, facts) if outcome.kind in ENDING_FAILURES else None


def end_after_failure(outcome: Outcome, detail: str, facts: Facts, step: str = "", tripped: str = "") -> Finish:
    """A call of Claude failed for good: **agent_failed**, with what helps against this outcome, or else `step`."""
    if outcome.kind == Kind.CRASH:
        step = facts.command_line.command("doctor")
    elif outcome.kind == Kind.CONFIG and outcome.called:
        step = facts.command_line.configure("--list")
    cause = "" if outcome.called else f"Cannot start: {detail}"
    return Finish("agent_failed", detail, outcome.advice, cause, step, tripped)


def repeated_denials(state: RunState, facts: Facts) -> Verdict | None:
    """Two iterations in a row were denied the same tools and made no progress: **agent_failed**, with the rules to
    add."""
    if state.streaks.denials < 2:
        return None
    rules = ", ".join(state.streaks.denied.splitlines())
    outcome = state.last_outcome or Outcome(Kind.DENIED)
    cause = f"Claude made no progress, because it is not allowed to use {rules}"
    # The next step is the command for one run.
    advice = "\n".join(line for line in outcome.advice.splitlines() if not line.startswith(FOR_ONE_RUN))
    allowed = facts.command_line.repeat(*outcome.allowed_by)
    return Finish("agent_failed", f"not allowed: {rules}", advice, cause, allowed)


def too_many_failures(state: RunState, facts: Facts) -> Verdict | None:
    """`stop.failures` crashes, hangs, time-outs, refused requests or iterations that spent their money, without
    progress in between: **agent_failed**."""
    outcome, failures = state.last_outcome, state.breaker.failures
    if outcome is None or outcome.kind not in COUNTED_FAILURES:
        return None
    if not 0 < facts.settings.stop.failures <= failures:
        return None
    detail = f"{_in_a_row(failures)} failed; the last: {outcome.message}"
    tripped = f"after {plural(failures, 'failed iteration')}"
    return end_after_failure(outcome, detail, facts, facts.command_line.repeat(("--reset",)), tripped)


def same_error(state: RunState, facts: Facts) -> Verdict | None:
    """`stop.same_error` iterations in a row met the same error and did not resolve it, whatever else they changed:
    **same_error**."""
    times, said = state.breaker.errors, _quote(state.breaker.error_said)
    if not _trips(state, facts.settings.stop.same_error, times):
        return None
    tripped = f"after {plural(times, 'iteration')} with the same error"
    cause = f"{_in_a_row(times)} with the same error: {said}"
    switch = "If this error does not matter", "stop.same_error"
    return _trip("same_error", tripped, said, cause, facts, switch)


def no_progress(state: RunState, facts: Facts) -> Verdict | None:
    """`stop.no_progress` iterations in a row without measured progress: **no_progress**. In iterative mode
    `worked: false` is a matter of `stagnation_threshold`, unless that is 0."""
    times, status = state.breaker.unmoved, state.last_status
    if not _trips(state, most_unmoved(facts.settings, facts.mode.stagnates), times):
        return None
    if facts.mode.stagnates and facts.settings.stagnation_threshold and status is not None and status.worked is False:
        return None
    reported = status if status is not None and status.source != "boxes" else None
    detail = "no commit, no changed file" + ("" if reported else "; the last iteration wrote no report")
    elsewhere = reported is not None and (reported.completed or reported.worked)
    switch = ("If the work that Claude reports is outside of this project", "stop.no_progress") if elsewhere else None
    cause = f"No progress in {_in_a_row(times)}"
    tripped = f"after {plural(times, 'iteration')} without progress"
    return _trip("no_progress", tripped, detail, cause, facts, switch)


def failing_tests(state: RunState, facts: Facts) -> Verdict | None:
    """The tests failed after `stop.test_failures` iterations in a row: **test_failures**."""
    times, last = state.breaker.red, state.work.last_measure
    if not _trips(state, facts.settings.stop.test_failures, times):
        return None
    tests = last.tests if last is not None else None
    figures = "" if tests is None else f"{tests.failed + tests.errors} failed, {tests.passed} passed"
    names = "" if tests is None or not tests.red else f": {', '.join(tests.red[:3])}"
    cause = f"Tests keep failing: {_in_a_row(times)}{f' ({figures})' if figures else ''}"
    tripped = f"after {plural(times, 'iteration')} with failing tests"
    return _trip("test_failures", tripped, figures + names, cause, facts)


def stop_pattern(state: RunState, facts: Facts) -> Verdict | None:
    """Claude's words or a tool's answer in the last iteration match one of `stop.patterns`: **pattern**."""
    if (seen := state.breaker.pattern) is None:
        return None
    text = _quote(seen.text)
    detail = f"`{seen.pattern}` matches: {text}"
    return _trip("pattern", f"by the stop pattern `{seen.pattern}`: {text}", detail, f"Stop pattern: {detail}", facts)


def run_stop_scripts(state: RunState, facts: Facts) -> Verdict | None:
    """The commands of `stop.scripts` run after each iteration."""
    if not facts.settings.stop.scripts or facts.purpose != Purpose.RUN or not state.iterations:
        return None
    ran_after = state.breaker.scripts.number if state.breaker.scripts is not None else 0
    return RunStopScripts(state.iterations) if ran_after < state.iterations else None


def stop_script(state: RunState, facts: Facts) -> Verdict | None:
    """A command of `stop.scripts` exited with 0 after the last iteration: **script**."""
    scripts = state.breaker.scripts
    if scripts is None or scripts.number != state.iterations:
        return None
    found = next((result for result in scripts.results if result.code == 0), None)
    if found is None:
        return None
    said = _quote(found.output)
    detail = f"`{found.command}` exited with 0{': ' + said if said else ''}"
    return _trip("script", f"by the stop script `{found.command}`", detail, "", facts)


def failed_trial(state: RunState, facts: Facts) -> Verdict | None:
    """The breaker had ended an earlier run, `stop.cooldown` was over, and the trial iteration made no progress either:
    the reason of the earlier run."""
    trip = state.breaker.trip
    if trip is None or not state.iterations:
        return None
    cause = f"The trial iteration made no progress. The previous run was stopped {trip.why}"
    return _trip(trip.reason, trip.why, "a trial iteration without progress", cause, facts)


def _trips(state: RunState, most: int, now: int) -> bool:
    """Only an iteration of this run trips the breaker: what earlier runs counted is not enough."""
    return 0 < most <= now and state.iterations > 0


def _in_a_row(number: int) -> str:
    return "1 iteration" if number == 1 else f"{number} iterations in a row"


def _quote(text: str) -> str:
    return shorten(one_line(text), _QUOTED)


def _trip(
    reason: Reason, tripped: str, detail: str, cause: str, facts: Facts, switch: tuple[str, str] | None = None
) -> Finish:
    """The breaker ends the run; `switch` says when to switch its rule off, and by which setting."""
    line, advice = facts.command_line, _LOOK
    if switch is not None:
        advice += f"\n{switch[0]}: {line.configure(switch[1], '0')}"
    return Finish(reason, detail, advice, cause, line.repeat(("--reset",)), tripped)


def stagnation(state: RunState, facts: Facts) -> Verdict | None:
    """In iterative mode `stagnation_threshold` iterations in a row with `worked: false`: **stagnation**."""
    idle = state.streaks.idle_iterations
    if not facts.mode.stagnates or not 0 < facts.settings.stagnation_threshold <= idle:
        return None
    advice = "Claude found nothing left to do. Check whether that is so, or say in INSTRUCTIONS.md what is missing."
    said = f"{plural(idle, 'consecutive iteration')} with no work"
    return Finish("stagnation", said, advice, next=facts.command_line.about("verify"))


def money_is_spent(state: RunState, facts: Facts) -> Verdict | None:
    """The workspace cost `limits.max_cost_usd` or more: **budget**."""
    most = facts.limits.max_cost_usd
    # A millionth more or less is a matter of how computers add.
    if most is not None and state.total_cost_usd + 1e-6 >= most:
        return Finish("budget", _figures(state, facts), next=_command_with_more_money(state, facts))
    return None


def _figures(state: RunState, facts: Facts) -> str:
    spent = cost(state.total_cost_usd, state.run.carried.cost_is_lower_bound or state.cost_is_lower_bound)
    return f"{spent} of {money(facts.limits.max_cost_usd or 0.0)} (limits.max_cost_usd)"


def _command_with_more_money(state: RunState, facts: Facts) -> str:
    """Twice as much may be spent; only `run` has an option for that."""
    most = facts.limits.max_cost_usd
    if most is None:
        return ""
    amount = f"{2 * max(most, state.total_cost_usd):.2g}"
    if facts.purpose == Purpose.RUN:
        return facts.command_line.repeat(("--max-cost", amount))
    return facts.command_line.configure("limits.max_cost_usd", amount)


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
    if unproven or not 0 < facts.max_iterations <= state.iterations:
        return None
    most = facts.max_iterations + max(facts.max_iterations, state.iterations)  # a killed run may have done more
    more = facts.command_line.repeat(("--max-iterations", str(most)))
    options = f"To increase the limit: {more}\nTo check progress: {facts.command_line.about('show')}"
    return Finish("max_iterations", str(facts.max_iterations), "" if state.run.cassette else options)


def refusal(name: str, trip: Trip) -> str:
    """`my-task was stopped after 3 iterations without progress (run 12).`"""
    number = trip.run.partition("-")[0].lstrip("0")
    return f"{name} was stopped {trip.why}{f' (run {number})' if number.isdecimal() else ''}."


def cooldown_left(trip: Trip, cooldown: float | None, wall: float) -> float | None:
    """Seconds until one trial iteration is allowed; 0 or less: now; None: it needs `--reset`."""
    return None if cooldown is None else trip.at + cooldown - wall


def counters(breaker: Breaker, stop: StopSettings) -> list[tuple[str, int, int]]:
    """What the breaker counts, each with its threshold; what can never trip is left out."""
    rows = (
        ("no progress", breaker.unmoved, stop.no_progress or 0),
        ("failures", breaker.failures, stop.failures),
        ("same error", breaker.errors, stop.same_error),
        ("failing tests", breaker.red, stop.test_failures),
    )
    return [(name, now, most) for name, now, most in rows if most]


_SAYS_DONE = (
    r"(?i)\b(?:all (?:the )?(?:tasks|items|steps|work|requirements)\b.{0,40}\b(?:complete|completed|done|finished)"
    r"|(?:task|project|work|implementation|everything) (?:is|has been) (?:now |fully )?"
    r"(?:complete|completed|done|finished)"
    r"|nothing (?:is )?left to do|no (?:tasks|items) (?:are )?(?:left|remaining))\b"
)
_LAST_WORDS = 2000


def says_done(words: str) -> bool:
    """The end of Claude's last message says that all is done. That is no claim: only the report is."""
    return re.search(_SAYS_DONE, words[-_LAST_WORDS:]) is not None


def new_hint_warnings(before: Hints, now: Hints, name: str) -> Iterator[Warned]:
    """The signs that have just reached the count at which they warn; each warns once per streak."""
    logs, verify = f"claude-iterate logs {name}", f"claude-iterate verify {name}"
    if now.shrunk == 2 and before.shrunk != 2:
        text = "Claude's output shrank by 70 % or more twice in a row."
        yield Warned(text, f"It may have little left to do, or be stuck. See: {logs}")
    if now.testing == 3 and before.testing != 3:
        text = "Three iterations in a row reported nothing but tests."
        yield Warned(text, f"If the work is done, verify it: {verify}")
    if now.said_done == 3 and before.said_done != 3:
        text = "In three iterations in a row Claude said that all is done, but did not report `complete: true`."
        yield Warned(text, f"If it is done, verify it: {verify}")
