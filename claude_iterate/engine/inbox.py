"""The inbox: all threads post into it, the engine alone takes out. Waiting is waiting here, so anything ends it."""

from __future__ import annotations

import queue
from collections.abc import Callable
from typing import NamedTuple, Protocol

from claude_iterate.agent.processes.child import Message
from claude_iterate.core.events import IterationFinished, Outcome, Requested, StopRequested, WaitEnded, Warned
from claude_iterate.core.events.vocabulary import Kind, Verb
from claude_iterate.engine.recorder import Recorder
from claude_iterate.engine.status_reports import StatusDesk


class Signalled(NamedTuple):
    """A signal reached the runner."""

    name: str


class StatusTouched(NamedTuple):
    """The report may have changed."""


class WatchFailed(NamedTuple):
    """The report cannot be watched; it is still read at the end of each iteration."""

    why: str


class Done(NamedTuple):
    """What went on in the background has come to its end."""


AnyMessage = Message | Signalled | StatusTouched | WatchFailed | Done

LOOK = 0.25
"""Requests are looked for this often, whatever else goes on: who steers should not have to wait."""


class Audience(Protocol):
    """The sinks, seen from the engine."""

    def tick(self, now: float) -> None:
        """Time has passed."""

    def flush(self) -> None:
        """Something happened after which nothing may be lost."""


class Inbox:
    """Deals with everything that is no word of Claude's process, and hands that out."""

    def __init__(self, recorder: Recorder, desk: StatusDesk, audience: Audience, tick: float) -> None:
        self._recorder = recorder
        self._desk = desk
        self._audience = audience
        self._tick = tick
        self._next_tick = 0.0
        self._next_look = 0.0
        # SimpleQueue, because its put is safe in a signal handler; Queue's can deadlock there.
        self._queue: queue.SimpleQueue[AnyMessage] = queue.SimpleQueue()
        self.post = self._queue.put
        self.every_look: Callable[[], None] = lambda: None

    def receive(self, until: float) -> Message | None:
        """The next message of Claude's process, or None when something else came or the time is there."""
        now = self._recorder.elapsed()
        if now >= self._next_tick:
            self._next_tick = now + self._tick
            self._audience.tick(now)
        if now >= self._next_look:
            self._next_look = now + LOOK
            before = self._recorder.state
            self.every_look()
            if self._recorder.state is not before:
                return None
        due = min(until, self._desk.due, self._next_tick, self._next_look)
        if self._queue.empty():
            # About to wait: now a sync delays nothing. Claude, if it runs, is at work meanwhile.
            self._recorder.settle()
        try:
            message = self._queue.get(timeout=max(0.0, due - now))
        except queue.Empty:
            self._desk.look_if_due(self._recorder.elapsed())
            return None
        return self._deal_with(message)

    def catch_up(self) -> bool:
        """Deal with all that has come, without waiting; True when it changed something. Claude does not run now: what
        a process of an earlier call still says is nobody's."""
        before = self._recorder.state
        while not self._queue.empty():
            self._deal_with(self._queue.get())
        self.every_look()
        return self._recorder.state is not before

    def _deal_with(self, message: AnyMessage) -> Message | None:
        match message:
            case Signalled():
                self._stop(message.name)
            case StatusTouched():
                self._desk.touched(self._recorder.elapsed())
            case WatchFailed():
                self._recorder.record(
                    Warned(f"Status changes cannot be watched: {message.why}", "They are read after each iteration.")
                )
            case Done():
                pass  # it has ended the waiting, and that is all
            case _:
                return message
        return None

    def steer(self, request: Requested) -> None:
        """Do what somebody asks for, from wherever he asks."""
        state = self._recorder.state
        self._recorder.record(request)
        if request.verb == Verb.STOP:
            self._recorder.record(StopRequested(request.by, now=request.now or not self._iterating))
        elif request.verb in {Verb.RETRY, Verb.SKIP} and state.wait is not None:
            self._recorder.record(WaitEnded(state.wait.why, by=request.verb))
        elif request.verb == Verb.SKIP and request.by == "answer":
            # Nothing was begun: the number is used up, and all else stays as it was.
            skipped = Outcome(Kind.SKIPPED)
            self._recorder.record(
                IterationFinished(
                    state.iterations + 1, skipped, session=state.session.id, context=state.session.context
                )
            )
        self._audience.flush()

    def _stop(self, name: str) -> None:
        """First Ctrl-C: after this iteration, if one is running. Second, or any other signal: now."""
        again = self._recorder.state.stop is not None
        self._recorder.record(StopRequested(name, now=again or name != "SIGINT" or not self._iterating))
        self._audience.flush()

    @property
    def _iterating(self) -> bool:
        """Only an iteration is worth waiting for; a check or a review can be repeated."""
        call = self._recorder.state.call
        return call is not None and call.number > 0
