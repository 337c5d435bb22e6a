"""The proof of a claim: our own checks first, then Claude's review in fresh context. All of it is evidence.

`core.rules.proof` says which step is next; this does it and records what was found. The verdict of a review is computed
from its answer. An agent that does not know our schema may write a report in prose, which is read strictly.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from claude_iterate.core import events
from claude_iterate.core.events.enums import Kind
from claude_iterate.core.formats import join_names, shorten
from claude_iterate.core.outcomes.classes import ENDING_FAILURES, FINE, RETRIED
from claude_iterate.core.reports import prose_review, requirements, review
from claude_iterate.core.reports.requirements import Requirement
from claude_iterate.core.reports.review import INCOMPLETE, INVALID, Review
from claude_iterate.core.rules import proof
from claude_iterate.core.rules.during import decide_check
from claude_iterate.core.rules.facts import Facts, Inspection
from claude_iterate.core.rules.verdicts import HoldReview, JudgeClaim, ProofStep, RunCheck, Verify
from claude_iterate.engine import schema_call
from claude_iterate.engine.proof_definition import Definition
from claude_iterate.engine.schema_call import SchemaAnswer, SchemaQuestion, look_at_project
from claude_iterate.engine.shell_command import run_program, shell_program
from claude_iterate.engine.supervisor import Supervisor
from claude_iterate.project.project_state import ProjectState
from claude_iterate.workspace import task_file
from claude_iterate.workspace.files import atomic, untrusted_files

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
                ReviewCall(self._supervisor, depth, self._project).hold()
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
        ended = run_program(self._supervisor, shell_program(step.command, "check"), decide_check)
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


class ReviewCall:
    """One review of the last claim: Claude looks once more, with fresh context. `project` is what it is to look at."""

    def __init__(self, supervisor: Supervisor, depth: str, project: ProjectState) -> None:
        self._supervisor = supervisor
        self._spec = supervisor.spec
        self._recorder = supervisor.recorder
        self._depth = depth
        self._project = project
        self._identity = os.urandom(8).hex()

    def hold(self) -> None:
        """From `ReviewStarted` to `ReviewFinished`."""
        began, depth, identity = self._recorder.elapsed(), self._depth, self._identity
        report = _Report(self._spec.report)
        schema_call.warn_if_unknown(self._recorder, self._project)
        question = SchemaQuestion(
            lambda by_schema: self._spec.review_texts(depth, review.DEPTHS[depth], identity, by_schema),
            review.SCHEMA,
            f"review-{self._recorder.state.claim.judged + 1}-{identity[:4]}",
            lambda size: events.ReviewStarted(depth, size),
        )
        answer = schema_call.ask(self._supervisor, question)
        if answer.outcome.kind in RETRIED | ENDING_FAILURES | {Kind.INTERRUPTED}:
            found = Review(UNHELD, answer.outcome.message or answer.outcome.kind)
        else:
            found = self._judge(answer, report)
            if found.requirements:
                text = review.render_report(found, self._spec.layout.name, depth, identity)
                found = report.keep(text) or found
        self._record_end(found, answer.outcome, began)

    def _judge(self, answer: SchemaAnswer, report: _Report) -> Review:
        outcome, result = answer.outcome, self._recorder.state.result
        trouble = schema_call.why_unanswered(self._recorder, outcome)
        if trouble or outcome.kind not in FINE:
            return Review(INVALID, trouble or outcome.message or outcome.kind)
        if changed := look_at_project(self._supervisor).changes_since(self._project):
            moved = "the review changed the project that it was to look at, or something else did meanwhile"
            return Review(INVALID, f"{moved}: {join_names(changed)}")
        if result.structured is None and len(result.text) > untrusted_files.MOST:
            return Review(INVALID, f"the answer is larger than {untrusted_files.MOST >> 20} MiB")
        asked = requirements.requirements_in(answer.texts.instructions if answer.texts is not None else "")
        written = report.read(self._identity, asked)
        if result.structured is None:
            return written or self._judge_prose(report, result.text, asked)
        if written is not None and (report.is_unreadable or written.verdict == INCOMPLETE):
            return Review(INVALID, f"the answer and the report that was written do not agree: {written.summary}")
        return review.judge(result.structured, asked)

    def _judge_prose(self, report: _Report, said: str, asked: Sequence[Requirement]) -> Review:
        """The final answer may stand in for a report that was not written."""
        if f"VERIFICATION-ID: {self._identity}" not in said:
            return Review(INVALID, "no report was written in this review")
        return report.keep(said + "\n") or prose_review.read(said, self._identity, asked)

    def _record_end(self, found: Review, outcome: events.Outcome, began: float) -> None:
        spent = self._recorder.state.spending
        self._recorder.record(
            events.ReviewFinished(
                verdict=found.verdict,
                summary=found.summary,
                findings=found.findings,
                report=str(self._spec.report),
                duration=self._recorder.elapsed() - began,
                cost_usd=spent.cost_usd,
                outcome=outcome if found.verdict == UNHELD else None,
                tokens=spent.tokens,
                cost_is_lower_bound=spent.at_least,
                project=self._project.identity,
                requirements=tuple(
                    events.JudgedRequirement(
                        one.number, one.text, one.status, shorten(one.evidence, _LONGEST_EVIDENCE), one.shown_by
                    )
                    for one in found.requirements
                ),
            )
        )


class _Report:
    """The report's file, as it was before the review and as it is after it. A report of an earlier call is none."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._before = self._now()
        self.is_unreadable = False

    def _now(self) -> untrusted_files.Found | None:
        try:
            return untrusted_files.look(self._path)
        except OSError:
            return None

    def read(self, identity: str, asked: Sequence[Requirement]) -> Review | None:
        """The review that was written there; None when nothing was."""
        now = self._now()
        if now is None or (self._before is not None and now.fingerprint == self._before.fingerprint):
            return None
        if not now.whole:
            self.is_unreadable = True
            return Review(INVALID, f"the report is larger than {untrusted_files.MOST >> 20} MiB; it is kept as it is")
        return prose_review.read(now.data.decode("utf-8", "replace"), identity, asked)

    def keep(self, text: str) -> Review | None:
        """Write the report; a report that cannot be kept is not evidence. One that cannot be read is not replaced."""
        if self.is_unreadable:
            return None
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            atomic.write_text(self._path, text)
        except OSError as error:
            return Review(INVALID, f"{self._path} cannot be written: {error.strerror}")
        return None
