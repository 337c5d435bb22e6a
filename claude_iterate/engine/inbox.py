"""The inbox: all threads post into it, the engine alone takes out. Waiting is waiting here, so anything ends it."""

from __future__ import annotations

import queue

from claude_iterate.agent.processes.child import Message
from claude_iterate.core.events import Warned
from claude_iterate.core.records import Record


class Signalled(Record):
    """A signal reached the runner."""

    name: str


class StatusTouched(Record):
    """The report may have changed."""


class Done(Record):
    """A task in the background has come to its end."""


AnyMessage = Message | Signalled | StatusTouched | Warned | Done


class Inbox:
    """A queue."""

    def __init__(self) -> None:
        # SimpleQueue, because its put is safe in a signal handler; Queue's can deadlock there.
        self._queue: queue.SimpleQueue[AnyMessage] = queue.SimpleQueue()

    def post(self, message: AnyMessage) -> None:
        """Put a message in, from any thread or signal handler."""
        self._queue.put(message)

    def take(self, timeout: float = 0.0) -> AnyMessage | None:
        """The next message; None when none came in time."""
        try:
            return self._queue.get(timeout=max(0.0, timeout))
        except queue.Empty:
            return None

    @property
    def is_empty(self) -> bool:
        """True when a `take` would wait."""
        return self._queue.empty()
