"""What the words of all notices are made of: a draft, and phrases that several of them share. Pure functions."""

from __future__ import annotations

from typing import NamedTuple

from claude_iterate.core.formats import shortened
from claude_iterate.core.state.run_state import RunState

LONGEST_QUOTE = 1000


class Draft(NamedTuple):
    """What a row contributes; the rest of a notice is the same for all."""

    event: str
    title: str
    headline: str
    lines: list[str]
    priority: str = "default"
    tags: tuple[str, ...] = ()


def workspace_line(state: RunState) -> str:
    """Which one; a rehearsal is called one."""
    started = state.started
    assert started is not None
    return f"Workspace: {started.workspace}{' (dry run)' if started.dry_run else ''}"


def iteration_number(state: RunState) -> int:
    """The iteration that runs, or the last one that did."""
    return (state.call.number if state.call is not None else 0) or state.iterations


def remaining_line(state: RunState) -> str:
    """Items left, where the agent counts items."""
    left = state.status.remaining if state.status is not None else None
    return f"Remaining: {'unknown' if left is None else left}"


def quoted(text: str) -> str:
    """Somebody else's words, not endlessly."""
    return shortened(text.strip(), LONGEST_QUOTE, " ...")
