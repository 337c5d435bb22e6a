"""What an onlooker of a run must offer. A sink is called from one thread, in order, and never calls the engine."""

from __future__ import annotations

from typing import Protocol

from claude_iterate.core.events import Entry


class Sink(Protocol):
    """A reader of entries. Times are elapsed seconds of the run: a sink has no clock of its own."""

    def __call__(self, entry: Entry) -> None:
        """Take note of what happened."""

    def tick(self, now: float) -> None:
        """Time passes: about once a second, busy or not. `now` is on the clock of `Entry.elapsed`."""

    def flush(self) -> None:
        """Put everything noted so far where it belongs: a signal came, or an iteration ended."""

    def close(self) -> None:
        """The run is over; nothing comes after this."""
