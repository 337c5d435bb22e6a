"""Takes messages from the inbox and deals with all but those of a process, which it returns to the one who waits.

While the engine waits here, sinks tick, the user's requests are looked for, and the journal is made durable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, assert_never

import msgspec

from claude_iterate.agent.processes.child import Exited, Message, Printed, StreamEnded
from claude_iterate.core.events import Warned
from claude_iterate.engine.inbox import AnyMessage, Done, Inbox, Signalled, StatusTouched
from claude_iterate.engine.recorder import Recorder
from claude_iterate.engine.status_reports import StatusReports
from claude_iterate.engine.steering import Steering

LOOK = 0.25
"""Seconds between two looks for requests, whatever else goes on: a user who steers should not have to wait."""


class Audience(Protocol):
    """The sinks, seen from the engine."""

    def tick(self, now: float) -> None:
        """Time has passed."""

    def flush(self) -> None:
        """Something happened after which nothing may be lost."""


class Dispatcher(msgspec.Struct):
    """Waits for the engine. `_chores` are done at every look."""

    _inbox: Inbox
    _recorder: Recorder
    _reports: StatusReports
    _steering: Steering
    _audience: Audience
    _tick: float
    _chores: Sequence[Callable[[], None]] = ()
    _next_tick: float = 0.0
    _next_look: float = 0.0
    _next_chores: float = 0.0

    def receive(self, until: float, brief: float = 0.0) -> Message | None:
        """The next message of a process, or None when something else came or the time is there. What is awaited is
        usually there within `brief` seconds: then the next milestone is at hand, and one sync is enough for both."""
        now = self._recorder.elapsed()
        if now >= self._next_tick:
            self._next_tick = now + self._tick
            self._audience.tick(now)
            self._recorder.record_troubles()
        if now >= self._next_look:
            self._next_look = now + LOOK
            if self._look():
                return None
        due = min(until, self._reports.due, self._next_tick, self._next_look)
        message = self._inbox.take(brief)
        if message is None:
            # About to wait: now a sync delays nothing. Claude, if it runs, is at work meanwhile.
            self._recorder.settle()
            message = self._inbox.take(due - now - brief)
        if message is None:
            self._reports.look_if_due(self._recorder.elapsed())
            return None
        return self._deal_with(message)

    def catch_up(self) -> bool:
        """Deal with all that has come, without waiting; True when it changed something. Claude does not run now: what
        a process of an earlier call still says is dropped."""
        before = self._recorder.state
        while (message := self._inbox.take()) is not None:
            self._deal_with(message)
        self._steering.look()
        self._next_look = self._recorder.elapsed() + LOOK
        self._do_chores()
        return self._recorder.state is not before

    def _look(self) -> bool:
        """Look for requests and do the chores; True when that changed something."""
        before = self._recorder.state
        self._steering.look()
        self._do_chores()
        return self._recorder.state is not before

    def _do_chores(self) -> None:
        """At their own times: calls that are shorter than the time between two looks must not put them off for good."""
        now = self._recorder.elapsed()
        if now >= self._next_chores:
            self._next_chores = now + LOOK
            for chore in self._chores:
                chore()

    def _deal_with(self, message: AnyMessage) -> Message | None:
        match message:
            case Printed() | StreamEnded() | Exited():
                return message
            case Signalled(name):
                self._steering.signal(name)
            case StatusTouched():
                self._reports.touched(self._recorder.elapsed())
            case Warned():
                self._recorder.record(message)
            case Done():
                pass  # it has ended the waiting, and that is all
            case _:
                assert_never(message)
        return None
