"""What a request changes in the state of a run. Steps of the fold in `core.state`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from claude_iterate.core.events import Entry, Requested, StopRequested

if TYPE_CHECKING:
    from claude_iterate.core.state.run_state import RunState

_LONG_AGO = -1e9


def requested(state: RunState, event: Requested, _entry: Entry) -> dict[str, Any]:
    """Somebody steers."""
    match event.verb:
        case "pause":
            return {"paused": True}
        case "resume":
            return {"paused": False}
        case "go":
            return {"approved": state.iterations + 1}
        case "skip" | "reboot" if state.call is not None and state.call.number:
            return {"cut_asked": event.verb, "last_ended": _LONG_AGO}
        case "skip" | "retry" if state.call is None and not claim_is_open(state):
            # Between iterations there is nothing to cut; the pause between them is over.
            return {"last_ended": _LONG_AGO}
        case "reboot":
            return {"session": "", "context": None}
    return {}


def stop_requested(state: RunState, event: StopRequested, _entry: Entry) -> dict[str, Any]:
    """Somebody wants the end. The first one names the reason; whoever comes later can only make it urgent."""
    return {"stop": event if state.stop is None else replace(state.stop, now=state.stop.now or event.now)}


def claim_is_open(state: RunState) -> bool:
    """The last iteration reported that all is done, and nobody has judged that yet: it is being verified, unless the
    run waits to do so or ends."""
    return state.last_status is not None and state.last_status.complete and state.proof is None
