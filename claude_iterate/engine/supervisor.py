"""Watches one process to its end: its words, its limits, the ladder of signals, what it leaves behind."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar, assert_never, cast

import msgspec

from claude_iterate.agent.processes import leftovers
from claude_iterate.agent.processes.child import ChildProcess, Exited, Ladder, Message, Printed, StreamEnded
from claude_iterate.agent.processes.guardian import Guardian
from claude_iterate.core.events import LeftoversEnded
from claude_iterate.core.rules.facts import Facts
from claude_iterate.core.rules.verdicts import Cut, Wait
from claude_iterate.engine.mailbox import Dispatcher, TaskDone
from claude_iterate.engine.recorder import Recorder
from claude_iterate.engine.run_spec import RunSpec

T = TypeVar("T")

_LEAK = 0.25
_ABANDON = 2.0


class ProcessCallbacks(msgspec.Struct, frozen=True):
    """What the supervisor calls for a process: with its output, to ask when to end it, and when it does."""

    on_output: Callable[[Printed], None]
    verdict: Callable[[float], Wait | Cut]
    cutting: Callable[[Cut, float], None]
    interrupts: bool = True
    """SIGINT goes first when it is ended."""


class Supervisor:
    """Runs the programs of one run, one at a time, and ends what they leave. Whoever does a part of the run gets what
    it needs from here. `strangers` are children of ours that were there before the run: with any of them no orphan is
    adopted, because theirs could not be told from ours."""

    def __init__(
        self, spec: RunSpec, recorder: Recorder, dispatcher: Dispatcher, guardian: Guardian, strangers: set[int]
    ) -> None:
        self.spec = spec
        self.recorder = recorder
        self.post = dispatcher.inbox.post
        self._dispatcher = dispatcher
        self._guardian = guardian
        self._own_children = {guardian.pid, *strangers}
        self._adopts = not strangers
        self._attended = 0

    def facts(self) -> Facts:
        """What the rules know of this moment."""
        return self.spec.facts(self.recorder.now(), self.recorder.wall_time())

    def attend(self, process: ChildProcess, callbacks: ProcessCallbacks) -> int:
        """Until the process is gone and its pipes are empty, or held by an unknown process. Its exit code."""
        watch = _Watch(process, callbacks, self.spec.settings.timeouts.terminate_grace)
        self._attended = process.pid
        while not self._is_over(watch):
            message = self._dispatcher.receive(watch.next_moment(self.recorder.now()))
            # An abandoned process of an earlier call may still have had something in the inbox.
            if message is not None and message.pid == process.pid:
                watch.take(message, self.recorder.now())
        self.sweep(thorough=watch.ladder is not None or bool(watch.open_streams))
        return watch.code

    def meanwhile(self, task: Callable[[], T]) -> T:
        """Do something slow in a thread; signals and requests are heeded all the while."""
        return cast("T", self.start_in_background(task)())

    def start_in_background(
        self, task: Callable[[], T], give_up: Callable[[], None] | None = None
    ) -> Callable[[], T | None]:
        """Begin something slow in a thread. What is returned waits for it and gives its result. With `give_up` an
        urgent stop does not wait: that is called, and there is no result."""
        outcome: list[T | BaseException] = []

        def work() -> None:
            try:
                outcome.append(task())
            except BaseException as error:  # noqa: BLE001 - whatever it is, the engine raises it
                outcome.append(error)
            self.post(TaskDone())

        def wait() -> T | None:
            while not outcome:
                stop = self.recorder.state.stop
                if give_up is not None and stop is not None and stop.now:
                    give_up()
                    return None
                self._dispatcher.receive(float("inf"))
            if isinstance(outcome[0], BaseException):
                raise outcome[0]
            return outcome[0]

        threading.Thread(target=work, daemon=True, name="background").start()
        return wait

    def add_helpers(self, pids: tuple[int, ...]) -> None:
        """Processes of our own, which are not Claude's."""
        self._own_children.update(pids)
        self._guardian.remember(pids)

    def remember_orphans(self) -> None:
        """Tell the guardian which processes Claude's tools have left to us, as far as the system knows them: it has to
        end them if we are killed."""
        # The process we attend to is not one of them. It cannot be passed as a known one, because then those that share
        # its session would be known, too.
        self._guardian.remember((leftovers.adopted_children(self._own_children) or set()) - {self._attended})

    def sweep(self, thorough: bool) -> None:
        """End what a program left behind and, when looking everywhere, the containers of the run: the program that
        started one may be dead, and the container not. After the end of the run that is no event of it."""
        # Without adoption, orphans are found only by looking everywhere.
        thorough, run, sandbox = thorough or not self._adopts, self.spec.run, self.spec.sandbox
        ended = leftovers.end_leftovers(run, self._own_children, thorough, self.spec.in_own_sandbox)
        if thorough and sandbox is not None:
            leftovers.end_containers(sandbox.containers, run)
        if ended and not self.recorder.state.finished:
            self.recorder.record(LeftoversEnded(ended))

    def _is_over(self, watch: _Watch) -> bool:
        if watch.exited_at is None:
            return False
        if not watch.open_streams:
            return True
        late = self.recorder.now() - watch.exited_at
        if late > _LEAK:
            self.sweep(thorough=True)
        if late > _ABANDON:
            watch.process.abandon()
            return True
        return False


class _Watch:
    """What is known of the process that is attended to."""

    def __init__(self, process: ChildProcess, callbacks: ProcessCallbacks, terminate_grace: float) -> None:
        self.process = process
        self.ladder: Ladder | None = None
        self.open_streams = {"stdout", "stderr"}
        self.exited_at: float | None = None
        self.code = 0
        self._callbacks = callbacks
        self._terminate_grace = terminate_grace

    def next_moment(self, now: float) -> float:
        """When to look again if nothing is heard. Cuts in when the time has come."""
        if self.exited_at is not None:
            return self.exited_at + (_LEAK if now < self.exited_at + _LEAK else _ABANDON)
        if self.ladder is None:
            verdict = self._callbacks.verdict(now)
            if isinstance(verdict, Wait):
                return verdict.until
            self._callbacks.cutting(verdict, now)
            self.ladder = Ladder(self.process, now, self._terminate_grace, self._callbacks.interrupts)
        self.ladder.climb(now)
        return self.ladder.due

    def take(self, message: Message, now: float) -> None:
        match message:
            case Printed():
                self._callbacks.on_output(message)
            case StreamEnded(_, stream):
                self.open_streams.discard(stream)
            case Exited(_, code):
                self.exited_at = now
                self.code = code
            case _:
                assert_never(message)
