"""The proof of a claim: our own checks first, then Claude's review in fresh context. All of it is evidence.

`core.rules.proof` says which step is next; this does it and records what was found. The verdict of a review is computed
from its answer.
"""

from __future__ import annotations

import os

from msgspec.structs import replace

from claude_iterate.core import events
from claude_iterate.core.events.enums import Kind
from claude_iterate.core.formats import join_names, shorten
from claude_iterate.core.outcomes.classes import ENDING_FAILURES, FINE, RETRIED
from claude_iterate.core.reports import review
from claude_iterate.core.reports.review import INVALID, Review
from claude_iterate.core.rules import proof
from claude_iterate.core.rules.facts import Facts, Inspection
from claude_iterate.core.rules.verdicts import HoldReview, JudgeClaim, ProofStep, RunCheck, Verify
from claude_iterate.engine import schema_call
from claude_iterate.engine.proof_definition import Definition
from claude_iterate.engine.schema_call import SchemaAnswer, SchemaQuestion, look_at_project
from claude_iterate.engine.shell_command import run_program, shell_program
from claude_iterate.engine.supervisor import Supervisor
from claude_iterate.project.project_state import ProjectState
from claude_iterate.system import untrusted_files
from claude_iterate.workspace import task_file

UNHELD = "unheld"
"""No verdict, and not the claim's fault: a limit, an overload, a missing login. The claim is looked at again later."""
_LONGEST_EVIDENCE = 300


class Proof:
    """The proofs of one run. `inspection` is what the last step found, for the rule that says what is next."""

    def __init__(self, supervisor: Supervisor, definition: Definition | None = None) -> None:
        self._supervisor = supervisor
        self._recorder = supervisor.recorder
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
                hold_review(self._supervisor, depth, self._project)
            case JudgeClaim():
                self._judge()

    def _begin(self, step: Verify) -> None:
        self._project, facts = look_at_project(self._supervisor), self._facts()
        task = task_file.current_identity(self._supervisor.spec.layout.instructions)
        project = self._project.identity
        self._recorder.record(proof.start_verification(self._recorder.state, facts, step, project, task))
        tampering = self._changes() if facts.refuses_tampering else ()
        self.inspection = Inspection(project, self._project.tree, tampering=tampering)

    def _run_check(self, step: RunCheck) -> None:
        gone = self._definition.missing_files(step.command) if self._definition is not None else ()
        ended = run_program(self._supervisor, shell_program(step.command, "check"))
        cut, output = ended.cut.cause if ended.cut else "", ended.problem or ended.output
        project = self._project.identity
        self._recorder.record(
            events.CheckFinished(step.command, ended.code, ended.duration, output, cut, project, gone)
        )
        if step.last:
            before, self._project = self._project, look_at_project(self._supervisor)
            changed = self._project.changes_since(before)
            self.inspection = Inspection(self._project.identity, self._project.tree, changed)

    def _judge(self) -> None:
        facts = self._facts()
        changes = (facts.inspection and facts.inspection.tampering) or self._changes()
        self._recorder.record(proof.judge(self._recorder.state, facts, changes))

    def _changes(self) -> tuple[events.ProofChange, ...]:
        """What is not as it was when the run began, of that which defines the proof."""
        definition = self._definition
        if definition is None:
            return ()
        definition.count_all()
        return self._supervisor.meanwhile(definition.changes)

    def _facts(self) -> Facts:
        return replace(self._supervisor.facts(), inspection=self.inspection)


def hold_review(supervisor: Supervisor, depth: str, project: ProjectState) -> None:
    """One review of the last claim, from `ReviewStarted` to `ReviewFinished`: Claude looks once more, with fresh
    context. `project` is what it is to look at."""
    spec, recorder = supervisor.spec, supervisor.recorder
    began = recorder.now()
    schema_call.warn_if_unknown(recorder, project)
    question = SchemaQuestion(
        lambda: spec.texts.review(depth, review.DEPTHS[depth]),
        review.schema(),
        f"review-{recorder.state.claim.judged + 1}-{os.urandom(2).hex()}",
        events.ReviewStarted(depth),
    )
    answer = schema_call.ask(supervisor, question)
    outcome = answer.outcome
    unheld = outcome.kind in RETRIED | ENDING_FAILURES | {Kind.INTERRUPTED}
    if unheld:
        found = Review(UNHELD, outcome.message or outcome.kind)
    else:
        found = _judge(supervisor, answer, project)
        if found.requirements:
            try:
                untrusted_files.make_folder(spec.report.parent, parents=True)
                untrusted_files.write_text(spec.report, review.render_report(found, spec.layout.name, depth))
            except OSError as error:  # a review whose report cannot be kept is not evidence
                found = Review(INVALID, f"{spec.report} cannot be written: {error.strerror}")
    spent = recorder.state.spending
    recorder.record(
        events.ReviewFinished(
            verdict=found.verdict,
            summary=found.summary,
            findings=found.findings,
            report=str(spec.report),
            duration=recorder.now() - began,
            cost_usd=spent.cost_usd,
            outcome=outcome if unheld else None,
            tokens=spent.tokens,
            cost_is_lower_bound=spent.at_least,
            requirements=tuple(
                replace(one, evidence=shorten(one.evidence, _LONGEST_EVIDENCE)) for one in found.requirements
            ),
        )
    )


def _judge(supervisor: Supervisor, answer: SchemaAnswer, project: ProjectState) -> Review:
    outcome = answer.outcome
    if answer.trouble or outcome.kind not in FINE:
        return Review(INVALID, answer.trouble or outcome.message or outcome.kind)
    if changed := look_at_project(supervisor).changes_since(project):
        moved = "the review changed the project that it was to look at, or something else did meanwhile"
        return Review(INVALID, f"{moved}: {join_names(changed)}")
    instructions = answer.texts.instructions if answer.texts is not None else ""
    asked = review.requirements_in(instructions, supervisor.recorder.redactor.clean)
    return review.judge(answer.document or {}, asked)
