"""The loop: ask what is next, do it, record it, until the verdict is to finish."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Sequence
from typing import assert_never

from msgspec.structs import replace

from claude_iterate.agent.processes.guardian import Guardian
from claude_iterate.core import events
from claude_iterate.core.events.enums import ONE_OFF, Point, Purpose
from claude_iterate.core.rules import endings, verdicts
from claude_iterate.core.rules.between import decide, nothing_can_be_recorded
from claude_iterate.core.rules.breaker import new_hint_warnings
from claude_iterate.core.rules.facts import Facts
from claude_iterate.core.state.run_state import RunState
from claude_iterate.engine import agent_commits, trust
from claude_iterate.engine.hooks import Hooks
from claude_iterate.engine.iteration import run_iteration
from claude_iterate.engine.keep_awake import computer_awake
from claude_iterate.engine.mailbox import Dispatcher, Signalled, StatusTouched
from claude_iterate.engine.measuring import Measuring, start_measuring
from claude_iterate.engine.proof import Proof
from claude_iterate.engine.proof_definition import Definition
from claude_iterate.engine.recorder import Recorder
from claude_iterate.engine.run_spec import RunSpec
from claude_iterate.engine.schema_call import make_one_off_call
from claude_iterate.engine.status_reports import StatusReports
from claude_iterate.engine.stop_conditions import StopConditions
from claude_iterate.engine.supervisor import Supervisor
from claude_iterate.errors import ExpectedError
from claude_iterate.system import processes, signals
from claude_iterate.system.restorable_file import Identity
from claude_iterate.workspace import metadata_updates, plan_file, task_file
from claude_iterate.workspace.run_folder import notes
from claude_iterate.workspace.run_folder.run_folder import RunFolder
from claude_iterate.workspace.run_folder.status_file import StatusWatch

_ANSWER = 0.1
"""Seconds between two looks for the answer while a question is open."""

_LASTING = 15.0
"""Seconds after which the computer is kept awake. None falls asleep by itself so soon after a command was typed, and a
short run does without the processes that it takes."""


class Engine:
    """Does what a spec says. One thread decides; all others only post into the inbox."""

    def __init__(
        self, spec: RunSpec, recorder: Recorder, place: RunFolder, warnings: Sequence[events.Warned] = ()
    ) -> None:
        self._spec = spec
        self._recorder = recorder
        self._place = place
        self._warnings = warnings
        self._definition: Definition | None = None
        self._proof: Proof | None = None
        self._measuring: Measuring | None = None
        self._hooks = Hooks(spec, recorder)
        self._reports = StatusReports(spec, recorder)
        self._conditions = StopConditions(spec.settings.stop, recorder)
        self._watch = contextlib.ExitStack()
        self._watched: Identity | None = None
        self._wants_awake = spec.settings.keep_awake and not spec.request.dry_run
        self._dispatcher = Dispatcher(spec, recorder, self._reports)

    @property
    def _state(self) -> RunState:
        return self._recorder.state

    def run(self) -> RunState:
        """From the first event to the last. Whatever happens in between, no process of the run is left."""
        # Left in reverse order, each step whatever became of the one before.
        with contextlib.ExitStack() as afterwards:
            afterwards.callback(signals.on_stop_signals(lambda name: self._dispatcher.inbox.post(Signalled(name))))
            afterwards.callback(self._summarise, running=False)
            supervisor = self._prepare(afterwards)
            self._measuring = start_measuring(supervisor)
            self._record_start()
            self._summarise()
            if self._spec.sandbox is not None:
                self._enter_sandbox(supervisor)
            self._prepare_proof(supervisor)
            self._watch_reports()
            afterwards.callback(self._watch.close)
            while self._step(supervisor):
                pass
        return self._state

    def _prepare(self, afterwards: contextlib.ExitStack) -> Supervisor:
        """Start what guards the processes of the run, and register how it is put away."""
        spec = self._spec
        # Children that were there before us (a container's entry point may have some) are not leftovers, and neither
        # are their orphans: then we adopt none, and look for our own by their mark alone.
        strangers = processes.children() or set()
        if not strangers:
            processes.become_subreaper()
        guardian = Guardian(spec.run, spec.environ, spec.sandbox)
        afterwards.callback(guardian.dismiss)
        supervisor = Supervisor(spec, self._recorder, self._dispatcher, guardian, strangers)
        afterwards.callback(supervisor.sweep, thorough=True)
        self._dispatcher.chores = (
            lambda: self._keep_awake(afterwards, supervisor),
            supervisor.remember_orphans,
            # A folder that came back as another one is locked as soon as it is seen.
            self._place.remember,
            lambda: self._definition.count_some() if self._definition is not None else None,
        )
        return supervisor

    def _keep_awake(self, afterwards: contextlib.ExitStack, supervisor: Supervisor) -> None:
        """A run that lasts needs a computer that does not fall asleep."""
        if self._wants_awake and self._recorder.now() > _LASTING:
            self._wants_awake = False
            supervisor.add_helpers(afterwards.enter_context(computer_awake(self._spec.run, self._spec.own_environ)))

    def _watch_reports(self) -> None:
        """From the first call on, and again when the folder is another one; only iterations report."""
        self._watched = self._place.identity
        self._watch.close()
        if self._spec.request.purpose == Purpose.RUN and self._spec.settings.notification.status_watch.enabled:
            failed = "Changes of the report are shown only at the end of each iteration"
            watch = StatusWatch(
                self._spec.layout.status,
                lambda: self._dispatcher.inbox.post(StatusTouched()),
                lambda why: self._recorder.record(events.Warned(f"{failed}: {why}")),
            )
            self._watch.callback(watch.close)

    def _prepare_proof(self, supervisor: Supervisor) -> None:
        """Before the first call: Claude has changed nothing yet."""
        spec = self._spec
        # A proof that was wanted before is not taken away unseen, and the tasks of a plan say what is done.
        known = spec.before.carried.changes or spec.before.defined or spec.mode.judged_by == "plan"
        if (known or self._facts().proof_wanted) and not spec.request.dry_run and spec.request.purpose not in ONE_OFF:
            self._definition = Definition(spec, self._recorder)
            self._definition.define()
        self._proof = Proof(supervisor, self._definition)

    def _record_start(self) -> None:
        self._recorder.record(self._spec.beginning(self._hooks.points, self._measuring is not None))
        if self._spec.before.reset_by:
            self._recorder.record(events.BreakerReset(self._spec.before.reset_by))
        for event in (*self._spec.opening, *self._warnings, *self._hooks.warnings):
            self._recorder.record(event)
        self._reports.drop_withdrawn_claim()

    def _summarise(self, running: bool = True) -> None:
        """Write what `list` and `show` read, at the beginning, after each iteration and at the end. The journal is the
        truth: a summary that cannot be written does not make a good run a bad one, and only at the end it is told."""
        # Without a beginning there is nothing to sum up, and another workspace has nothing to do with this run.
        if self._state.started is None or self._place.look():
            return
        try:
            metadata_updates.record_run(self._spec.layout, self._state, self._spec.run)
        except (OSError, ExpectedError) as error:
            said = error.message if isinstance(error, ExpectedError) else error.strerror or str(error)
            if not running:
                self._recorder.record(events.Warned(f"The summary in .metadata.json cannot be written: {said}"))

    def _facts(self) -> Facts:
        layout, became = self._spec.layout, self._place.look()
        why = "" if became else self._recorder.journal.secure()
        reads_plan = self._spec.mode.reads_plan and self._spec.request.purpose == Purpose.RUN
        plan = plan_file.read_plan(layout) if reads_plan else None
        ticked = plan is not None and plan.tasks > 0 and not plan.left
        return replace(
            self._spec.facts(self._recorder.now(), self._recorder.wall_time()),
            chance=random.random(),  # noqa: S311 - it spreads retries
            workspace_gone=str(layout.folder) if became else "",
            unrecorded=f"{why} ({layout.runs})" if why else "",
            measures=self._measuring is not None,
            task=task_file.current_identity(layout.instructions) if self._state.claim.task or ticked else "",
            plan=plan,
            inspection=self._proof.inspection if self._proof is not None else None,
        )

    def _keep_place(self, after_call: bool = False) -> None:
        """Something begins or ends, and Claude does not work: what names this run must be in its place, and what the
        user wrote for it. What was put back is told."""
        self._place.restore(deleted_by_us=after_call)
        if self._watched != self._place.identity:
            self._watch_reports()
        number, done = self._state.iteration, self._state.iterations
        when = f" during iteration {number}" if number else f" after iteration {done}" if done else ""
        for text, hint in self._place.news(when):
            self._recorder.record(events.Warned(text, hint))

    def _step(self, supervisor: Supervisor) -> bool:
        """One verdict; False when the run is over."""
        facts = self._facts()
        verdict = decide(self._state, facts)
        if self._measuring is not None and self._measuring.prepares(verdict):
            return True  # the user may have said something meanwhile
        if isinstance(verdict, verdicts.Begin | verdicts.RunHook | verdicts.ProofStep | verdicts.MakeOneOffCall):
            if self._dispatcher.catch_up():
                return True  # the user said something meanwhile; it may be `stop`
            verdict = nothing_can_be_recorded(facts) or verdict
        waits = isinstance(verdict, verdicts.Wait | verdicts.Ask)
        proving = self._is_proving
        if not waits and (not proving or isinstance(verdict, verdicts.Finish)):
            self._keep_place(after_call=proving)
        if isinstance(verdict, verdicts.Recorded):
            self._recorder.record(verdict)
            self._recorder.sinks.flush()
            return True
        match verdict:
            case verdicts.Begin(number):
                self._begin(number, supervisor)
            case verdicts.Measure(number):
                assert self._measuring is not None
                self._measuring.measure(number)
            case verdicts.Verify() | verdicts.RunCheck() | verdicts.HoldReview() | verdicts.JudgeClaim():
                assert self._proof is not None
                self._proof.take(verdict)
                self._recorder.sinks.flush()
            case verdicts.RunStopScripts(number):
                self._conditions.run_scripts(supervisor, number)
            case verdicts.MakeOneOffCall():
                make_one_off_call(supervisor)
            case verdicts.Wait(until):
                self._dispatcher.receive(until)
            case verdicts.RunHook(point, number):
                self._hooks.run(supervisor, point, number)
            case verdicts.Ask(number):
                self._ask(number)
            case verdicts.Finish():
                self._hooks.run(supervisor, Point.FINISHED, self._state.iterations, verdict)
                self._finish(verdict, supervisor)
                return False
            case _:
                assert_never(verdict)
        if not waits and not self._is_proving:
            self._keep_place(after_call=True)
        return True

    @property
    def _is_proving(self) -> bool:
        """Between the steps of a proof nothing is put back: it would look like a change that a check made."""
        return self._state.claim.verification is not None

    def _begin(self, number: int, supervisor: Supervisor) -> None:
        before = self._state.hints
        keep_place, listen = lambda: self._keep_place(after_call=True), self._conditions.search
        run_iteration(supervisor, self._reports, number, keep_place, listen)
        agent_commits.take_in_commits(supervisor)
        for warned in new_hint_warnings(before, self._state.hints, self._spec.layout.name):
            self._recorder.record(warned)
        self._summarise()
        self._recorder.sinks.flush()

    def _ask(self, number: int) -> None:
        for request in (answers := self._spec.user.ask(number)):
            self._dispatcher.steer(request)
        if not answers:
            self._dispatcher.receive(self._recorder.now() + _ANSWER)

    def _enter_sandbox(self, supervisor: Supervisor) -> None:
        """Before the first call: remember what decides about later runs, and make the repositories for Claude."""
        spec = self._spec
        trust.begin(spec.project, spec.layout, spec.run)
        agent_commits.make_repositories(supervisor)

    def _leave_sandbox(self, supervisor: Supervisor) -> None:
        spec = self._spec
        agent_commits.take_in_commits(supervisor)
        agent_commits.remove_repositories(spec)
        for warned in trust.end(spec.project, spec.layout, spec.run):
            self._recorder.record(warned)

    def _finish(self, verdict: verdicts.Finish, supervisor: Supervisor) -> None:
        spec = self._spec
        waiting = len(notes.names(spec.layout)) if spec.request.purpose == Purpose.RUN else 0
        facts = spec.facts(self._recorder.now(), self._recorder.wall_time())
        # A one-off call says nothing of the proof.
        changes = () if spec.request.purpose in ONE_OFF else self._state.changes
        if self._definition is not None and not self._place.look():
            changes = self._definition.changes()
        if spec.sandbox is not None:
            self._leave_sandbox(supervisor)
        if spec.tree is not None:
            self._recorder.record(spec.tree.describe_rest())
        replaced = task_file.is_another(spec.layout.instructions, self._state.run.task)
        facts = replace(facts, unread_notes=waiting, last_prompt=self._place.last_prompt(), task_replaced=replaced)
        facts = task_file.with_loss(facts, spec.layout.instructions)
        ending = endings.run_finished_event(verdict, self._state, facts, changes)
        # What the run counted is about these instructions.
        self._recorder.record(replace(ending, task=task_file.current_identity(spec.layout.instructions)))
