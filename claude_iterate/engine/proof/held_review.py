"""The review of a claim: Claude looks once more, with fresh context. Only a well-formed answer counts."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from claude_iterate.core import events
from claude_iterate.core.events.vocabulary import Kind
from claude_iterate.core.formats import listed
from claude_iterate.core.outcomes.classes import ENDING_FAILURES, FINE, RETRIED
from claude_iterate.core.records import Record
from claude_iterate.core.reports import review
from claude_iterate.core.reports.review import INVALID, VERIFIED, Review
from claude_iterate.engine.call import AgentCall, outcome_of_call, outcome_of_problem
from claude_iterate.engine.plan import Plan
from claude_iterate.engine.recorder import Recorder
from claude_iterate.engine.supervision import Supervisor
from claude_iterate.errors import ExpectedError
from claude_iterate.progress.project_state import ProjectState
from claude_iterate.workspace.files import atomic, foreign

UNHELD = "unheld"
"""No verdict, and not the claim's fault: a limit, an overload, a missing login. The claim is looked at again later."""


class HeldReview(Record, frozen=False):
    """One review of one claim. `look` says what the project is at this moment."""

    _plan: Plan
    _recorder: Recorder
    _supervisor: Supervisor
    _claim: int
    _look: Callable[[], ProjectState]

    def hold(self, depth: str, project: ProjectState) -> list[str] | None:
        """What it found, for the next prompt: nothing when it verifies. None: the review could not be held."""
        began = self._recorder.elapsed()
        identity = os.urandom(8).hex()
        before = foreign.read(self._plan.report)
        problem: events.Outcome | None = None
        try:
            texts = self._plan.review_texts(depth, review.DEPTHS[depth], identity, self._plan.report)
            prompt = texts.user.encode("utf-8", "replace")
            self._recorder.record(events.ReviewStarted(depth, len(prompt)))
            call = AgentCall(self._plan, self._recorder, self._supervisor)
            call.make(texts.system, prompt, f"review-{self._claim}-{identity[:4]}")
        except ExpectedError as error:
            problem = outcome_of_problem(self._recorder, error)
        outcome = problem or outcome_of_call(self._plan, self._recorder, wrote_report=True)
        if outcome.kind in RETRIED | ENDING_FAILURES | {Kind.INTERRUPTED}:
            found = Review(UNHELD, outcome.message or outcome.kind)
        else:
            found = self._judge(outcome, before, identity, project)
        self._record_end(found, outcome, began)
        return None if found.verdict == UNHELD else _findings(found)

    def _record_end(self, found: Review, outcome: events.Outcome, began: float) -> None:
        result = self._recorder.state.result
        self._recorder.record(
            events.ReviewFinished(
                verdict=found.verdict,
                summary=found.summary,
                findings=found.findings,
                report=str(self._plan.report),
                duration=self._recorder.elapsed() - began,
                cost_usd=result.cost_usd,
                outcome=outcome if found.verdict == UNHELD else None,
                tokens=result.tokens,
            )
        )

    def _judge(self, outcome: events.Outcome, before: bytes | None, identity: str, project: ProjectState) -> Review:
        """The verdict. A report of an earlier call is none; the final answer may stand in for a file not written."""
        if outcome.kind not in FINE:
            return Review(INVALID, outcome.message or outcome.kind)
        if changed := self._look().changes_since(project):
            moved = "the review changed the project that it was to look at, or something else did meanwhile"
            return Review(INVALID, f"{moved}: {listed(changed)}")
        said = self._recorder.state.result.text
        after = foreign.read(self._plan.report)
        if after is not None and after != before:
            return review.read(after.decode("utf-8", "replace"), identity, said)
        if f"VERIFICATION-ID: {identity}" not in said:
            return Review(INVALID, "no report was written in this review")
        return _kept(self._plan.report, said) or review.read(said, identity)


def _kept(report: Path, text: str) -> Review | None:
    """Keep the answer as the report; a report that cannot be kept is not evidence."""
    try:
        report.parent.mkdir(parents=True, exist_ok=True)
        atomic.write_text(report, text + "\n")
    except OSError as error:
        return Review(INVALID, f"{report} cannot be written: {error.strerror}")
    return None


def _findings(found: Review) -> list[str]:
    """A review as the next prompt shows it; nothing when it verifies."""
    if found.verdict == VERIFIED:
        return []
    if found.verdict == INVALID:
        return [f"The independent review gave no verdict that can be trusted: {found.summary}"]
    numbered = "\n".join(f"{number}. {item}" for number, item in enumerate(found.findings, 1))
    return [f"The independent review found the work incomplete. {found.summary}\n{numbered}".strip()]
