"""One iteration: the prompt, the call of Claude, the report, the outcome. What Claude does is never an exception."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from claude_iterate.core.events import (
    Denial,
    Event,
    IterationFinished,
    IterationStarted,
    Outcome,
    ResultReported,
    ToolCalled,
    Warned,
)
from claude_iterate.core.formats import money
from claude_iterate.core.outcomes.classes import WELL
from claude_iterate.core.outcomes.signatures import shown, signature
from claude_iterate.core.rules.between import choose_session
from claude_iterate.core.rules.breaker import says_done
from claude_iterate.core.state.call import Call
from claude_iterate.core.task_identity import checksum, identity
from claude_iterate.engine.call import AgentCall, outcome_of_call, outcome_of_problem
from claude_iterate.engine.run_spec import Texts
from claude_iterate.engine.status_reports import StatusReports
from claude_iterate.engine.supervisor import Supervisor
from claude_iterate.errors import ExpectedError
from claude_iterate.workspace.run_folder import notes


class IterationRun:
    """Runs one iteration. `keep_place` puts back what Claude deleted of the workspace; `listen` gets what it prints."""

    def __init__(
        self,
        supervisor: Supervisor,
        reports: StatusReports,
        number: int,
        keep_place: Callable[[], object],
        listen: Callable[[Sequence[Event]], None] = lambda _printed: None,
    ) -> None:
        self._supervisor = supervisor
        self._spec = supervisor.spec
        self._recorder = supervisor.recorder
        self._reports = reports
        self._number = number
        self._keep_place = keep_place
        self._listen = listen
        self._instructions = ""

    def run(self) -> None:
        """Everything from the prompt to `IterationFinished`."""
        began = self._recorder.elapsed()
        report_id = self._reports.iteration_begins(self._number)
        failure: Outcome | None = None
        notes_shown: tuple[str, ...] = ()
        try:
            texts = self._spec.texts(self._number, self._recorder.state.findings, report_id)
            prompt, notes_shown = texts.user.encode("utf-8", "replace"), texts.notes
            self._instructions = texts.instructions
            for warning in texts.warnings:
                self._recorder.record(warning)
            chosen = choose_session(self._recorder.state, self._spec.settings, self._recorder.wall())
            self._record_start(texts, prompt, chosen.session or "", report_id)
            if chosen.reboot is not None:
                self._recorder.record(chosen.reboot)
            again = self._recorder.state.streaks.retries
            name = f"{self._number:04d}" + (f".retry-{again}" if again else "")
            AgentCall(self._supervisor, self._listen).make(texts.system, prompt, name, chosen.session)
        except ExpectedError as problem:
            failure = outcome_of_problem(self._recorder, problem)
        self._keep_place()
        self._finish(began, failure)
        self._mark_delivered(notes_shown)

    def _wrote_report(self, tool: ToolCalled | None) -> bool:
        """The input of this tool names the report."""
        name = self._spec.layout.status.name
        return tool is not None and any(isinstance(value, str) and name in value for value in tool.input.values())

    def _mark_delivered(self, notes_shown: tuple[str, ...]) -> None:
        """The notes have reached an iteration that ended well. After any other one they come again: after a hang, an
        error, a skip, a stop."""
        state = self._recorder.state
        ended_well = state.last_outcome is not None and state.last_outcome.kind in WELL
        if notes_shown and ended_well and state.iterations >= self._number:
            notes.mark_delivered(self._spec.layout, notes_shown)

    def _record_start(self, texts: Texts, prompt: bytes, resumes: str, report_id: str) -> None:
        self._recorder.record(
            IterationStarted(
                number=self._number,
                instructions=texts.instructions,
                status_instructions=texts.status_instructions,
                system_prompt=texts.system,
                prompt_bytes=len(prompt),
                resumes=resumes,
                notes=len(texts.notes),
                report_id=report_id,
                prompt_hash=checksum(prompt),
                instructions_hash=checksum(texts.instructions.encode("utf-8", "replace")),
            )
        )

    def _finish(self, began: float, failure: Outcome | None) -> None:
        call, result = self._recorder.state.call, self._recorder.state.result
        spent = self._recorder.state.spending
        reading = self._reports.iteration_ends(result.text)
        status = reading.status if reading else None
        reported = status is not None and status.source != "boxes"
        outcome = failure or outcome_of_call(self._supervisor, wrote_report=reported)
        denials = result.denials or (call.denials if call else ())
        error = _error(call, result, denials)
        self._recorder.record(
            IterationFinished(
                number=self._number,
                outcome=outcome,
                status=status,
                problems=reading.problems if reading else (),
                denials=denials,
                duration=self._recorder.elapsed() - began,
                cost_usd=spent.cost_usd,
                tokens=spent.tokens,
                turns=result.turns,
                tools=call.tools if call else 0,
                session=call.session if call else "",
                context=result.context,
                task=identity(self._instructions) if status is not None and status.complete else "",
                cost_is_lower_bound=spent.at_least,
                exit_code=call.exit_code if call else None,
                said=call.said if call else 0,
                error=signature(error),
                error_said=shown(error),
                says_done=says_done(result.text),
                report_was_last=call is not None and call.cut is None and self._wrote_report(call.last_tool),
            )
        )
        if spent.at_least and self._spec.settings.limits.max_cost_usd:
            counts = f"counts {money(spent.cost_usd)} for it" if spent.cost_usd else "cannot count it"
            still = "`max_iterations` and `limits.max_duration` still hold"
            self._recorder.record(
                Warned(
                    f"Claude named no readable cost for iteration {self._number}.",
                    f"`limits.max_cost_usd` {counts}; {still}.",
                )
            )


def _error(call: Call | None, result: ResultReported, denials: tuple[Denial, ...]) -> str:
    """What the iteration met last and did not get over. A denial is none: it has a rule of its own."""
    if result.is_error:
        return result.text or " ".join(result.errors)
    denied = {(denial.tool, denial.detail) for denial in denials}
    return "" if call is None or call.failed in denied else call.tool_error
