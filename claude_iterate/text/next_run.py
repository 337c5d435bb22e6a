"""What the next run of a workspace would be, in one line: its mode and its bounds. Pure functions."""

from __future__ import annotations

from claude_iterate.core.formats import counted, money, typed_duration
from claude_iterate.core.settings.declared import Settings
from claude_iterate.core.settings.modes import MODES


def next_run(mode: str, settings: Settings) -> str:
    """`loop mode, at most 50 iterations, 2s between them, at most $5.00 over all runs`."""
    known = MODES[mode]
    most = known.max_iterations if settings.max_iterations is None else settings.max_iterations
    limits = settings.limits
    idle = counted(settings.stagnation_threshold, "iteration")
    parts = (
        f"{mode} mode",
        f"at most {counted(most, 'iteration')}" if most else "no iteration limit",
        f"{typed_duration(settings.delay)} between them" if settings.delay and most != 1 else "",
        f"at most {money(limits.max_cost_usd)} over all runs" if limits.max_cost_usd else "",
        f"at most {typed_duration(limits.max_duration)}" if limits.max_duration else "",
        f"ends after {idle} without work" if known.stagnates and settings.stagnation_threshold else "",
    )
    return ", ".join(filter(None, parts))
