"""Threads that are used again: starting a thread for every short call would cost too much time."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

Task = Callable[[], None]


class Workers:
    """Runs each task in its own thread; there are never more threads than tasks at the same time."""

    def __init__(self) -> None:
        self._idle: list[queue.SimpleQueue[Task]] = []

    def run(self, task: Task) -> None:
        """Run the task in the background, in an idle thread or a new one."""
        try:
            inbox = self._idle.pop()
        except IndexError:
            inbox = queue.SimpleQueue()
            threading.Thread(target=self._work, args=(inbox,), daemon=True, name="claude").start()
        inbox.put(task)

    def _work(self, inbox: queue.SimpleQueue[Task]) -> None:
        while True:
            task = inbox.get()
            task()
            # A list's append and pop are atomic: no lock is needed between the threads.
            self._idle.append(inbox)


WORKERS = Workers()
