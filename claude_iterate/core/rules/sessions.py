"""Which session of Claude an iteration goes on with: our own, good and not too full; otherwise a fresh one.

An id is taken only from a call of this run that went well. What does not look like one never reaches a command line.
"""

from __future__ import annotations

import re

import msgspec

from claude_iterate.core.events import Rebooted
from claude_iterate.core.events.enums import Reboot
from claude_iterate.core.settings.declared import Settings
from claude_iterate.core.state.run_state import RunState

_IDENTITY = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


class Continuation(msgspec.Struct, frozen=True):
    """`session` is the id to resume, empty for a fresh session, None when none is to be kept at all; `reboot` says why
    a session that could be resumed is not."""

    session: str | None
    reboot: Rebooted | None = None


FRESH = Continuation(None)


def continuation(state: RunState, settings: Settings, wall: float) -> Continuation:
    """How the next iteration begins at the moment `wall`, by the settings `session`, `context_redline` (percent) and
    `session_expiry`."""
    session = state.session
    if settings.session != "resume":
        return Continuation(None, session.reboot)
    if not _IDENTITY.fullmatch(session.id):
        return Continuation("", session.reboot)
    if settings.session_expiry and session.used and wall - session.used > settings.session_expiry:
        return Continuation("", Rebooted(Reboot.EXPIRED, session.id, session.context))
    if round(100 * (session.context or 0.0), 6) > settings.context_redline:
        return Continuation("", Rebooted(Reboot.REDLINE, session.id, session.context))
    return Continuation(session.id)
