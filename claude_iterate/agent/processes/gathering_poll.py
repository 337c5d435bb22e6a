"""A `poll` for pipes that are read in pieces: waking up for each line would cost more than all that is done with it."""

from __future__ import annotations

import select
import time

GATHER = 0.017
"""Seconds that a pipe rests after it was read. A line that comes alone is read at once, one that follows it closely
this much later at most. Each time that we wake up costs about a millisecond of its own, because the processor has
forgotten our code and data meanwhile."""


class GatheringPoll:
    """Like `select.poll`, with handles that can rest."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self._rests: dict[int, float] = {}

    def register(self, handle: int, awaited: int) -> None:
        """Wait for this handle, too."""
        self._poll.register(handle, awaited)

    def unregister(self, handle: int) -> None:
        """Wait for it no longer."""
        self._poll.unregister(handle)
        self._rests.pop(handle, None)

    def rest(self, handle: int) -> None:
        """Let the pipe fill: it is ready again after a few milliseconds, or at once when its other end is closed."""
        self._poll.modify(handle, 0)
        self._rests[handle] = time.monotonic() + GATHER

    def wait(self, longest_ms: int | None) -> list[int]:
        """The handles that are ready; none when that takes longer."""
        while self._rests:
            now = time.monotonic()
            for handle in [handle for handle, end in self._rests.items() if end <= now]:
                del self._rests[handle]
                self._poll.modify(handle, select.POLLIN)
            if self._rests and (ready := self._poll.poll(1000 * (min(self._rests.values()) - now))):
                return [handle for handle, _ in ready]
        return [handle for handle, _ in self._poll.poll(longest_ms)]
