"""The names of runs: a run is called by its id, or by the number that its id begins with."""

from __future__ import annotations

from claude_iterate.errors import UsageProblem
from claude_iterate.workspace.layout import Layout


def short(identity: str) -> str:
    """The number that an id begins with; old ids have none."""
    number, _, rest = identity.partition("-")
    return str(int(number)) if rest and number.isdecimal() and len(number) == 6 else identity


def chosen(layout: Layout, wanted: str) -> str:
    """The id of the run that the user names."""
    found = [identity for identity in layout.run_ids() if wanted in {identity, short(identity)}]
    if not found:
        raise UsageProblem(f"{layout.name} has no run {wanted!r}.", f"See: claude-iterate logs {layout.name} --list")
    return found[-1]
