"""Steps of the fold about hooks: which have run for which iteration, so that a kill loses none of them."""

from __future__ import annotations

from msgspec.structs import replace

from claude_iterate.core import events
from claude_iterate.core.events.enums import Kind, Meaning, Point
from claude_iterate.core.events.groups import HookState
from claude_iterate.core.state.run_state import RunState


def on_hook_started(state: RunState, event: events.HookStarted, _entry: events.Entry) -> RunState:
    """A hook begins. The first signal in `iteration_finished` lets it end, unless a stop was asked for before."""
    patience = -1 if event.point == Point.ITERATION_FINISHED and state.stop is None else 0
    hooks = replace(_at_point(state.hooks, event), hook_running=event.scope, hook_signals=patience)
    return replace(state, hooks=hooks)


def on_hook_finished(state: RunState, event: events.HookFinished, _entry: events.Entry) -> RunState:
    """A hook has ended. Its point is done when no other hook of it is left; a skip, an abort or a stop does not prepare
    the iteration: a run that goes on after a kill asks again."""
    hooks = _at_point(state.hooks, event)
    failed = (*hooks.hooks_failed, *([event.path] if event.means == Meaning.FAILED else ()))
    hooks = replace(
        hooks,
        hooks_ran=(*hooks.hooks_ran, event.scope) if event.left else (),
        hook_running="",
        last_hook=event,
        hooks_failed=tuple(dict.fromkeys(failed)),
    )
    if event.left:
        return replace(state, hooks=hooks)
    if event.point == Point.STARTED:
        hooks = replace(hooks, hooks_begun=True)
    elif event.point == Point.ITERATION_FINISHED:
        hooks = replace(hooks, hook_owed=0)
    elif event.point == Point.NEXT_ITERATION and event.means in {Meaning.GO_ON, Meaning.FAILED}:
        hooks = replace(hooks, hook_prepared=event.number)
    return replace(state, hooks=hooks)


def _at_point(hooks: HookState, event: events.HookStarted | events.HookFinished) -> HookState:
    """What ran at another point, or for another iteration, is no longer of interest."""
    same = (hooks.hook_point, hooks.hook_number) == (event.point, event.number)
    ran = hooks.hooks_ran if same else ()
    return replace(hooks, hook_point=event.point, hook_number=event.number, hooks_ran=ran)


def hooks_after_signal(hooks: HookState, event: events.StopRequested) -> HookState:
    """A signal while a hook runs may end it."""
    return replace(hooks, hook_signals=hooks.hook_signals + 1) if event.by.startswith("SIG") else hooks


def hooks_after_iteration(state: RunState, event: events.IterationFinished) -> HookState:
    """A counted iteration is over: `iteration_finished` is owed, unless a hook skipped the iteration."""
    hooks, wanted = state.hooks, state.started.hooks if state.started is not None else ()
    last = hooks.last_hook
    skipped = (
        event.outcome.kind == Kind.SKIPPED
        and last is not None
        and (last.means, last.number) == (Meaning.SKIP, event.number)
    )
    owed = event.number if Point.ITERATION_FINISHED in wanted and not skipped else 0
    record = event if wanted else None
    return replace(hooks, hook_owed=owed, hook_record=record, hook_skips=hooks.hook_skips + 1 if skipped else 0)
