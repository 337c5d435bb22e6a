"""A one-off call: a call of Claude that is not an iteration, such as writing or grading the instructions."""

from __future__ import annotations

from claude_iterate.core.events import ErrandFinished, ErrandStarted, Outcome, Tokens
from claude_iterate.core.events.vocabulary import Kind
from claude_iterate.core.outcomes.classes import classify
from claude_iterate.engine.call import AgentCall, evidence
from claude_iterate.engine.plan import Plan
from claude_iterate.engine.recorder import Recorder
from claude_iterate.engine.supervision import Supervisor
from claude_iterate.errors import ExpectedError


class OneOffCall:
    """Makes one call. The command that asked for it judges the result."""

    def __init__(self, plan: Plan, recorder: Recorder, supervisor: Supervisor) -> None:
        self._plan = plan
        self._recorder = recorder
        self._supervisor = supervisor

    def run(self) -> None:
        """From `ErrandStarted` to `ErrandFinished`."""
        plan, began = self._plan, self._recorder.elapsed()
        failure: Outcome | None = None
        try:
            texts = plan.texts(0, "")
            prompt = texts.user.encode("utf-8", "replace")
            self._recorder.record(ErrandStarted(plan.purpose, len(prompt)))
            AgentCall(plan, self._recorder, self._supervisor).make(texts.system, prompt, plan.purpose)
        except ExpectedError as problem:
            failure = Outcome(Kind.CONFIG, problem.message, problem.hint)
        call = self._recorder.state.call
        patterns = plan.settings.limits.patterns
        result = call.result if call else None
        self._recorder.record(
            ErrandFinished(
                plan.purpose,
                # A tool that was denied on the way is not a failure if the result is there: the command looks.
                failure or classify(evidence(call, wrote_report=True, now=self._recorder.wall(), patterns=patterns)),
                result.text if result else "",
                self._recorder.elapsed() - began,
                result.cost_usd if result else 0.0,
                tokens=result.tokens if result else Tokens(),
            )
        )
