"""The review of a claim: Claude looks once more, with fresh context. The verdict is computed from its answer.

An agent that does not know our schema may write a report in prose, which is read strictly.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from claude_iterate.core import events
from claude_iterate.core.events.enums import Kind
from claude_iterate.core.formats import join_names, shorten
from claude_iterate.core.outcomes.classes import ENDING_FAILURES, FINE, RETRIED
from claude_iterate.core.reports import prose_review, requirements, review
from claude_iterate.core.reports.requirements import Requirement
from claude_iterate.core.reports.review import INCOMPLETE, INVALID, Review
from claude_iterate.engine import asking
from claude_iterate.engine.asking import Asked, Question
from claude_iterate.engine.recorder import Recorder
from claude_iterate.engine.run_spec import RunSpec
from claude_iterate.engine.supervisor import Supervisor
from claude_iterate.project.project_state import ProjectState
from claude_iterate.workspace.files import atomic, untrusted_files

UNHELD = "unheld"
"""No verdict, and not the claim's fault: a limit, an overload, a missing login. The claim is looked at again later."""
_LONGEST_EVIDENCE = 300


class HeldReview(msgspec.Struct):
    """One review of the last claim. `look` says what the project is at this moment."""

    _plan: RunSpec
    _recorder: Recorder
    _supervisor: Supervisor
    _look: Callable[[], ProjectState]

    def hold(self, depth: str, project: ProjectState) -> None:
        """From `ReviewStarted` to `ReviewFinished`."""
        began = self._recorder.elapsed()
        identity = os.urandom(8).hex()
        report = _Report(self._plan.report)
        asking.warn_if_unknown(self._recorder, project)
        question = Question(
            lambda by_schema: self._plan.review_texts(depth, review.DEPTHS[depth], identity, by_schema),
            review.SCHEMA,
            f"review-{self._recorder.state.claim.judged + 1}-{identity[:4]}",
            lambda size: events.ReviewStarted(depth, size),
        )
        asked = asking.ask(self._plan, self._recorder, self._supervisor, question)
        if asked.outcome.kind in RETRIED | ENDING_FAILURES | {Kind.INTERRUPTED}:
            found = Review(UNHELD, asked.outcome.message or asked.outcome.kind)
        else:
            found = self._judge(asked, report, identity, project)
            if found.requirements:
                text = review.render_report(found, self._plan.layout.name, depth, identity)
                found = report.keep(text) or found
        self._record_end(found, asked.outcome, began, project.identity)

    def _judge(self, asked: Asked, report: _Report, identity: str, project: ProjectState) -> Review:
        outcome, result = asked.outcome, self._recorder.state.result
        trouble = asking.why_unanswered(self._recorder, outcome)
        if trouble or outcome.kind not in FINE:
            return Review(INVALID, trouble or outcome.message or outcome.kind)
        if changed := self._look().changes_since(project):
            moved = "the review changed the project that it was to look at, or something else did meanwhile"
            return Review(INVALID, f"{moved}: {join_names(changed)}")
        if result.structured is None and len(result.text) > untrusted_files.MOST:
            return Review(INVALID, f"the answer is larger than {untrusted_files.MOST >> 20} MiB")
        asked_for = requirements.requirements_in(asked.texts.instructions if asked.texts is not None else "")
        written = report.read(identity, asked_for)
        if result.structured is None:
            return written or self._said(report, identity, result.text, asked_for)
        if written is not None and (report.is_unreadable or written.verdict == INCOMPLETE):
            return Review(INVALID, f"the answer and the report that was written do not agree: {written.summary}")
        return review.judge(result.structured, asked_for)

    def _said(self, report: _Report, identity: str, said: str, asked: Sequence[Requirement]) -> Review:
        """The final answer may stand in for a report that was not written."""
        if f"VERIFICATION-ID: {identity}" not in said:
            return Review(INVALID, "no report was written in this review")
        return report.keep(said + "\n") or prose_review.read(said, identity, asked)

    def _record_end(self, found: Review, outcome: events.Outcome, began: float, project: str) -> None:
        spent = self._recorder.state.spending
        self._recorder.record(
            events.ReviewFinished(
                verdict=found.verdict,
                summary=found.summary,
                findings=found.findings,
                report=str(self._plan.report),
                duration=self._recorder.elapsed() - began,
                cost_usd=spent.cost_usd,
                outcome=outcome if found.verdict == UNHELD else None,
                tokens=spent.tokens,
                cost_is_lower_bound=spent.at_least,
                project=project,
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
