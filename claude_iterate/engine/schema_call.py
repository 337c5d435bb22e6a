"""Calls of Claude that are not iterations: a question that is answered in a schema of ours, instructions to write.

Who is asked may look at the project and is given no tool that acts. Settings of Claude Code in the project do not count
in such a call; where they say how to log in, Claude is asked once more with them. An agent that is not Claude Code
gives the same answer as text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec.structs import replace

from claude_iterate.agent.command.command_line import ReadOnlyCall
from claude_iterate.core import events, foreign_json
from claude_iterate.core.events.enums import Kind, Purpose
from claude_iterate.core.outcomes.classes import FINE
from claude_iterate.core.reports import validation
from claude_iterate.engine.call import call_claude, outcome_of_call, outcome_of_problem
from claude_iterate.engine.recorder import Recorder
from claude_iterate.engine.supervisor import Supervisor
from claude_iterate.errors import ExpectedError
from claude_iterate.project import project_state
from claude_iterate.project.project_state import ProjectState
from claude_iterate.prompts import Texts
from claude_iterate.system import processes


class SchemaQuestion(msgspec.Struct, frozen=True):
    """What is asked. `texts` gives the prompts; `schema` is empty where Claude is to write a file."""

    texts: Callable[[], Texts]
    schema: str
    raw_name: str
    started: events.Event


class SchemaAnswer(msgspec.Struct, frozen=True):
    """How the call ended, and the texts that it was made with; None when they could not be made. `document` is the
    answer; without one `trouble` says why, unless the outcome does."""

    outcome: events.Outcome
    texts: Texts | None
    document: dict[str, Any] | None = None
    trouble: str = ""


def ask(supervisor: Supervisor, question: SchemaQuestion) -> SchemaAnswer:
    """Ask by schema; once more where only the settings of the project have the login."""
    spec = supervisor.spec
    read_only = ReadOnlyCall(question.schema, spec.permissions.own_file)
    outcome, texts = _call(supervisor, question, question.raw_name, read_only)
    needs_login = outcome.kind in {Kind.AUTH, Kind.AWAY} and spec.permissions.project_has_login
    if needs_login and spec.known.has("--restricted"):
        text = "Without the settings of Claude Code in the project there is no login, so the review reads them."
        supervisor.recorder.warn_once(text, "Put the login into your own settings: ~/.claude/settings.json")
        unrestricted = replace(read_only, restricted=False)
        outcome, texts = _call(supervisor, question, f"{question.raw_name}-unrestricted", unrestricted)
    return SchemaAnswer(outcome, texts, *(_read_answer(supervisor.recorder, outcome) if outcome.called else ()))


def _call(
    supervisor: Supervisor, question: SchemaQuestion, name: str, read_only: ReadOnlyCall | None = None
) -> tuple[events.Outcome, Texts | None]:
    texts: Texts | None = None
    try:
        texts = question.texts()
        supervisor.recorder.record(question.started)
        call_claude(supervisor, texts.system, texts.user.encode("utf-8", "replace"), name, read_only=read_only)
    except ExpectedError as problem:
        return outcome_of_problem(supervisor.recorder, problem), texts
    # A tool that was denied on the way is not a failure if the answer is there.
    return outcome_of_call(supervisor, wrote_report=True), texts


def _read_answer(recorder: Recorder, outcome: events.Outcome) -> tuple[dict[str, Any] | None, str]:
    """The answer, or why there is none. Who knows the schema has to use it; of another agent the JSON object counts."""
    result, call = recorder.state.result, recorder.state.call
    if result.subtype == "error_max_structured_output_retries":
        why = "; ".join(result.errors)[:200]
        return None, f"Claude could not give its answer in the form that was asked for: {why}"
    if outcome.kind == Kind.SKIPPED:
        return None, "it was skipped"
    if outcome.kind not in FINE or result.structured is not None:
        return result.structured, ""
    if outcome.kind == Kind.MAX_TURNS:
        return None, "Claude ran into its turn limit (`claude.max_turns`) before it answered"
    knows = call is None or call.by_schema
    document = None if knows else foreign_json.decode_written(result.text.encode("utf-8", "replace"))
    if isinstance(document, dict) and not foreign_json.is_deep(document):
        return document, ""
    return None, "Claude ended without giving its answer in the form that was asked for"


def look_at_project(supervisor: Supervisor) -> ProjectState:
    """The project now, without our own files and those that our output goes to, which change all the time, but with the
    instructions."""
    spec, layout = supervisor.spec, supervisor.spec.layout
    left_out = [*layout.own_folders(), spec.report, *processes.own_output_files(layout.root)]
    watched = [layout.instructions]
    scratch, environ, filters = layout.scratch(spec.run), spec.own_environ, spec.sandbox is None
    # Large projects take a while, and a user who steers should not have to wait.
    return supervisor.meanwhile(lambda: project_state.look(layout.root, left_out, watched, scratch, environ, filters))


def make_one_off_call(supervisor: Supervisor) -> None:
    """Write the instructions, or grade them: from `OneOffCallStarted` to `OneOffCallFinished`. The command that asked
    for it judges the result."""
    spec, recorder = supervisor.spec, supervisor.recorder
    began, purpose = recorder.now(), spec.request.purpose
    grades = purpose == Purpose.VALIDATE
    question = SchemaQuestion(
        spec.texts.grading if grades else lambda: spec.texts.one_off(purpose, spec.request.prompt_values),
        validation.schema() if grades else "",
        purpose,
        events.OneOffCallStarted(purpose),
    )
    changed: tuple[str, ...] = ()
    if grades:  # Claude is only to look
        before = look_at_project(supervisor)
        answer = ask(supervisor, question)
        changed = look_at_project(supervisor).changes_since(before)
    else:
        answer = SchemaAnswer(*_call(supervisor, question, purpose))
    spent = recorder.state.spending
    recorder.record(
        events.OneOffCallFinished(
            purpose,
            answer.outcome,
            recorder.state.result.text,
            recorder.now() - began,
            spent.cost_usd,
            tokens=spent.tokens,
            cost_is_lower_bound=spent.at_least,
            structured=answer.document,
            changed=changed,
            trouble=answer.trouble,
        )
    )
