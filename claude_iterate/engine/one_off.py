"""A call of Claude that is not an iteration: writing the instructions, or grading them."""

from __future__ import annotations

from claude_iterate.core import events
from claude_iterate.core.events.enums import Kind, Purpose
from claude_iterate.core.reports import validation
from claude_iterate.engine import asking
from claude_iterate.engine.call import AgentCall, outcome_of_call
from claude_iterate.engine.recorder import Recorder
from claude_iterate.engine.run_spec import RunSpec
from claude_iterate.engine.supervisor import Supervisor
from claude_iterate.errors import ExpectedError


def make_one_off_call(plan: RunSpec, recorder: Recorder, supervisor: Supervisor) -> None:
    """From `ErrandStarted` to `ErrandFinished`. The command that asked for it judges the result."""
    began = recorder.elapsed()
    changed: tuple[str, ...] = ()
    trouble = ""
    if plan.purpose == Purpose.VALIDATE:
        outcome, changed, trouble = _grade(plan, recorder, supervisor)
    else:
        outcome = _write(plan, recorder, supervisor)
    result, spent = recorder.state.result, recorder.state.spending
    recorder.record(
        events.ErrandFinished(
            plan.purpose,
            outcome,
            result.text,
            recorder.elapsed() - began,
            spent.cost_usd,
            tokens=spent.tokens,
            cost_is_lower_bound=spent.at_least,
            structured=result.structured,
            changed=changed,
            trouble=trouble,
        )
    )


def _write(plan: RunSpec, recorder: Recorder, supervisor: Supervisor) -> events.Outcome:
    try:
        texts = plan.texts(0, "", "")
        prompt = texts.user.encode("utf-8", "replace")
        recorder.record(events.ErrandStarted(plan.purpose, len(prompt)))
        AgentCall(plan, recorder, supervisor).make(texts.system, prompt, plan.purpose)
    except ExpectedError as problem:
        return events.Outcome(Kind.CONFIG, problem.message, problem.hint, called=False)
    # A tool that was denied on the way is not a failure if the result is there: the command looks.
    return outcome_of_call(plan, recorder, wrote_report=True)


def _grade(plan: RunSpec, recorder: Recorder, supervisor: Supervisor) -> tuple[events.Outcome, tuple[str, ...], str]:
    """Claude is to look and to change nothing: what it changed all the same, and why its answer cannot count."""
    before = asking.look(plan, supervisor)
    asking.warn_if_unknown(recorder, before)
    question = asking.Question(
        plan.grading_texts, validation.SCHEMA, plan.purpose, lambda size: events.ErrandStarted(plan.purpose, size)
    )
    outcome = asking.ask(plan, recorder, supervisor, question).outcome
    changed = asking.look(plan, supervisor).changes_since(before)
    return outcome, changed, asking.why_unanswered(recorder, outcome)
