"""Claude that worked in this run and cannot be called any more: an upgrade takes it away for some seconds, or one
answer of the API is 401. It is tried again for a minute. What never worked is not waited for."""

from __future__ import annotations

from msgspec.structs import replace

from claude_iterate.core.events import Outcome, WaitStarted
from claude_iterate.core.events.enums import Kind, Why
from claude_iterate.core.rules import waits
from claude_iterate.core.rules.facts import Facts
from claude_iterate.core.rules.verdicts import Verdict
from claude_iterate.core.state.run_state import RunState

PAUSES = (5.0, 10.0, 15.0, 30.0)
"""Seconds before each new try; together a minute."""


def patiently(outcome: Outcome, state: RunState) -> Outcome:
    """This failure to call Claude as `away`, if Claude worked before in this run and was not yet tried for a minute."""
    if not state.worked or state.streaks.absences >= len(PAUSES):
        return outcome
    return replace(outcome, kind=Kind.AWAY)


def claude_is_away(state: RunState, facts: Facts) -> Verdict | None:
    """Claude worked before in this run, and now it is not there or not logged in: wait 5 s, 10 s, 15 s, 30 s and try
    again; then **agent_failed**."""
    outcome = state.last_outcome
    if outcome is None or outcome.kind != Kind.AWAY:
        return None
    attempt = max(1, state.streaks.absences)
    until = facts.wall + PAUSES[min(attempt, len(PAUSES)) - 1]
    return waits.at_most(state, facts, WaitStarted(Why.AWAY, until, outcome.message, "", attempt))
