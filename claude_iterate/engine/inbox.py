"""The inbox: all threads post into it, the engine alone takes out. Waiting is waiting here, so anything ends it."""

from __future__ import annotations

import contextlib
import queue
import threading
import time

import msgspec

from claude_iterate.agent.processes.child import Message
from claude_iterate.core.events import Warned


class Signalled(msgspec.Struct, frozen=True):
    """A signal reached the runner."""

    name: str


class StatusTouched(msgspec.Struct, frozen=True):
    """The report may have changed."""


class Done(msgspec.Struct, frozen=True):
    """A task in the background has come to its end."""


AnyMessage = Message | Signalled | StatusTouched | Warned | Done


class Inbox:
    """A queue, and a lock that is free while there may be something in it.

    Waiting is waiting for the lock. Up to Python 3.12 `SimpleQueue.get` waits without end when a signal handler takes
    longer than was left of its time, as after Ctrl-Z: then no time-out would be noticed until Claude says something.
    """

    def __init__(self) -> None:
        # SimpleQueue, because its put is safe in a signal handler; Queue's can deadlock there.
        self._queue: queue.SimpleQueue[AnyMessage] = queue.SimpleQueue()
        self._filled = threading.Lock()
        self._filled.acquire()

    def post(self, message: AnyMessage) -> None:
        """Put a message in, from any thread or signal handler."""
        self._queue.put(message)
        with contextlib.suppress(RuntimeError):  # it is free already
            self._filled.release()

    def take(self, timeout: float = 0.0) -> AnyMessage | None:
        """The next message; None when none came in time."""
        until = time.monotonic() + timeout
        while True:
            with contextlib.suppress(queue.Empty):
                return self._queue.get_nowait()
            # It may be free because of a message that was taken without waiting for it: then once more.
            left = min(until - time.monotonic(), threading.TIMEOUT_MAX)
            if left <= 0 or not self._filled.acquire(timeout=left):
                return None
