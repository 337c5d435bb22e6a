"""The loop: ask what is next, do it, record it, until the verdict is to finish."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec.structs import astuple

from claude_iterate import __version__
from claude_iterate.agent.processes import leftover_processes
from claude_iterate.agent.processes.guardian import Guardian
from claude_iterate.core.events import LeftoversEnded, RunFinished, RunStarted, WaitEnded, WaitStarted, Warned
from claude_iterate.core.rules.between import decide
from claude_iterate.core.rules.verdicts import Ask, Begin, EndWait, Finish, RunErrand, StartWait, Verify, Wait
from claude_iterate.core.state.run_state import RunState
from claude_iterate.engine.inbox import Audience, Inbox, Signalled, StatusTouched, WatchFailed
from claude_iterate.engine.iteration import IterationRun
from claude_iterate.engine.keep_awake import Awake
from claude_iterate.engine.one_off_call import Errand
from claude_iterate.engine.plan import Plan
from claude_iterate.engine.recorder import Recorder
from claude_iterate.engine.status_reports import StatusDesk
from claude_iterate.engine.steering import Steering
from claude_iterate.engine.supervision import Supervisor
from claude_iterate.engine.verification import Proof
from claude_iterate.errors import ExpectedError
from claude_iterate.system import processes, signals
from claude_iterate.workspace.running.status_watch import StatusWatch

_ANSWER = 0.1
"""While a question is open, the answer is looked for this often, and everything else goes on as ever."""


_LASTING = 0.2
"""Seconds; less than the shortest debounce, so nothing is told later than it would be."""


_GONE = "It was deleted, renamed or moved: by somebody, or by a command in the run (see `verification.checks`)."


def _identity(folder: Path) -> tuple[int, int] | None:
    """Which folder stands there, whatever its name: one that was deleted and made anew is another one."""
    try:
        about = folder.stat()
    except OSError:
        return None
    return about.st_dev, about.st_ino


class Engine:
    """Runs a plan. One thread decides; all others only post into the inbox."""

    def __init__(self, plan: Plan, recorder: Recorder, audience: Audience, warnings: Sequence[Warned] = ()) -> None:
        self._plan = plan
        self._recorder = recorder
        self._audience = audience
        self._warnings = warnings
        self._status_watch: StatusWatch | None = None
        self._folder = _identity(plan.layout.folder)
        self._desk = StatusDesk(plan.layout, plan.settings.notification.status_watch, recorder)
        self._inbox = Inbox(recorder, self._desk, audience, plan.tick)

    @property
    def _state(self) -> RunState:
        return self._recorder.state

    def run(self, project: Callable[[RunState, bool], None]) -> RunState:
        """From the first event to the last. Whatever happens in between, no process of the run is left.

        `project` is told the state at the beginning and at the end, for those who take a quick look.
        """
        # Left in reverse order, each step whatever became of the one before.
        with contextlib.ExitStack() as afterwards:
            afterwards.callback(signals.on_stop_signals(lambda name: self._inbox.post(Signalled(name))))
            afterwards.callback(self._project_end, project)
            afterwards.callback(self._stop_watching)
            # Children that were there before us (a container's entry point may have some) are nobody's leftovers, and
            # neither are their orphans: then we adopt none, and look for our own by their mark alone.
            strangers = processes.children() or set()
            if not strangers:
                processes.become_subreaper()
            guardian = Guardian(self._plan.run, self._plan.environ)
            afterwards.callback(guardian.dismiss)
            awake = Awake(self._plan.settings.keep_awake and not self._plan.dry_run, self._plan.environ)
            afterwards.callback(awake.end)
            guardian.remember(awake.pids)
            own_children = (guardian.pid, *awake.pids, *strangers)
            afterwards.callback(self._end_leftovers, own_children)
            grace = self._plan.settings.timeouts.terminate_grace
            supervisor = Supervisor(
                self._inbox, self._recorder, self._plan.run, grace, own_children, adopts=not strangers
            )
            steering = Steering(self._plan, self._recorder, self._inbox)
            self._inbox.every_look = lambda: self._look(steering, guardian, supervisor)
            self._record_start()
            project(self._state, True)
            while self._step(supervisor):
                pass
        return self._state

    def _end_leftovers(self, own_children: tuple[int, ...]) -> None:
        ended = leftover_processes.end_leftovers(self._plan.run, own_children, thorough=True)
        if ended and not self._state.finished:
            self._recorder.record(LeftoversEnded(ended))

    def _stop_watching(self) -> None:
        if self._status_watch is not None:
            self._status_watch.close()

    def _project_end(self, project: Callable[[RunState, bool], None]) -> None:
        """The journal is the truth: a summary that cannot be written does not make a good run a bad one."""
        if self._state.started is None:
            return  # nothing has begun, so nothing is to be told
        if _identity(self._plan.layout.folder) != self._folder:
            return  # whatever stands in its place now has nothing to do with this run
        try:
            project(self._state, False)
        except (OSError, ExpectedError) as error:
            said = error.message if isinstance(error, ExpectedError) else error.strerror or str(error)
            self._recorder.record(Warned(f"The summary in .metadata.json cannot be written: {said}"))

    def _step(self, supervisor: Supervisor) -> bool:
        """One verdict; False when the run is over."""
        if _identity(self._plan.layout.folder) != self._folder:
            gone = f"the workspace's folder is gone: {self._plan.layout.folder}"
            self._finish(Finish("agent_failed", gone, _GONE))
            return False
        unrecorded = self._recorder.secure()
        verdict = decide(self._state, self._plan.facts(self._recorder.elapsed(), self._recorder.wall()))
        if isinstance(verdict, Begin | Verify | RunErrand):
            if self._inbox.catch_up():
                return True  # somebody said something meanwhile; it may be that he wants to stop
            if unrecorded:
                # What is paid for and not recorded would be done, and paid, again.
                detail = f"what it does could not be recorded: {unrecorded} ({self._plan.layout.runs})"
                verdict = Finish("agent_failed", detail, "Free some space and run again; what is done is done.")
        match verdict:
            case Begin(number):
                IterationRun(self._plan, self._recorder, supervisor, self._desk, number).run()
                self._audience.flush()
            case Verify(claim):
                Proof(self._plan, self._recorder, supervisor, claim).run()
                self._audience.flush()
            case RunErrand():
                Errand(self._plan, self._recorder, supervisor).run()
            case Wait(until):
                self._inbox.receive(until)
            case StartWait():
                self._recorder.record(WaitStarted(*astuple(verdict)))
                self._audience.flush()
            case EndWait(why):
                self._recorder.record(WaitEnded(why))
            case Ask(number):
                for request in (answers := self._plan.ask(number)):
                    self._inbox.steer(request)
                if not answers:
                    self._inbox.receive(self._recorder.elapsed() + _ANSWER)
            case Finish():
                self._finish(verdict)
                return False
        return True

    def _record_start(self) -> None:
        plan = self._plan
        self._recorder.record(
            RunStarted(
                run=plan.run,
                workspace=plan.layout.name,
                mode=plan.mode.name,
                max_iterations=plan.max_iterations,
                pid=os.getpid(),
                host=socket.gethostname(),
                version=__version__,
                command=plan.settings.claude.command,
                log=str(plan.log),
                agent_version=plan.agent_version,
                dry_run=plan.dry_run,
                purpose=plan.purpose,
                carried=plan.carried,
                resumed=plan.resumed,
                birth=processes.start_identity(os.getpid()),
            )
        )

        for warning in self._warnings:
            self._recorder.record(warning)

    def _look(self, steering: Steering, guardian: Guardian, supervisor: Supervisor) -> None:
        """What is looked at four times a second."""
        steering.look()
        guardian.remember(supervisor.adopted())
        if self._status_watch is None and self._plan.settings.notification.status_watch.enabled:
            self._watch_if_worthwhile()

    def _watch_if_worthwhile(self) -> None:
        """Begin to watch the report once a call lasts: after a short one it is read anyway, and a watcher costs more
        than such a call. What changed before the watcher was there is looked at when it begins."""
        call = self._state.call
        if call is not None and self._recorder.elapsed() - call.started > _LASTING:
            post = self._inbox.post
            self._status_watch = StatusWatch(
                self._plan.layout.status, lambda: post(StatusTouched()), lambda why: post(WatchFailed(why))
            )

    def _finish(self, verdict: Finish) -> None:
        state = self._state
        self._recorder.record(
            RunFinished(
                verdict.reason,
                verdict.detail,
                verdict.advice,
                iterations=state.iterations,
                cost_usd=state.cost_usd,
                duration=self._recorder.elapsed(),
            )
        )
