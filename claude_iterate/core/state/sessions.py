"""Which session of Claude an iteration goes on with: our own, good and not too full; otherwise a fresh one.

An id is taken only from a call of this run that went well. What does not look like one never reaches a command line.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from claude_iterate.core.expressions import expression
from claude_iterate.core.state.run_state import RunState

_IDENTITY = expression(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


class Continuation(NamedTuple):
    """`session` is the id to resume, empty for a fresh session, None when none is to be kept at all; `reboot` says why
    a session that could be resumed is not."""

    session: str | None
    reboot: str = ""


FRESH = Continuation(None)


def continuation(state: RunState, mode: str, redline: int) -> Continuation:
    """How the next iteration begins, by the settings `session` and `context_redline` (percent)."""
    if mode != "resume":
        return FRESH
    if not _IDENTITY.fullmatch(state.session.id):
        return Continuation("")
    full = 100 * (state.session.context or 0.0)
    if full >= redline:
        return Continuation("", f"the context is {full:.0f}% full, so a fresh session begins")
    return Continuation(state.session.id)
