"""What a signal or a request of the user makes happen, and what the run answers to it.

The engine records what the rules say."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from claude_iterate.core.events import Event, IterationFinished, Outcome, Requested, StopRequested, WaitEnded
from claude_iterate.core.events.enums import Kind, Verb
from claude_iterate.core.state.claims import claim_is_open
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


_PAUSED = "Already paused."
_NOT_PAUSED = "The run was not paused."
_NOTHING_TO_SKIP = "There is no iteration to skip: a claim is being verified."
_NOTHING_TO_RETRY = "There is nothing to retry: a claim is being verified."
_NOT_WAITING = "The run is not waiting, so there is nothing to retry."
UNCHANGED = frozenset({_PAUSED, _NOT_PAUSED, _NOTHING_TO_SKIP, _NOTHING_TO_RETRY, _NOT_WAITING})
"""Answers to requests that change nothing."""


def answer(verb: Verb, state: RunState, now: bool = False, attended: bool = False) -> str:
    """What a request means for a run, in one line; the state is the one before the request. In an `attended` run no
    iteration begins before the user has said so."""
    if verb in {Verb.SKIP, Verb.RETRY} and attended and _between(state):
        return "The next iteration begins when the question at its terminal is answered."
    match verb:
        case Verb.STOP:
            when = f"after {_call(state)}" if state.iteration and not now else "now"
            return f"{_name(state)} stops {when}."
        case Verb.PAUSE:
            return _pause(state)
        case Verb.RESUME:
            return _resume(state)
        case Verb.SKIP:
            return _skip(state)
        case Verb.REBOOT:
            return _reboot(state)
        case Verb.RETRY:
            return _retry(state)
        case Verb.GO:
            return f"Iteration {state.iterations + 1} begins."
        case Verb.DETACH:
            return f"Detached: {_name(state)} goes on without its terminal."
        case _:
            assert_never(verb)


def _name(state: RunState) -> str:
    return state.started.workspace if state.started is not None else "The run"


def _call(state: RunState) -> str:
    return f"iteration {state.iteration}" if state.iteration else "this call"


def _verifying(state: RunState) -> bool:
    """A review is under way, or a check, which is not a call of Claude."""
    return not state.iteration and state.wait is None and (state.call is not None or claim_is_open(state))


def _between(state: RunState) -> bool:
    """Nothing stands before the next iteration but the delay, or the user's consent."""
    return state.call is None and state.wait is None and not state.paused and not claim_is_open(state)


def _pause(state: RunState) -> str:
    if _verifying(state):
        return f"{_name(state)} pauses after the verification, unless the claim holds."
    if state.paused and state.call is None:
        return _PAUSED
    if state.call is not None:
        again = " (already asked for)" if state.paused else ""
        return f"{_name(state)} pauses after {_call(state)}{again}."
    if state.wait is not None:
        return "Paused: when the wait is over, no iteration begins until `resume`."
    return "Paused: no iteration begins until `resume`."


def _resume(state: RunState) -> str:
    if not state.paused:
        return _NOT_PAUSED
    if _verifying(state):
        return f"{_name(state)} does not pause after the verification."
    if state.wait is not None:
        return f"{_name(state)} goes on when the wait is over."
    return "Going on." if state.call is None else f"{_name(state)} does not pause after {_call(state)}."


def _skip(state: RunState) -> str:
    held = " The run stays paused." if state.paused else ""
    if number := state.iteration:
        return f"Iteration {number} is ended now.{held}"
    if _verifying(state):
        return _NOTHING_TO_SKIP
    if state.wait is not None:
        return f"The wait is over.{held}"
    return f"There is no iteration to skip.{held}" if held else "The next iteration begins now."


def _reboot(state: RunState) -> str:
    if number := state.iteration:
        return f"Iteration {number} is ended now and done again with fresh context."
    return "The next iteration begins with fresh context."


def _retry(state: RunState) -> str:
    if state.wait is not None:
        return "The wait is over." + (" The run stays paused." if state.paused else " It tries again now.")
    if _verifying(state):
        return _NOTHING_TO_RETRY
    if state.call is not None or state.paused:
        return _NOT_WAITING
    return "The next iteration begins now."
