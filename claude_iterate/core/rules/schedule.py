"""The rule about the hours in which a run may work: outside of them it waits, as it does for a limit."""

from __future__ import annotations

from claude_iterate.core import hours
from claude_iterate.core.events import WaitStarted
from claude_iterate.core.events.enums import Purpose, Why
from claude_iterate.core.rules.facts import Facts
from claude_iterate.core.state.run_state import RunState


def hours_are_closed(state: RunState, facts: Facts) -> WaitStarted | None:
    """The local clock shows a time outside of `limits.hours` and `limits.days`: wait until they open. An iteration
    under way is not cut when they close. `retry` waives them until they would have opened; dry runs and `verify` do not
    ask for them."""
    limits, started = facts.limits, state.started
    if not (limits.hours or limits.days) or facts.purpose != Purpose.RUN or (started is not None and started.dry_run):
        return None
    if facts.wall < state.waiting.hours_waived:
        return None
    opens = hours.next_opening(facts.wall, facts.zone, limits.hours, limits.days)
    if opens is None:
        return None
    named = {"limits.hours": limits.hours, "limits.days": limits.days}
    return WaitStarted(
        Why.SCHEDULE, opens, "; ".join(f"{key} {', '.join(set_)}" for key, set_ in named.items() if set_)
    )
