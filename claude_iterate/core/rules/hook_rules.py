"""Rules about hooks: when one is due, what its exit code means, and when it ends a run."""

from __future__ import annotations

from claude_iterate.core.events import HookFinished, IterationFinished, Outcome
from claude_iterate.core.events.enums import Cause, Kind, Meaning, Point
from claude_iterate.core.formats import plural
from claude_iterate.core.rules import next_steps
from claude_iterate.core.rules.facts import Facts
from claude_iterate.core.rules.verdicts import Finish, RunHook, Verdict
from claude_iterate.core.settings.declared import HookSettings
from claude_iterate.core.settings.modes import most_unmoved
from claude_iterate.core.state.run_state import RunState

MOST_SKIPS = 10
"""Iterations in a row that hooks may skip where `stop.no_progress` is 0. A hook that always skips must not keep a run
busy for good."""


def meaning(point: Point, code: int | None, cut: str, settings: HookSettings) -> Meaning:
    """What the end of a hook means: 0 go on, 1 skip (of `next_iteration` alone), 2 abort; anything else is a failure,
    or with `hooks.fail_on_error` an abort. `finished` changes nothing, and one that was stopped has no say."""
    if cut == Cause.STOPPED:
        return Meaning.STOPPED
    if code == 0:
        return Meaning.GO_ON
    if code == 1 and point == Point.NEXT_ITERATION:
        return Meaning.SKIP
    aborts = point != Point.FINISHED and (code == 2 or settings.fail_on_error)
    return Meaning.ABORT if aborts else Meaning.FAILED


def how(hook: HookFinished) -> str:
    """How a hook ended, for people."""
    if hook.problem:
        return f"was not run: {hook.problem}"
    if hook.code is not None:
        return f"ended with exit code {hook.code}"
    return "did not end in time" if hook.cut == Cause.TIMEOUT else "was stopped"


def iteration_finished_is_due(state: RunState, facts: Facts) -> Verdict | None:
    """An iteration is over and the hook `iteration_finished` has not run for it: run it."""
    owed = state.hooks.hook_owed
    return RunHook(Point.ITERATION_FINISHED, owed) if owed and _wanted(state, Point.ITERATION_FINISHED) else None


def hook_aborts(state: RunState, facts: Facts) -> Verdict | None:
    """A hook ended with 2, or failed while `hooks.fail_on_error` is on: **hook_abort**. So do
    `stop.no_progress` iterations in a row that a hook skipped (ten, if that is 0)."""
    hook = state.hooks.last_hook
    if hook is not None and hook.means == Meaning.ABORT:
        look = next_steps.about(state, facts.command_line, "logs")
        advice = f"What it printed is in the log: {look}"
        said = hook.output.strip().rpartition("\n")[2]
        detail = f"{hook.path} {how(hook)}"
        return Finish("hook_abort", f"{detail}: {said}" if said else detail, advice)
    if state.hooks.hook_skips >= (most_unmoved(facts.settings, facts.stagnates) or MOST_SKIPS):
        skipped = f"next_iteration skipped {plural(state.hooks.hook_skips, 'iteration')} in a row"
        return Finish("hook_abort", skipped, "Exit code 1 of this hook skips an iteration; see whether it has to.")
    return None


def iteration_is_skipped(state: RunState, facts: Facts) -> Verdict | None:
    """The hook `next_iteration` ended with 1: the iteration's number is used up, and Claude is not called."""
    hook, number, session = state.hooks.last_hook, state.iterations + 1, state.session
    if hook is None or (hook.means, hook.number) != (Meaning.SKIP, number):
        return None
    outcome = Outcome(Kind.SKIPPED, f"skipped by the hook {hook.path}", called=False)
    return IterationFinished(number, outcome, session=session.id, context=session.context)


def started_is_due(state: RunState, facts: Facts) -> Verdict | None:
    """The run has begun and the hook `started` has not run: run it."""
    due = _wanted(state, Point.STARTED) and not state.hooks.hooks_begun
    return RunHook(Point.STARTED, 0) if due else None


def next_iteration_is_due(state: RunState, facts: Facts) -> Verdict | None:
    """An iteration is about to begin and the hook `next_iteration` has not run for it: run it."""
    number = state.iterations + 1
    due = _wanted(state, Point.NEXT_ITERATION) and state.hooks.hook_prepared < number
    return RunHook(Point.NEXT_ITERATION, number) if due else None


def _wanted(state: RunState, point: Point) -> bool:
    return state.started is not None and point in state.started.hooks
