"""The proof of a claim: our own checks first, then Claude's review in fresh context. All of it is evidence."""

from __future__ import annotations

import os
from collections import deque
from pathlib import Path

from claude_iterate.agent import command
from claude_iterate.agent.process import AgentProcess
from claude_iterate.core import review
from claude_iterate.core.events import (
    CheckFinished,
    ReviewFinished,
    ReviewStarted,
    VerificationFinished,
    VerificationStarted,
)
from claude_iterate.core.outcome import FINE, classify
from claude_iterate.core.review import INVALID, VERIFIED, Review
from claude_iterate.core.verdicts import Cut, Wait
from claude_iterate.engine.call import AgentCall, evidence
from claude_iterate.engine.plan import Plan
from claude_iterate.engine.recorder import Recorder
from claude_iterate.engine.supervision import Orders, Supervisor
from claude_iterate.errors import ExpectedError
from claude_iterate.workspace import atomic, git

_TAIL = 4000


class Proof:
    """Proves or refutes one claim of completion."""

    def __init__(self, plan: Plan, recorder: Recorder, supervisor: Supervisor, claim: int) -> None:
        self._plan = plan
        self._recorder = recorder
        self._supervisor = supervisor
        self._claim = claim

    def run(self) -> None:
        """From `VerificationStarted` to `VerificationFinished`. A stop in between leaves the claim unproven."""
        settings = self._plan.settings.verification
        depth = settings.depth if self._plan.review_wanted else ""
        self._recorder.record(VerificationStarted(self._claim, len(settings.checks), depth))
        findings: list[str] = []
        for line in settings.checks:
            if self._stopped():
                break
            findings += self._check(line, settings.check_timeout)
        # A review of work that is known to be red would only cost money.
        if depth and not findings and not self._stopped():
            findings += self._review(depth)
        if self._stopped():
            findings.append("the verification was stopped before its end")
        self._recorder.record(
            VerificationFinished(self._claim, not findings, "\n\n".join(findings), git.tree_of(self._plan.layout.root))
        )

    def _stopped(self) -> bool:
        stop = self._recorder.state.stop
        return stop is not None and stop.now

    def _check(self, line: str, patience: float) -> list[str]:
        """Run one check through the shell, as a person would in the project root."""
        began = self._recorder.elapsed()
        tail: deque[str] = deque(maxlen=200)
        plan = self._plan
        environment = command.environment(plan.environ, plan.settings.claude, plan.run, plan.layout.folder)
        try:
            process = AgentProcess(
                ["/bin/sh", "-c", line], environment, plan.layout.root, b"", None, self._supervisor.post
            )
        except ExpectedError as problem:
            self._recorder.record(CheckFinished(line, None, 0.0, problem.message))
            return [f"The check `{line}` could not be started: {problem.message}"]
        cut: list[Cut] = []

        def verdict(now: float) -> Wait | Cut:
            if self._stopped():
                return Cut("stopped")
            return Cut("timeout", patience) if now >= began + patience else Wait(began + patience)

        def hear(_stream: str, lines: list[bytes]) -> None:
            tail.extend(text.decode("utf-8", "replace")[-_TAIL:] for text in lines)

        code = self._supervisor.attend(process, Orders(hear, verdict, lambda given, _now: cut.append(given)))
        output = "\n".join(tail)[-_TAIL:]
        taken = self._recorder.elapsed() - began
        self._recorder.record(CheckFinished(line, None if cut else code, taken, output))
        if cut:
            why = f"did not end within {patience:.0f} seconds" if cut[0].cause == "timeout" else "was stopped"
            return [f"The check `{line}` {why}. The end of its output:\n{output}"]
        return (
            [] if code == 0 else [f"The check `{line}` failed with exit code {code}. The end of its output:\n{output}"]
        )

    def _review(self, depth: str) -> list[str]:
        """Let Claude look with fresh context; what it writes is believed only if it is well-formed."""
        began = self._recorder.elapsed()
        identity = os.urandom(8).hex()
        report = self._plan.report
        before = _read(report)
        problem = ""
        try:
            texts = self._plan.review_texts(depth, review.DEPTHS[depth], identity, report)
            prompt = texts.user.encode("utf-8", "replace")
            self._recorder.record(ReviewStarted(depth, len(prompt)))
            call = AgentCall(self._plan, self._recorder, self._supervisor)
            call.make(texts.system, prompt, f"review-{self._claim}")
        except ExpectedError as error:
            problem = error.message
        found = self._judge(problem, before, report, identity)
        call_state = self._recorder.state.call
        cost = call_state.result.cost_usd if call_state and call_state.result else 0.0
        self._recorder.record(
            ReviewFinished(
                found.verdict, found.summary, found.findings, str(report), self._recorder.elapsed() - began, cost
            )
        )
        if found.verdict == VERIFIED:
            return []
        if found.verdict == INVALID:
            return [f"The independent review gave no verdict that can be trusted: {found.summary}"]
        numbered = "\n".join(f"{number}. {item}" for number, item in enumerate(found.findings, 1))
        return [f"The independent review found the work incomplete. {found.summary}\n{numbered}".strip()]

    def _judge(self, problem: str, before: bytes | None, report: Path, identity: str) -> Review:
        """The verdict. A report of an earlier call is none; the final answer may stand in for a file not written."""
        if problem:
            return Review(INVALID, problem)
        outcome = classify(evidence(self._recorder.state.call, wrote_report=True))
        if outcome.kind not in FINE:
            return Review(INVALID, outcome.message or outcome.kind)
        after = _read(report)
        if after is not None and after != before:
            return review.read(after.decode("utf-8", "replace"), identity)
        call = self._recorder.state.call
        said = call.result.text if call and call.result else ""
        if f"VERIFICATION-ID: {identity}" in said:
            atomic.write_text(report, said + "\n")
            return review.read(said, identity)
        return Review(INVALID, "no report was written in this review")


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None
