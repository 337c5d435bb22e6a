"""One iteration: the prompt, the call of Claude, the report, the outcome. What Claude does is never an exception."""

from __future__ import annotations

from claude_iterate.core.events import IterationFinished, IterationStarted, Outcome, Tokens
from claude_iterate.core.outcome import classify
from claude_iterate.engine.call import AgentCall, evidence
from claude_iterate.engine.plan import Plan, Texts
from claude_iterate.engine.recorder import Recorder
from claude_iterate.engine.status import StatusDesk
from claude_iterate.engine.supervision import Supervisor
from claude_iterate.errors import ExpectedError


class IterationRun:
    """Runs one iteration."""

    def __init__(self, plan: Plan, recorder: Recorder, supervisor: Supervisor, desk: StatusDesk, number: int) -> None:
        self._plan = plan
        self._recorder = recorder
        self._supervisor = supervisor
        self._desk = desk
        self._number = number

    def run(self) -> None:
        """Everything from the prompt to `IterationFinished`."""
        began = self._recorder.elapsed()
        self._desk.iteration_begins()
        failure: Outcome | None = None
        try:
            texts = self._plan.texts(self._number, self._recorder.state.findings)
            prompt = texts.user.encode("utf-8", "replace")
            self._record_start(texts, len(prompt))
            call = AgentCall(self._plan, self._recorder, self._supervisor)
            again = self._recorder.state.retries
            call.make(texts.system, prompt, f"{self._number:04d}" + (f"-retry-{again}" if again else ""))
        except ExpectedError as problem:
            # Claude or the instructions went away in mid-run, or a prompt was edited into nonsense.
            failure = Outcome("config", problem.message, problem.hint)
        self._finish(began, failure)

    def _record_start(self, texts: Texts, prompt_bytes: int) -> None:
        self._recorder.record(
            IterationStarted(
                self._number,
                texts.instructions,
                texts.status_instructions,
                texts.system,
                prompt_bytes,
                len(texts.system.encode("utf-8", "replace")),
            )
        )

    def _finish(self, began: float, failure: Outcome | None) -> None:
        call = self._recorder.state.call
        result = call.result if call else None
        reading = self._desk.iteration_ends(result.text if result else "")
        status = reading.status if reading else None
        reported = status is not None and status.source != "boxes"
        self._recorder.record(
            IterationFinished(
                self._number,
                failure
                or classify(evidence(call, reported, self._recorder.wall(), self._plan.settings.limits.patterns)),
                status,
                reading.problems if reading else (),
                result.denials if result else (),
                self._recorder.elapsed() - began,
                result.cost_usd if result else 0.0,
                result.tokens if result else Tokens(),
                result.turns if result else 0,
                call.tools if call else 0,
                call.session if call else "",
                result.context if result else None,
            )
        )
