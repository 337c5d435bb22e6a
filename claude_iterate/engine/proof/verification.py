"""The proof of a claim: our own checks first, then Claude's review in fresh context. All of it is evidence.

`core.rules.proof` says which step is next; this does it and records what was found.
"""

from __future__ import annotations

from msgspec.structs import replace

from claude_iterate.core.events import CheckFinished, ProofChange
from claude_iterate.core.rules import proof
from claude_iterate.core.rules.during import decide_check
from claude_iterate.core.rules.facts import Facts, Inspection
from claude_iterate.core.rules.verdicts import HoldReview, JudgeClaim, ProofStep, RunCheck, Verify
from claude_iterate.engine import asking
from claude_iterate.engine.proof.definition import Definition
from claude_iterate.engine.proof.held_review import HeldReview
from claude_iterate.engine.recorder import Recorder
from claude_iterate.engine.run_spec import RunSpec
from claude_iterate.engine.shell_command import Program, ShellCommand, shell_line
from claude_iterate.engine.supervisor import Supervisor
from claude_iterate.project.project_state import ProjectState
from claude_iterate.workspace import task_file


class Proof:
    """The proofs of one run. `inspection` is what the last step found, for the rule that says what is next."""

    def __init__(
        self, plan: RunSpec, recorder: Recorder, supervisor: Supervisor, definition: Definition | None = None
    ) -> None:
        self._plan = plan
        self._recorder = recorder
        self._supervisor = supervisor
        self._definition = definition
        self._project = ProjectState()
        self.inspection: Inspection | None = None

    def take(self, step: ProofStep) -> None:
        """One step. Without the last one the claim is still unproven: the run was stopped, its time is over, or the
        review is still to come."""
        match step:
            case Verify():
                self._begin(step)
            case RunCheck():
                self._run_check(step)
            case HoldReview(depth):
                HeldReview(self._plan, self._recorder, self._supervisor, self._look).hold(depth, self._project)
            case JudgeClaim():
                self._judge()

    def _begin(self, step: Verify) -> None:
        self._project, facts = self._look(), self._facts()
        task, project = task_file.current_identity(self._plan.layout.instructions), self._project.identity
        self._recorder.record(proof.start_verification(self._recorder.state, facts, step, project, task))
        tampering = self._changes() if facts.refuses_tampering else ()
        self.inspection = Inspection(project, self._project.tree, tampering=tampering)

    def _run_check(self, step: RunCheck) -> None:
        gone = self._definition.gone(step.command) if self._definition is not None else ()
        shell = ShellCommand(self._plan, self._recorder, self._supervisor)
        ended = shell.run(Program(shell_line(step.command, "check"), "The shell"), decide_check)
        cut, output = ended.cut.cause if ended.cut else "", ended.problem or ended.output
        project = self._project.identity
        self._recorder.record(CheckFinished(step.command, ended.code, ended.duration, output, cut, project, gone))
        if step.last:
            before, self._project = self._project, self._look()
            changed = self._project.changes_since(before)
            self.inspection = Inspection(self._project.identity, self._project.tree, changed)

    def _judge(self) -> None:
        facts = self._facts()
        changes = (facts.inspection and facts.inspection.tampering) or self._changes()
        self._recorder.record(proof.judge(self._recorder.state, facts, changes))

    def _changes(self) -> tuple[ProofChange, ...]:
        """What is not as it was when the run began, of that which defines the proof."""
        definition = self._definition
        if definition is None:
            return ()
        definition.count_all()
        return self._supervisor.meanwhile(definition.changes)

    def _facts(self) -> Facts:
        facts = self._plan.facts(self._recorder.elapsed(), self._recorder.wall())
        return replace(facts, inspection=self.inspection)

    def _look(self) -> ProjectState:
        return asking.look(self._plan, self._supervisor)
