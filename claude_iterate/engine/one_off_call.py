"""A one-off call: a call of Claude that is not an iteration, such as writing or grading the instructions."""

from __future__ import annotations

from claude_iterate.core.events import ErrandFinished, ErrandStarted, Outcome
from claude_iterate.core.events.vocabulary import Kind
from claude_iterate.engine.call import AgentCall, outcome_of_call
from claude_iterate.engine.plan import Plan
from claude_iterate.engine.recorder import Recorder
from claude_iterate.engine.supervision import Supervisor
from claude_iterate.errors import ExpectedError


def make_one_off_call(plan: Plan, recorder: Recorder, supervisor: Supervisor) -> None:
    """From `ErrandStarted` to `ErrandFinished`. The command that asked for it judges the result."""
    began = recorder.elapsed()
    failure: Outcome | None = None
    try:
        texts = plan.texts(0, "")
        prompt = texts.user.encode("utf-8", "replace")
        recorder.record(ErrandStarted(plan.purpose, len(prompt)))
        AgentCall(plan, recorder, supervisor).make(texts.system, prompt, plan.purpose)
    except ExpectedError as problem:
        failure = Outcome(Kind.CONFIG, problem.message, problem.hint)
    result = recorder.state.result
    recorder.record(
        ErrandFinished(
            plan.purpose,
            # A tool that was denied on the way is not a failure if the result is there: the command looks.
            failure or outcome_of_call(plan, recorder, wrote_report=True),
            result.text,
            recorder.elapsed() - began,
            result.cost_usd,
            tokens=result.tokens,
        )
    )
