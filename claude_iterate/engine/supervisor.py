"""Watches one process to its end: its words, its limits, the ladder of signals, what it leaves behind."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar, cast

from claude_iterate.agent.processes import leftovers
from claude_iterate.agent.processes.child import ChildProcess, Exited, Ladder, Printed, StreamEnded
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

    def attend(
        self,
        process: ChildProcess,
        verdict: Callable[[float], Wait | Cut],
        on_output: Callable[[Printed], None] = lambda _printed: None,
        interrupts: bool = True,
    ) -> int:
        """Until the process is gone and its pipes are empty, or held by an unknown process. Its exit code.

        `verdict` is asked for the moment until which to wait, until it says that the process is to be ended;
        `on_output` gets what it prints; `interrupts`: SIGINT goes first when it is ended.
        """
        ladder: Ladder | None = None
        code: int | None = None
        open_streams, exited_at = {"stdout", "stderr"}, 0.0
        self._attended = process.pid
        while code is None or open_streams:
            now = self.recorder.now()
            if code is not None:
                if now > exited_at + _LEAK:
                    self.sweep(thorough=True)
                if now > exited_at + _ABANDON:
                    process.abandon()
                    break
                until = exited_at + (_LEAK if now < exited_at + _LEAK else _ABANDON)
            elif ladder is None and isinstance(said := verdict(now), Wait):
                until = said.until
            else:
                ladder = ladder or Ladder(process.signal, now, self.spec.settings.timeouts.terminate_grace, interrupts)
                ladder.climb(now)
                until = ladder.due
            # An abandoned process of an earlier call may still have had something in the inbox.
            match self._dispatcher.receive(until):
                case Printed(process.pid) as printed:
                    on_output(printed)
                case StreamEnded(process.pid, stream):
                    open_streams.discard(stream)
                case Exited(process.pid, code):
                    exited_at = self.recorder.now()
        self.sweep(thorough=ladder is not None or bool(open_streams))
        return code

    def meanwhile(self, task: Callable[[], T]) -> T:
        """Do something slow in a thread; signals and requests are heeded all the while."""
        return cast("T", self.start_in_background(task)())

    def start_in_background(
        self, task: Callable[[], T], give_up: Callable[[], None] | None = None
    ) -> Callable[[], T | None]:
        """Begin something slow in a thread. What is returned waits for it and gives its result. With `give_up` an
        urgent stop does not wait: that is called, and there is no result."""
        outcome: Future[T] = Future()

        def work() -> None:
            try:
                outcome.set_result(task())
            except BaseException as error:  # noqa: BLE001 - whatever it is, the engine raises it
                outcome.set_exception(error)
            self.post(TaskDone())

        def wait() -> T | None:
            while not outcome.done():
                stop = self.recorder.state.stop
                if give_up is not None and stop is not None and stop.now:
                    give_up()
                    return None
                self._dispatcher.receive(float("inf"))
            return outcome.result()

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
