"""The line for whoever watches a run that is steered: the same words that whoever asked is told."""

from __future__ import annotations

from claude_iterate.core.events import Requested
from claude_iterate.core.state.requests import answer
from claude_iterate.core.state.run_state import RunState

SILENT = frozenset({"stop", "go"})
"""Requests that other events tell of."""


def requested(event: Requested, before: RunState, attended: bool = False) -> list[str]:
    """The line, if there is one. An answer at the terminal is told by what follows from it."""
    if event.verb in SILENT or event.by == "answer":
        return []
    return [answer(event.verb, before, attended=attended)]
