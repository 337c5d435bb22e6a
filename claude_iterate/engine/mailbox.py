"""The inbox, what the user asks of a run, and who deals with both. All threads post, the engine alone takes; waiting is
waiting here, so anything ends it.

While the engine waits, sinks tick, the user's requests are looked for, and the journal is made durable.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import assert_never

import msgspec

from claude_iterate.agent.processes.child import Exited, Message, Printed, StreamEnded
from claude_iterate.core.events import HeldBack, Requested, Warned
from claude_iterate.core.events.enums import Verb
from claude_iterate.core.rules.steering import answer, effect_of, stop_signal
from claude_iterate.engine.recorder import Recorder
from claude_iterate.engine.run_spec import RunSpec
from claude_iterate.engine.status_reports import StatusReports
from claude_iterate.workspace.run_folder.control import HOLD, Request, RequestFolder

LOOK = 0.25
"""Seconds between two looks for requests, whatever else goes on: a user who steers should not have to wait."""
MOST_UNREAD = 8
"""Pieces of output that wait in the inbox. Who has more waits with it, and a flood stays in the pipe it comes from."""


class Signalled(msgspec.Struct, frozen=True):
    """A signal reached the runner."""

    name: str


class StatusTouched(msgspec.Struct, frozen=True):
    """The report may have changed."""


class TaskDone(msgspec.Struct, frozen=True):
    """A task in the background has come to its end."""


AnyMessage = Message | Signalled | StatusTouched | TaskDone


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
        self._room = threading.Semaphore(MOST_UNREAD)

    def post(self, message: AnyMessage) -> None:
        """Put a message in, from any thread or signal handler. Only output waits until there is room for it."""
        if isinstance(message, Printed):
            self._room.acquire()
        self._queue.put(message)
        with contextlib.suppress(RuntimeError):  # it is free already
            self._filled.release()

    def take(self, timeout: float = 0.0) -> AnyMessage | None:
        """The next message; None when none came in time."""
        until = time.monotonic() + timeout
        while True:
            with contextlib.suppress(queue.Empty):
                message = self._queue.get_nowait()
                if isinstance(message, Printed):
                    self._room.release()
                return message
            # It may be free because of a message that was taken without waiting for it: then once more.
            left = min(until - time.monotonic(), threading.TIMEOUT_MAX)
            if left <= 0 or not self._filled.acquire(timeout=left):
                return None


class Dispatcher:
    """Deals with what the user asks of a run (files in `control/`, keys, signals) and with all messages but those of a
    process, which it returns to the one who waits. `chores` are done at every look."""

    def __init__(self, spec: RunSpec, recorder: Recorder, reports: StatusReports) -> None:
        self.inbox = Inbox()
        self.chores: Sequence[Callable[[], None]] = ()
        self._spec = spec
        self._recorder = recorder
        self._reports = reports
        self._requests = RequestFolder(spec.layout, spec.run)
        self._next_tick = self._next_look = 0.0

    def receive(self, until: float) -> Message | None:
        """The next message of a process, or None when something else came or the time is there."""
        now = self._recorder.now()
        if now >= self._next_tick:
            self._next_tick = now + self._spec.tick
            self._recorder.tick()
        if now >= self._next_look and self._look():
            return None
        message = self.inbox.take()
        if message is None:
            # About to wait: now a sync delays nothing. Claude, if it runs, is at work meanwhile.
            self._recorder.journal.sync()
            due = min(until, self._reports.due, self._next_tick, self._next_look)
            message = self.inbox.take(due - self._recorder.now())
        if message is None:
            self._reports.look_if_due(self._recorder.now())
            return None
        return self._deal_with(message)

    def catch_up(self) -> bool:
        """Deal with all that has come, without waiting; True when it changed something. Claude does not run now: what
        a process of an earlier call still says is dropped."""
        before = self._recorder.state
        while (message := self.inbox.take()) is not None:
            self._deal_with(message)
        self._look()
        return self._recorder.state is not before

    def _look(self) -> bool:
        """Look for requests and do the chores; True when that changed something."""
        before = self._recorder.state
        self._next_look = self._recorder.now() + LOOK
        for request in self._spec.user.listen(self._recorder.state):
            self.steer(request)
        for found in self._requests.take(self._reply):
            if isinstance(found, Request) and found.verb == HOLD:
                self._recorder.record(HeldBack(found.by, found.until, found.detail))
            elif isinstance(found, Request):
                self.steer(Requested(Verb(found.verb), "command", found.now))
            else:
                self._recorder.record(Warned(found))
        for chore in self.chores:
            chore()
        return self._recorder.state is not before

    def steer(self, request: Requested) -> None:
        """Record what the user asks for, by whatever means, and what the rules make of it."""
        effect = effect_of(self._recorder.state, request)
        self._recorder.record(request)
        if effect is not None:
            self._recorder.record(effect)
        self._recorder.sinks.flush()

    def _reply(self, request: Request) -> str:
        """What the request means now: only the runner has the state at hand, however long its journal is."""
        if request.verb == HOLD:
            return ""
        return answer(Verb(request.verb), self._recorder.state, request.now, self._spec.settings.attended)

    def _deal_with(self, message: AnyMessage) -> Message | None:
        match message:
            case Printed() | StreamEnded() | Exited():
                return message
            case Signalled(name):
                self._recorder.record(stop_signal(self._recorder.state, name))
                self._recorder.sinks.flush()
            case StatusTouched():
                self._reports.expect_change(self._recorder.now())
            case TaskDone():
                pass  # it has ended the waiting, and that is all
            case _:
                assert_never(message)
        return None
