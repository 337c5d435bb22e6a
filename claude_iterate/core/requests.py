"""What a request changes in the state of a run. Steps of the fold in `core.state`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from claude_iterate.core.events import Entry, Requested, StopRequested

if TYPE_CHECKING:
    from claude_iterate.core.state import RunState

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
        case "skip" | "retry":
            # Between iterations there is nothing to cut; the pause between them is over.
            return {"last_ended": _LONG_AGO}
        case "reboot":
            return {"session": "", "context": None}
    return {}


def stop_requested(state: RunState, event: StopRequested, _entry: Entry) -> dict[str, Any]:
    """Somebody wants the end. A patient request after an urgent one does not take that back."""
    urgent = event.now or (state.stop is not None and state.stop.now)
    return {"stop": replace(event, now=urgent)}
