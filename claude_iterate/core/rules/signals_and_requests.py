"""What a signal or a request of the user makes happen. The engine records what these rules say."""

from __future__ import annotations

from collections.abc import Callable

from claude_iterate.core.events import Event, IterationFinished, Outcome, Requested, StopRequested, WaitEnded
from claude_iterate.core.events.enums import Kind, Verb
from claude_iterate.core.state.run_state import RunState

Asked = Callable[[RunState, Requested], Event | None]


def signal_came(state: RunState, name: str) -> StopRequested:
    """Ctrl-C: stop after the iteration under way; at once if there is none, because checks and reviews can be
    repeated. A second Ctrl-C, or any other signal: at once."""
    return StopRequested(name, now=state.stop is not None or name != "SIGINT" or not state.iteration)


def stop_was_said(state: RunState, request: Requested) -> Event | None:
    """`stop`: after the iteration under way; at once with `--now`, or if there is none."""
    if request.verb != Verb.STOP:
        return None
    return StopRequested(request.by, now=request.now or not state.iteration)


def wait_is_cut_short(state: RunState, request: Requested) -> Event | None:
    """`retry` or `skip` in a wait: the wait is over."""
    if request.verb not in {Verb.RETRY, Verb.SKIP} or state.wait is None:
        return None
    return WaitEnded(state.wait.why, by=request.verb)


def question_is_skipped(state: RunState, request: Requested) -> Event | None:
    """`skip` as the answer of an attended run: the iteration's number is used up, and all else stays as it was."""
    if request.verb != Verb.SKIP or request.by != "answer":
        return None
    number, session = state.iterations + 1, state.session
    return IterationFinished(number, Outcome(Kind.SKIPPED), session=session.id, context=session.context)


REQUEST_RULES: tuple[Asked, ...] = (stop_was_said, wait_is_cut_short, question_is_skipped)


def effect_of(state: RunState, request: Requested) -> Event | None:
    """What a request makes happen beyond its step in the fold: what the first rule that fits says."""
    return next((event for rule in REQUEST_RULES if (event := rule(state, request)) is not None), None)
