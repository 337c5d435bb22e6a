"""What a request changes in the state of a run, and what the run answers to it."""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from claude_iterate.core.events import Rebooted, Requested, StopRequested
from claude_iterate.core.events.enums import Cause, Reboot, Verb
from claude_iterate.core.events.groups import Session
from claude_iterate.core.state import hook_steps
from claude_iterate.core.state.run_state import RunState

_LONG_AGO = -1e9


def asked(state: RunState, event: Requested | StopRequested) -> RunState:
    """A step of the fold: a request or a signal."""
    return requested(state, event) if isinstance(event, Requested) else stop_requested(state, event)


def requested(state: RunState, event: Requested) -> RunState:
    """A step of the fold: the user steers. A verb of another version changes nothing."""
    now = state.requests
    match event.verb:
        case Verb.PAUSE:
            return replace(state, requests=replace(now, paused=True))
        case Verb.RESUME:
            return replace(state, requests=replace(now, paused=False))
        case Verb.GO:
            return replace(state, requests=replace(now, approved=state.iterations + 1))
        case Verb.SKIP | Verb.REBOOT if state.iteration:
            return replace(state, requests=replace(now, cut=Cause(event.verb)), last_ended=_LONG_AGO)
        case Verb.SKIP | Verb.RETRY if state.call is None and not claim_is_open(state):
            # Between iterations there is nothing to cut; the pause between them is over.
            return replace(state, last_ended=_LONG_AGO)
        case Verb.REBOOT:
            given_up = Rebooted(Reboot.USER, state.session.id, state.session.context) if state.session.id else None
            return replace(state, session=Session(reboot=given_up or state.session.reboot))
    return state


def stop_requested(state: RunState, event: StopRequested) -> RunState:
    """A step of the fold. The first request names the reason; later ones can only make it urgent."""
    stop = event if state.stop is None else replace(state.stop, now=state.stop.now or event.now)
    return replace(state, requests=replace(state.requests, stop=stop), hooks=hook_steps.signalled(state, event))


def claim_is_open(state: RunState) -> bool:
    """The last iteration reported that all is done, and that has not been judged yet: it is being verified, unless the
    run waits to do so or ends."""
    return state.last_status is not None and state.last_status.complete and state.proof is None


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
