"""The blocks that are the same in the log and on the console, made once: what the one keeps, the other takes away."""

from __future__ import annotations

from claude_iterate.core.events import Event
from claude_iterate.text import claude_blocks
from claude_iterate.text.line_blocks import Limits


class SharedBlocks:
    """Holds the blocks of one batch at most, whether they are taken away or not. A block that nobody kept is made."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[Event, list[str]]] = {}
        """By the identity of the event. It is kept, too: as long as it is there, no other has its identity."""

    def begin(self) -> None:
        """A batch begins: let go of what was not taken away of the one before."""
        self._kept.clear()

    def kept(self, event: Event, limits: Limits) -> list[str]:
        """The lines of an event, kept if they are the same within any limits."""
        block = claude_blocks.lines(event, limits)
        if block and type(event) not in claude_blocks.LIMITED:
            self._kept[id(event)] = event, block
        return block

    def taken(self, event: Event, limits: Limits) -> list[str]:
        """The lines of an event as they were kept, or made for these limits."""
        found = self._kept.pop(id(event), None)
        return found[1] if found is not None else claude_blocks.lines(event, limits)
