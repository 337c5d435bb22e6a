"""The notices that wait to be sent: in order, bounded. When there are too many, the least important one goes."""

from __future__ import annotations

import threading
from collections import deque

from claude_iterate.sinks.notifications.notices import EXPENDABLE, FINAL, Notice

CAPACITY = 256


class Outbox:
    """One thread puts, one takes. `put` never waits."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._waiting: deque[Notice] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self.lost = 0

    def put(self, notice: Notice) -> None:
        """Add a notice. If there is no room, the oldest expendable one is dropped; the last word of a run never."""
        with self._changed:
            self._waiting.append(notice)
            if len(self._waiting) > self._capacity:
                self._waiting.remove(self._least_important())
                self.lost += 1
            self._changed.notify()

    def take(self) -> Notice | None:
        """The next notice; waits for one. None when the box is closed and empty."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closed)
            return self._waiting.popleft() if self._waiting else None

    def close(self) -> None:
        """Nothing comes any more."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def last_word(self) -> Notice | None:
        """Empty the box at once: the final notice if it is in there; the others are lost."""
        with self._changed:
            final = next((notice for notice in reversed(self._waiting) if notice.event in FINAL), None)
            self.lost += len(self._waiting) - (final is not None)
            self._waiting.clear()
            return final

    def _least_important(self) -> Notice:
        droppable = [notice for notice in self._waiting if notice.event not in FINAL]
        expendable = [notice for notice in droppable if notice.event in EXPENDABLE]
        return (expendable or droppable or list(self._waiting))[0]
