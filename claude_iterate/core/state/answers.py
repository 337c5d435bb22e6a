"""What a request means for a run in its present state, in one line. The state is the one before the request."""

from __future__ import annotations

from collections.abc import Callable

from claude_iterate.core.state.requests import claim_is_open
from claude_iterate.core.state.run_state import RunState


def answer(verb: str, state: RunState, now: bool = False, attended: bool = False) -> str:
    """What happens next. In an `attended` run no iteration begins before a person has said so."""
    if verb == "stop":
        return "It stops after this iteration." if _iteration(state) and not now else "It stops now."
    if verb in {"skip", "retry"} and attended and _between(state):
        return "The next iteration begins when the question at its terminal is answered."
    return _WORDS[verb](state)


def _iteration(state: RunState) -> int:
    """The number of the iteration under way; 0 when there is none."""
    return state.call.number if state.call is not None else 0


def _verifying(state: RunState) -> bool:
    """A review is under way, or a check, which is no call of Claude."""
    return not _iteration(state) and state.wait is None and (state.call is not None or claim_is_open(state))


def _between(state: RunState) -> bool:
    """Nothing stands before the next iteration but the delay, or a person's consent."""
    return state.call is None and state.wait is None and not state.paused and not claim_is_open(state)


def _pause(state: RunState) -> str:
    if _verifying(state):
        return "It pauses after the verification, unless the claim holds."
    if state.paused:
        return "Already paused." if state.call is None else "It pauses after this iteration, as was said before."
    if state.call is not None:
        return "It pauses after this iteration."
    if state.wait is not None:
        return "Paused: when the wait is over, no iteration begins until `resume`."
    return "Paused: no iteration begins until `resume`."


def _resume(state: RunState) -> str:
    if not state.paused:
        return "It was not paused."
    if _verifying(state):
        return "It does not pause after the verification."
    if state.wait is not None:
        return "It goes on when the wait is over."
    return "Going on." if state.call is None else "It does not pause after this iteration."


def _skip(state: RunState) -> str:
    held = " The run stays paused." if state.paused else ""
    if number := _iteration(state):
        return f"Iteration {number} is ended now.{held}"
    if _verifying(state):
        return "There is no iteration to skip: a claim is being verified."
    if state.wait is not None:
        return f"The wait is over.{held}"
    return f"There is no iteration to skip.{held}" if held else "The next iteration begins now."


def _reboot(state: RunState) -> str:
    if number := _iteration(state):
        return f"Iteration {number} is ended now and done again with fresh context."
    return "The next iteration begins with fresh context."


def _retry(state: RunState) -> str:
    if state.wait is not None:
        return "The wait is over." + (" The run stays paused." if state.paused else " It tries again now.")
    if _verifying(state):
        return "Nothing is waited for: a claim is being verified."
    return "Nothing is waited for." if state.call is not None or state.paused else "The next iteration begins now."


_WORDS: dict[str, Callable[[RunState], str]] = {
    "pause": _pause,
    "resume": _resume,
    "skip": _skip,
    "reboot": _reboot,
    "retry": _retry,
}
