"""What a request means for a run in its present state, in one line: for whoever asked, and for whoever watches.

Pure: the state is the one before the request.
"""

from __future__ import annotations

from collections.abc import Callable

from claude_iterate.core.events import Requested
from claude_iterate.core.state import RunState

SILENT = frozenset({"stop", "go"})
"""Requests that other events tell of."""


def requested(event: Requested, before: RunState) -> list[str]:
    """The line for whoever watches the run."""
    return [] if event.verb in SILENT else [answer(event.verb, before)]


def answer(verb: str, state: RunState, now: bool = False) -> str:
    """What happens next."""
    if verb == "stop":
        return "It stops after this iteration." if _iteration(state) and not now else "It stops now."
    return WORDS[verb](state)


def _iteration(state: RunState) -> int:
    """The number of the iteration under way; 0 when there is none."""
    return state.call.number if state.call is not None else 0


def _pause(state: RunState) -> str:
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
    return "Going on." if state.call is None else "It does not pause after this iteration."


def _skip(state: RunState) -> str:
    held = " The run stays paused." if state.paused else ""
    if number := _iteration(state):
        return f"Iteration {number} is ended now.{held}"
    if state.call is not None:
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
    return "Nothing is waited for." if state.call is not None or state.paused else "The next iteration begins now."


WORDS: dict[str, Callable[[RunState], str]] = {
    "pause": _pause,
    "resume": _resume,
    "skip": _skip,
    "reboot": _reboot,
    "retry": _retry,
}
