"""Watches one process to its end: its words, its limits, the ladder of signals, what it leaves behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, assert_never, cast

import msgspec

from claude_iterate.agent.command.sandbox import Sandbox
from claude_iterate.agent.processes import leftover_processes
from claude_iterate.agent.processes.child import ChildProcess, Exited, Message, Printed, StreamEnded
from claude_iterate.agent.processes.containers import end_containers
from claude_iterate.agent.processes.guardian import Guardian
from claude_iterate.agent.processes.termination import Ladder
from claude_iterate.agent.processes.threads import WORKERS
from claude_iterate.core.events import LeftoversEnded
from claude_iterate.core.rules.verdicts import Cut, Wait
from claude_iterate.engine.dispatch import Dispatcher
from claude_iterate.engine.inbox import AnyMessage, Done
from claude_iterate.engine.plan import Plan
from claude_iterate.engine.recorder import Recorder

T = TypeVar("T")

_LEAK = 0.25
_ABANDON = 2.0
_BRIEF = 0.002
"""Seconds: a look at a small project takes less, and is followed by the next call."""


class Orders(msgspec.Struct, frozen=True):
    """What the supervisor calls for a process: with its lines, to ask when to end it, and when it does."""

    hear: Callable[[str, list[bytes]], None]
    verdict: Callable[[float], Wait | Cut]
    cutting: Callable[[Cut, float], None]
    interrupts: bool = True
    """SIGINT goes first when it is ended."""


class Orphans(msgspec.Struct):
    """Processes that Claude's tools left to us. The guardian has to know them in case we are killed."""

    guardian: Guardian
    own_children: tuple[int, ...]
    adopts: bool
    attended: int = 0
    sandbox: Sandbox | None = None

    def remember(self) -> None:
        """Tell the guardian of those that are there now, as far as the system knows them."""
        # The process we attend to is not one of them. It cannot be passed as a known one, because then those that share
        # its session would be known, too.
        self.guardian.remember((leftover_processes.adopted(self.own_children) or set()) - {self.attended})

    def end_containers(self) -> None:
        """End the containers of the run: the program that started one may be dead, and the container not."""
        if self.sandbox is not None and self.sandbox.is_container:
            end_containers(self.sandbox.program, self.sandbox.run)


class Supervisor(msgspec.Struct):
    """Knows the run's messages and mark. One process at a time."""

    _plan: Plan
    _recorder: Recorder
    _dispatcher: Dispatcher
    post: Callable[[AnyMessage], None]
    _orphans: Orphans

    def attend(self, process: ChildProcess, orders: Orders) -> int:
        """Until the process is gone and its pipes are empty, or held by an unknown process. Its exit code."""
        watch = _Watch(process, orders, self._plan.settings.timeouts.terminate_grace)
        self._orphans.attended = process.pid
        while not self._is_over(watch):
            message = self._dispatcher.receive(watch.next_moment(self._recorder.elapsed()))
            # An abandoned process of an earlier call may still have had something in the inbox.
            if message is not None and message.pid == process.pid:
                watch.take(message, self._recorder.elapsed())
        self._sweep(thorough=watch.ladder is not None or bool(watch.open_streams))
        return watch.code

    def meanwhile(self, task: Callable[[], T]) -> T:
        """Do something slow in a thread; signals and requests are heeded all the while."""
        return cast("T", self.begun(task)())

    def begun(self, task: Callable[[], T], give_up: Callable[[], None] | None = None) -> Callable[[], T | None]:
        """Begin something slow in a thread. What is returned waits for it and gives its result. With `give_up` an
        urgent stop does not wait: that is called, and there is no result."""
        outcome: list[T | BaseException] = []

        def work() -> None:
            try:
                outcome.append(task())
            except BaseException as error:  # noqa: BLE001 - whatever it is, the engine raises it
                outcome.append(error)
            self.post(Done())

        def wait() -> T | None:
            while not outcome:
                stop = self._recorder.state.stop
                if give_up is not None and stop is not None and stop.now:
                    give_up()
                    return None
                self._dispatcher.receive(float("inf"), _BRIEF)
            if isinstance(outcome[0], BaseException):
                raise outcome[0]
            return outcome[0]

        WORKERS.run(work)
        return wait

    def _is_over(self, watch: _Watch) -> bool:
        if watch.exited_at is None:
            return False
        if not watch.open_streams:
            return True
        late = self._recorder.elapsed() - watch.exited_at
        if late > _LEAK:
            self._sweep(thorough=True)
        if late > _ABANDON:
            watch.process.abandon()
            return True
        return False

    def _sweep(self, thorough: bool) -> None:
        # Without adoption, orphans are found only by looking everywhere.
        thorough = thorough or not self._orphans.adopts
        ended = leftover_processes.end_leftovers(
            self._plan.run, self._orphans.own_children, thorough, self._plan.closed_in
        )
        if thorough:
            self._orphans.end_containers()
        if ended:
            self._recorder.record(LeftoversEnded(ended))


class _Watch(msgspec.Struct):
    """What is known of the process that is attended to."""

    process: ChildProcess
    orders: Orders
    terminate_grace: float
    ladder: Ladder | None = None
    open_streams: frozenset[str] = frozenset({"stdout", "stderr"})
    exited_at: float | None = None
    code: int = 0

    def next_moment(self, now: float) -> float:
        """When to look again if nothing is heard. Cuts in when the time has come."""
        if self.exited_at is not None:
            return self.exited_at + (_LEAK if now < self.exited_at + _LEAK else _ABANDON)
        if self.ladder is None:
            verdict = self.orders.verdict(now)
            if isinstance(verdict, Wait):
                return verdict.until
            self.orders.cutting(verdict, now)
            self.ladder = Ladder(self.process, now, self.terminate_grace, self.orders.interrupts)
        self.ladder.climb(now)
        return self.ladder.due

    def take(self, message: Message, now: float) -> None:
        match message:
            case Printed(_, stream, lines, done):
                self.orders.hear(stream, lines)
                done()
            case StreamEnded(_, stream):
                self.open_streams -= {stream}
            case Exited(_, code):
                self.exited_at = now
                self.code = code
            case _:
                assert_never(message)
