"""The execution modes: what differs between them, in one table."""

from __future__ import annotations

from claude_iterate.core.records import Record


class Mode(Record):
    """A way of working: how many iterations it gets by default and whether idle iterations end it."""

    name: str
    max_iterations: int
    stagnates: bool
    summary: str


MODES: dict[str, Mode] = {
    "loop": Mode("loop", 50, False, "one item per iteration, progress counted as completed/total"),
    "iterative": Mode("iterative", 20, True, "as many items per iteration as possible, `worked` says if any"),
}
