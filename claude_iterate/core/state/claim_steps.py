"""Steps of the fold for a claim of completion that does not count."""

from __future__ import annotations

from claude_iterate.core.reports.status import Status
from claude_iterate.core.state.run_state import RunState

_OTHER_TEXT = (
    "Your report `complete: true` did not count, because the instructions were changed since."
    " Read them again, and bring TODO.md in line with them."
)


def standing(state: RunState, *, claim: bool) -> Status | None:
    """The last report that stands: where a claim does not count, the one before it."""
    for status in (state.status, state.status_before):
        if status is not None and (claim or not status.complete):
            return status
    return None


def dropped(state: RunState) -> RunState:
    """The claim was about other instructions: it and all that was looked at for it are forgotten."""
    claim = state.claim._replace(proof=None, checked=None, flaky=(), task="")
    return state._replace(last_status=None, status=standing(state, claim=False), claim=claim, findings=_OTHER_TEXT)
