"""One iteration: the prompt, the call of Claude, the report, the outcome. What Claude does is never an exception."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from claude_iterate.core import events
from claude_iterate.core.fingerprints import checksum, error_signature, last_words, task_identity
from claude_iterate.core.formats import money
from claude_iterate.core.outcomes.call import Call
from claude_iterate.core.outcomes.classes import WELL
from claude_iterate.core.reports.status import Reading
from claude_iterate.core.rules.between import choose_session
from claude_iterate.core.rules.breaker import says_done
from claude_iterate.engine.call import call_claude, outcome_of_call, outcome_of_problem
from claude_iterate.engine.status_reports import StatusReports
from claude_iterate.engine.supervisor import Supervisor
from claude_iterate.errors import ExpectedError
from claude_iterate.prompts import Texts
from claude_iterate.workspace.run_folder import notes


def run_iteration(
    supervisor: Supervisor,
    reports: StatusReports,
    number: int,
    keep_place: Callable[[], object],
    listen: Callable[[Sequence[events.Event]], None],
) -> None:
    """Everything from the prompt to `IterationFinished`. `keep_place` puts back what Claude deleted of the workspace;
    `listen` gets what Claude prints."""
    spec, recorder = supervisor.spec, supervisor.recorder
    began = recorder.now()
    report_id = reports.iteration_begins(number)
    texts: Texts | None = None
    failure: events.Outcome | None = None
    try:
        texts = spec.texts.iteration(number, recorder.state.findings, report_id)
        prompt = texts.user.encode("utf-8", "replace")
        if texts.appended:
            hint = "Put it into the prompt, where you want it to stand."
            recorder.warn_once(spec.texts.describe_appended(texts), hint)
        chosen = choose_session(recorder.state, spec.settings, recorder.wall_time())
        recorder.record(
            events.IterationStarted(
                number=number,
                instructions=texts.instructions,
                status_instructions=texts.status_instructions,
                system_prompt=texts.system,
                resumes=chosen.session or "",
                notes=len(texts.notes),
                report_id=report_id,
                prompt_hash=checksum(prompt),
                instructions_hash=checksum(texts.instructions.encode("utf-8", "replace")),
            )
        )
        if chosen.reboot is not None:
            recorder.record(chosen.reboot)
        again = recorder.state.streaks.retries
        name = f"{number:04d}" + (f".retry-{again}" if again else "")
        call_claude(supervisor, texts.system, prompt, name, chosen.session, listen=listen)
    except ExpectedError as problem:
        failure = outcome_of_problem(recorder, problem)
    keep_place()
    _record_end(supervisor, number, began, reports.iteration_ends(recorder.state.result.text), texts, failure)
    state = recorder.state
    # After a hang, an error, a skip or a stop the notes come again.
    ended_well = state.last_outcome is not None and state.last_outcome.kind in WELL
    if texts is not None and texts.notes and ended_well and state.iterations >= number:
        notes.mark_delivered(spec.layout, texts.notes)


def _record_end(
    supervisor: Supervisor,
    number: int,
    began: float,
    reading: Reading | None,
    texts: Texts | None,
    failure: events.Outcome | None,
) -> None:
    spec, recorder = supervisor.spec, supervisor.recorder
    call, result, spent = recorder.state.call, recorder.state.result, recorder.state.spending
    status = reading.status if reading else None
    reported = status is not None and status.source != "boxes"
    denials = result.denials or (call.denials if call else ())
    error = _error(call, result, denials)
    instructions = texts.instructions if texts is not None else ""
    recorder.record(
        events.IterationFinished(
            number=number,
            outcome=failure or outcome_of_call(supervisor, wrote_report=reported),
            status=status,
            problems=reading.problems if reading else (),
            denials=denials,
            duration=recorder.now() - began,
            cost_usd=spent.cost_usd,
            tokens=spent.tokens,
            turns=result.turns,
            tools=call.tools if call else 0,
            session=call.session if call else "",
            context=result.context,
            task=task_identity(instructions) if status is not None and status.complete else "",
            cost_is_lower_bound=spent.at_least,
            exit_code=call.exit_code if call else None,
            said=call.said if call else 0,
            error=error_signature(error),
            error_said=last_words(error),
            says_done=says_done(result.text),
            report_was_last=call is not None and call.cut is None and _names(call.last_tool, spec.layout.status.name),
        )
    )
    if spent.at_least and spec.settings.limits.max_cost_usd:
        counts = f"counts {money(spent.cost_usd)} for it" if spent.cost_usd else "cannot count it"
        hint = f"`limits.max_cost_usd` {counts}; `max_iterations` and `limits.max_duration` still hold."
        recorder.record(events.Warned(f"The cost that Claude reported for iteration {number} cannot be read.", hint))


def _names(tool: events.ToolCalled | None, file: str) -> bool:
    """The input of this tool names the file."""
    return tool is not None and any(isinstance(value, str) and file in value for value in tool.input.values())


def _error(call: Call | None, result: events.ResultReported, denials: tuple[events.Denial, ...]) -> str:
    """What the iteration met last and did not get over. A denial is none: it has a rule of its own."""
    if result.is_error:
        return result.text or " ".join(result.errors)
    denied = {(denial.tool, denial.detail) for denial in denials}
    return "" if call is None or call.failed in denied else call.tool_error
