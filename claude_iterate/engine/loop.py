"""The loop: ask what is next, do it, record it, until the verdict is to finish."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import assert_never

from msgspec.structs import replace

from claude_iterate.agent.processes import leftovers
from claude_iterate.agent.processes.guardian import Guardian
from claude_iterate.core import events
from claude_iterate.core.events.enums import ONE_OFF, Point, Purpose
from claude_iterate.core.rules import endings, verdicts
from claude_iterate.core.rules.between import decide, decide_start
from claude_iterate.core.rules.facts import Facts
from claude_iterate.core.state.run_state import RunState
from claude_iterate.engine.hooks.hook_points import HookPoints
from claude_iterate.engine.iteration import IterationRun
from claude_iterate.engine.keep_awake import Awake
from claude_iterate.engine.mailbox import Dispatcher, Inbox, Signalled, Sinks, StatusTouched
from claude_iterate.engine.one_off import make_one_off_call
from claude_iterate.engine.proof.definition import Definition
from claude_iterate.engine.proof.verification import Proof
from claude_iterate.engine.recorder import Recorder
from claude_iterate.engine.run_spec import RunSpec, chance
from claude_iterate.engine.status_reports import StatusReports
from claude_iterate.engine.steering import Steering
from claude_iterate.engine.stop_conditions.looked_for import StopConditions
from claude_iterate.engine.supervisor import Orphans, Supervisor
from claude_iterate.engine.work.measuring import Measuring, start_measuring
from claude_iterate.errors import ExpectedError
from claude_iterate.system import processes, signals
from claude_iterate.workspace import task_file
from claude_iterate.workspace.files.restorable_file import Identity
from claude_iterate.workspace.run_folder import notes, run_folder
from claude_iterate.workspace.run_folder.run_folder import RunFolder
from claude_iterate.workspace.run_folder.status_file import StatusWatch

_ANSWER = 0.1
"""While a question is open, the answer is looked for this often, and everything else goes on as ever."""

_LASTING = 15.0
"""Seconds after which the computer is kept awake. None falls asleep by itself so soon after a command was typed, and a
short run does without the processes that it takes."""


class Engine:
    """Runs a plan. One thread decides; all others only post into the inbox."""

    def __init__(
        self,
        plan: RunSpec,
        recorder: Recorder,
        sinks: Sinks,
        place: RunFolder,
        warnings: Sequence[events.Warned] = (),
    ) -> None:
        self._plan = plan
        self._recorder = recorder
        self._sinks = sinks
        self._warnings = warnings
        self._definition: Definition | None = None
        self._proof: Proof | None = None
        self._measuring: Measuring | None = None
        self._hooks = HookPoints(plan, recorder, sinks.flush)
        self._task = task_file.StartingTask(plan.layout.instructions, plan.carried.replaced)
        self._place = place
        watch = plan.settings.notification.status_watch
        self._reports = StatusReports(
            plan.layout, watch, recorder, plan.own_environ, bool(plan.settings.verification.checks)
        )
        self._conditions = StopConditions(plan, recorder)
        self._inbox = Inbox()
        self._watch: StatusWatch | None = None
        self._watched: Identity | None = None
        self._steering = Steering(plan, recorder, sinks.flush)
        self._summarise: Callable[[RunState, bool], None] = lambda _state, _running: None

    @property
    def _state(self) -> RunState:
        return self._recorder.state

    def run(self, summarise: Callable[[RunState, bool], None]) -> RunState:
        """From the first event to the last. Whatever happens in between, no process of the run is left.

        `summarise` gets the state, and whether the run goes on: at the beginning, after each iteration and at the end.
        """
        self._summarise = summarise
        # Left in reverse order, each step whatever became of the one before.
        with contextlib.ExitStack() as afterwards:
            afterwards.callback(signals.on_stop_signals(lambda name: self._inbox.post(Signalled(name))))
            afterwards.callback(self._summarise_end)
            dispatcher, supervisor = self._prepare(afterwards)
            self._measuring = start_measuring(self._plan, self._recorder, supervisor)
            self._record_start()
            self._summarise_progress()
            self._prepare_proof(supervisor)
            self._watch_reports()
            afterwards.callback(self._watch_no_reports)
            while self._step(dispatcher, supervisor):
                pass
        return self._state

    def _watch_reports(self) -> None:
        """From the first call on, and again when the folder is another one; only iterations report."""
        plan = self._plan
        self._watch_no_reports()
        self._watched = self._place.identity
        if plan.purpose == Purpose.RUN and plan.settings.notification.status_watch.enabled:
            touched, failed = StatusTouched(), "Changes of the report are told at the end of each iteration only"
            self._watch = StatusWatch(
                plan.layout.status,
                lambda: self._inbox.post(touched),
                lambda why: self._inbox.post(events.Warned(f"{failed}: {why}")),
            )

    def _watch_no_reports(self) -> None:
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.close()

    def _prepare_proof(self, supervisor: Supervisor) -> None:
        """Before the first call: Claude has changed nothing yet."""
        plan = self._plan
        # A proof that was wanted before is not taken away unseen, and the tasks of a plan say what is done.
        known = plan.carried.changes or plan.defined or plan.mode.judged_by == "plan"
        if (self._facts().proof_wanted or known) and not plan.dry_run and plan.purpose not in ONE_OFF:
            self._definition = Definition(plan, self._recorder)
            self._definition.define()
        self._proof = Proof(plan, self._recorder, supervisor, self._definition)

    def _count_tests(self) -> None:
        if self._definition is not None:
            self._definition.count_some()

    def _prepare(self, afterwards: contextlib.ExitStack) -> tuple[Dispatcher, Supervisor]:
        """Everything around the processes of the run, and how it is put away."""
        plan = self._plan
        # Children that were there before us (a container's entry point may have some) are not leftovers, and neither
        # are their orphans: then we adopt none, and look for our own by their mark alone.
        strangers = processes.children() or set()
        if not strangers:
            processes.become_subreaper()
        sandbox = plan.sandbox
        guardian = Guardian(plan.run, plan.environ, sandbox)
        afterwards.callback(guardian.dismiss)
        awake = Awake(plan.run, plan.own_environ)
        afterwards.callback(awake.end)
        orphans = Orphans(guardian, (guardian.pid, *strangers), adopts=not strangers, sandbox=sandbox)
        afterwards.callback(self._end_leftovers, orphans)
        chores = (
            lambda: self._keep_awake(awake, orphans),
            orphans.remember,
            # A folder that came back as another one is locked as soon as it is seen.
            self._place.remember,
            self._count_tests,
        )
        dispatcher = Dispatcher(
            self._inbox, self._recorder, self._reports, self._steering, self._sinks, plan.tick, chores
        )
        return dispatcher, Supervisor(plan, self._recorder, dispatcher, self._inbox.post, orphans)

    def _keep_awake(self, awake: Awake, orphans: Orphans) -> None:
        """A run that lasts needs a computer that does not fall asleep."""
        if self._recorder.elapsed() <= _LASTING:
            return
        wanted = self._plan.settings.keep_awake and not self._plan.dry_run
        if wanted and not awake.begun:
            awake.begin()
            orphans.own_children += awake.pids
            orphans.guardian.remember(awake.pids)

    def _end_leftovers(self, orphans: Orphans) -> None:
        plan = self._plan
        ended = leftovers.end_leftovers(plan.run, orphans.own_children, True, plan.closed_in)
        orphans.end_containers()
        if ended and not self._state.finished:
            self._recorder.record(events.LeftoversEnded(ended))

    def _summarise_progress(self) -> None:
        self._summarise(self._state, True)
        self._place.summary_is_written()

    def _try_to_summarise(self) -> None:
        with contextlib.suppress(OSError, ExpectedError):  # at the end it is written again, or its failure told
            self._summarise_progress()

    def _summarise_end(self) -> None:
        """The journal is the truth: a summary that cannot be written does not make a good run a bad one."""
        if self._state.started is None:
            return  # nothing has begun, so there is nothing to sum up
        if self._place.look():
            return  # what stands in its place now has nothing to do with this run
        try:
            self._summarise(self._state, False)
        except (OSError, ExpectedError) as error:
            said = error.message if isinstance(error, ExpectedError) else error.strerror or str(error)
            self._recorder.record(events.Warned(f"The summary in .metadata.json cannot be written: {said}"))

    def _facts(self) -> Facts:
        became = self._place.look()
        folder = str(self._plan.layout.folder)
        why = "" if became else self._recorder.secure()
        unrecorded = f"{why} ({self._plan.layout.runs})" if why else ""
        facts = self._plan.facts(self._recorder.elapsed(), self._recorder.wall())
        plan = self._plan.look_at_plan()
        ticked = plan is not None and plan.tasks > 0 and not plan.left
        return replace(
            facts,
            chance=chance(),
            workspace_gone=folder if became == run_folder.GONE else "",
            workspace_replaced=folder if became == run_folder.REPLACED else "",
            unrecorded=unrecorded,
            measures=self._measuring is not None,
            task=task_file.current_identity(self._plan.layout.instructions) if self._state.claim.task or ticked else "",
            plan=plan,
            withdrawn=self._reports.claims_nothing,
            inspection=self._proof.inspection if self._proof is not None else None,
        )

    def _keep_place(self, after_call: bool = False) -> None:
        """Something begins or ends, and Claude does not work: what names this run must be in its place, and what the
        user wrote for it. What was put back is told."""
        self._place.restore(deleted_by_us=after_call)
        if not self._place.look() and self._place.summary_was_replaced():
            self._try_to_summarise()
        if self._watched != self._place.identity:
            self._watch_reports()
        number, done = self._state.iteration, self._state.iterations
        when = f" during iteration {number}" if number else f" after iteration {done}" if done else ""
        for text, hint in self._place.news(when):
            self._recorder.record(events.Warned(text, hint))

    def _step(self, dispatcher: Dispatcher, supervisor: Supervisor) -> bool:
        """One verdict; False when the run is over."""
        facts = self._facts()
        verdict = decide(self._state, facts)
        if self._measuring is not None and self._measuring.prepares(verdict):
            return True  # the user may have said something meanwhile
        if isinstance(verdict, verdicts.Begin | verdicts.RunHook | verdicts.ProofStep | verdicts.MakeOneOffCall):
            if dispatcher.catch_up():
                return True  # the user said something meanwhile; it may be `stop`
            verdict = decide_start(self._state, facts) or verdict
        proving = self._is_proving
        if not isinstance(verdict, verdicts.Wait | verdicts.Ask) and (
            not proving or isinstance(verdict, verdicts.Finish)
        ):
            self._keep_place(after_call=proving)
        if isinstance(verdict, verdicts.Recorded):
            return self._note(verdict)
        match verdict:
            case verdicts.Begin(number):
                self._begin(number, supervisor)
            case verdicts.Measure(number):
                assert self._measuring is not None
                self._measuring.measure(number)
            case verdicts.Verify() | verdicts.RunCheck() | verdicts.HoldReview() | verdicts.JudgeClaim():
                assert self._proof is not None
                self._proof.take(verdict)
                self._sinks.flush()
            case verdicts.RunStopScripts(number):
                self._conditions.run_scripts(supervisor, number)
            case verdicts.MakeOneOffCall():
                self._one_off(supervisor)
            case verdicts.Wait(until):
                dispatcher.receive(until)
            case verdicts.RunHook(point, number):
                self._hooks.run(supervisor, point, number)
            case verdicts.Ask(number):
                self._ask(dispatcher, number)
            case verdicts.Finish():
                self._hooks.run(supervisor, Point.FINISHED, self._state.iterations, verdict)
                self._finish(verdict)
                return False
            case _:
                assert_never(verdict)
        if not isinstance(verdict, verdicts.Wait | verdicts.Ask) and not self._is_proving:
            self._keep_place(after_call=True)
        return True

    @property
    def _is_proving(self) -> bool:
        """Between the steps of a proof nothing is put back: it would look like a change that a check made."""
        return self._state.claim.verification is not None

    def _note(self, verdict: verdicts.Recorded) -> bool:
        self._recorder.record(verdict)
        self._sinks.flush()
        return True

    def _begin(self, number: int, supervisor: Supervisor) -> None:
        keep_place = partial(self._keep_place, after_call=True)
        with self._conditions.iteration() as look:
            IterationRun(self._plan, self._recorder, supervisor, self._reports, number, keep_place, look).run()
        if not self._place.look():
            self._try_to_summarise()
        self._sinks.flush()

    def _one_off(self, supervisor: Supervisor) -> None:
        make_one_off_call(self._plan, self._recorder, supervisor)

    def _ask(self, dispatcher: Dispatcher, number: int) -> None:
        for request in (answers := self._plan.ask(number)):
            self._steering.steer(request)
        if not answers:
            dispatcher.receive(self._recorder.elapsed() + _ANSWER)

    def _record_start(self) -> None:
        self._recorder.record(self._plan.beginning(self._hooks.points, self._measuring is not None))
        if self._plan.reset_by:
            self._recorder.record(events.BreakerReset(self._plan.reset_by))
        for event in (*self._plan.opening, *self._warnings, *self._hooks.warnings):
            self._recorder.record(event)

    def _finish(self, verdict: verdicts.Finish) -> None:
        waiting = len(notes.names(self._plan.layout)) if self._plan.purpose == Purpose.RUN else 0
        facts = self._plan.facts(self._recorder.elapsed(), self._recorder.wall())
        there = self._definition is not None and not self._place.look()
        known = () if self._plan.purpose in ONE_OFF else self._state.changes  # those say nothing of the proof
        changes = self._definition.changes() if self._definition is not None and there else known
        for event in self._plan.closing():
            self._recorder.record(event)
        facts = self._task.compared(replace(facts, unread_notes=waiting, last_prompt=self._place.last_prompt()))
        ending = endings.told(verdict, self._state, facts, changes)
        self._recorder.record(self._conditions.with_task(ending))
