"""What a new run takes over from those before it: their totals, and from one that was killed its whole standing."""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from claude_iterate.core.events import Carried, Resumed
from claude_iterate.core.state import RunState, handed_on, resumption
from claude_iterate.workspace import journal, metadata
from claude_iterate.workspace.layout import Layout


class Inheritance(NamedTuple):
    """`killed` names the newest run if nobody finished it: something of it may still live."""

    carried: Carried = Carried()
    resumed: Resumed | None = None
    killed: str = ""


def inherit(layout: Layout, purpose: str = "run", dry_run: bool = False) -> Inheritance:
    """Fold the newest journal, once. A rehearsal hands nothing on; a reset forgets iterations, never money."""
    about = metadata.read(layout.metadata)
    found = journal.last_run(layout)
    if found is None:
        return Inheritance(Carried(iterations=about.count("executionIterations")))
    run, state = found
    started = state.started
    assert started is not None
    killed = run if state.finished is None else ""
    was_reset = about.document.get(metadata.RESET_AFTER) == run
    if killed and purpose == started.purpose == "run" and dry_run == started.dry_run and not was_reset:
        return Inheritance(state.carried, resumption(run, state, _age(layout, run, state)), killed)
    handed = state.carried if started.dry_run else handed_on(state)
    return Inheritance(replace(handed, iterations=0) if was_reset else handed, None, killed)


def _age(layout: Layout, run: str, state: RunState) -> float:
    """How long the killed run had lived: until the last time its journal was written."""
    return max(0.0, layout.journal(run).stat().st_mtime - state.started_at)
