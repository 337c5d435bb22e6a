"""The proof of a claim: our own checks first, then Claude's review in fresh context. All of it is evidence."""

from __future__ import annotations

from claude_iterate.core import events
from claude_iterate.core.records import Record
from claude_iterate.core.rules.between import decide_proof
from claude_iterate.core.rules.facts import Facts
from claude_iterate.engine.plan import Plan
from claude_iterate.engine.proof.check import Check
from claude_iterate.engine.proof.held_review import HeldReview
from claude_iterate.engine.recorder import Recorder
from claude_iterate.engine.supervision import Supervisor
from claude_iterate.progress import project_state
from claude_iterate.progress.project_state import ProjectState


class Proof(Record, frozen=False):
    """Proves or refutes one claim of completion."""

    _plan: Plan
    _recorder: Recorder
    _supervisor: Supervisor
    _claim: int

    def run(self) -> None:
        """From `VerificationStarted` to `VerificationFinished`. Without the latter the claim is still unproven: it was
        stopped, the time of the run is over, or the review could not be held."""
        settings = self._plan.settings.verification
        depth = settings.depth if self._facts().review_wanted else ""
        self._recorder.record(events.VerificationStarted(self._claim, len(settings.checks), depth))
        findings: list[str] = []
        for line in settings.checks:
            if self._is_over():
                return
            findings.append(Check(self._plan, self._recorder, self._supervisor, line).run())
        findings = [finding for finding in findings if finding]
        if self._is_over():
            return
        before = self._look()
        # A review of work that is known to be red would only cost money.
        if depth and not findings:
            if self._is_over():
                return
            found = HeldReview(self._plan, self._recorder, self._supervisor, self._claim, self._look).hold(
                depth, before
            )
            if found is None or self._is_over():
                return
            findings += found
        self._recorder.record(
            events.VerificationFinished(self._claim, not findings, "\n\n".join(findings), before.tree)
        )

    def _is_over(self) -> bool:
        return decide_proof(self._recorder.state, self._facts()) is not None

    def _facts(self) -> Facts:
        return self._plan.facts(self._recorder.elapsed(), self._recorder.wall())

    def _look(self) -> ProjectState:
        """What is being proven, without our own files, which change all the time, but with the instructions."""
        layout = self._plan.layout
        left_out, watched = [*layout.own_folders(), self._plan.report], [layout.instructions]
        # Large projects take a while, and a user who steers should not have to wait.
        return self._supervisor.meanwhile(
            lambda: project_state.look(layout.root, left_out, watched, layout.scratch(self._plan.run))
        )
