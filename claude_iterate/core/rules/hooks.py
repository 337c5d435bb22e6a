"""Hooks: when one is due, what its exit code means, when it ends a run; and what a hook receives.

What it receives is one table, from which its variables, the object on its standard input and the reference page are
made."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec

from claude_iterate.core.events import HookFinished, IterationFinished, Outcome
from claude_iterate.core.events.enums import Cause, Kind, Meaning, Point
from claude_iterate.core.formats import plural
from claude_iterate.core.rules.facts import Facts
from claude_iterate.core.rules.plan import FILE
from claude_iterate.core.rules.verdicts import Finish, RunHook, Verdict
from claude_iterate.core.settings.declared import HookSettings
from claude_iterate.core.settings.modes import MODES, most_unmoved
from claude_iterate.core.state.run_state import RunState

MOST_SKIPS = 10
"""Iterations in a row that hooks may skip where `stop.no_progress` is 0. A hook that always skips must not keep a run
busy for good."""


def meaning(point: Point, code: int | None, cut: str, settings: HookSettings) -> Meaning:
    """What the exit code of a hook means: 0 continue, 1 skip (only in `next_iteration`), 2 abort; anything else is a
    failure, or with `hooks.fail_on_error` an abort. `finished` changes nothing, nor does a hook that was stopped."""
    if cut == Cause.STOPPED:
        return Meaning.STOPPED
    if code == 0:
        return Meaning.GO_ON
    if code == 1 and point == Point.NEXT_ITERATION:
        return Meaning.SKIP
    aborts = point != Point.FINISHED and (code == 2 or settings.fail_on_error)
    return Meaning.ABORT if aborts else Meaning.FAILED


def describe_end(hook: HookFinished) -> str:
    """How a hook ended, for people."""
    if hook.problem:
        return f"was not run: {hook.problem}"
    if hook.code is not None:
        return f"ended with exit code {hook.code}"
    return "did not end in time" if hook.cut == Cause.TIMEOUT else "was stopped"


def iteration_finished_is_due(state: RunState, facts: Facts) -> Verdict | None:
    """An iteration is over and the hook `iteration_finished` has not run for it: run it."""
    owed = state.hooks.hook_owed
    return RunHook(Point.ITERATION_FINISHED, owed) if owed and Point.ITERATION_FINISHED in state.run.hooks else None


def hook_aborts(state: RunState, facts: Facts) -> Verdict | None:
    """A hook exited with 2, or failed while `hooks.fail_on_error` is on: **hook_abort**. So do
    `stop.no_progress` iterations in a row that a hook skipped (ten, if that is 0)."""
    hook = state.hooks.last_hook
    if hook is not None and hook.means == Meaning.ABORT:
        advice = f"What it printed is in the log: {facts.command_line.about('logs')}"
        said = hook.output.strip().rpartition("\n")[2]
        return Finish("hook_abort", f"{hook.path} {describe_end(hook)}{': ' + said if said else ''}", advice)
    if state.hooks.hook_skips >= (most_unmoved(facts.settings, facts.mode.stagnates) or MOST_SKIPS):
        skipped = f"next_iteration skipped {plural(state.hooks.hook_skips, 'iteration')} in a row"
        return Finish("hook_abort", skipped, "Exit code 1 of this hook skips an iteration: check whether it has to.")
    return None


def iteration_is_skipped(state: RunState, facts: Facts) -> Verdict | None:
    """The hook `next_iteration` exited with 1: the iteration's number is used up, and Claude is not called."""
    hook, number, session = state.hooks.last_hook, state.iterations + 1, state.session
    if hook is None or (hook.means, hook.number) != (Meaning.SKIP, number):
        return None
    outcome = Outcome(Kind.SKIPPED, f"skipped by the hook {hook.path}", called=False)
    return IterationFinished(number, outcome, session=session.id, context=session.context)


def started_is_due(state: RunState, facts: Facts) -> Verdict | None:
    """The run has begun and the hook `started` has not run: run it."""
    due = Point.STARTED in state.run.hooks and not state.hooks.hooks_begun
    return RunHook(Point.STARTED, 0) if due else None


def next_iteration_is_due(state: RunState, facts: Facts) -> Verdict | None:
    """An iteration is about to begin and the hook `next_iteration` has not run for it: run it."""
    number = state.iterations + 1
    due = Point.NEXT_ITERATION in state.run.hooks and state.hooks.hook_prepared < number
    return RunHook(Point.NEXT_ITERATION, number) if due else None


PREFIX = "CLAUDE_ITERATE_HOOK_"
"""Not `CLAUDE_ITERATE_`: a hook that calls claude-iterate would inherit a setting."""
FORMAT = 1


class Situation(msgspec.Struct, frozen=True):
    """Where the run is when a hook is called. `reason` and `cause` are known at the end only; `again`: the hook was
    started before and cut off by a kill; `test`: `hook test` calls it."""

    state: RunState
    point: Point
    number: int
    project: str
    workspace: str
    elapsed: float = 0.0
    reason: str = ""
    cause: str = ""
    again: bool = False
    test: bool = False


class Fact(msgspec.Struct, frozen=True):
    """A row: the variable after the prefix, what it says, and its value. In JSON it is called the same in camelCase."""

    name: str
    sentence: str
    value: Callable[[Situation], Any]

    @property
    def key(self) -> str:
        """Its name in JSON."""
        first, *rest = self.name.lower().split("_")
        return first + "".join(word.capitalize() for word in rest)


def _run(field: str) -> Callable[[Situation], Any]:
    return lambda here: getattr(here.state.run, field)


def _last(field: str) -> Callable[[Situation], Any]:
    return lambda here: getattr(here.state.hooks.hook_record, field, None)


def _outcome(here: Situation) -> str | None:
    record = here.state.hooks.hook_record
    return str(record.outcome.kind) if record is not None else None


def _plan_path(here: Situation) -> str:
    mode = MODES.get(here.state.run.mode)
    return f"{here.workspace}/{FILE}" if mode is not None and mode.reads_plan else ""


def _commits(here: Situation) -> int | None:
    """None where the last iteration was not measured."""
    measure, record = here.state.work.last_measure, here.state.hooks.hook_record
    if measure is None or record is None or measure.number != record.number or measure.changes is None:
        return None
    return measure.changes.commits


def _status(here: Situation, field: str) -> Any:
    return getattr(here.state.last_status or here.state.status, field, None)


FACTS = (
    Fact("POINT", "The point: started, next_iteration, iteration_finished or finished.", lambda here: str(here.point)),
    Fact("ITERATION", "The iteration that it is about; 0 for `started`.", lambda here: here.number),
    Fact("MAX_ITERATIONS", "Iterations that the run may take; 0: no limit.", _run("max_iterations")),
    Fact(
        "TOTAL_ITERATIONS", "Iterations of all runs of the workspace so far.", lambda here: here.state.total_iterations
    ),
    Fact("MODE", "The mode of the run.", _run("mode")),
    Fact("PROJECT_DIR", "The project's folder, which is also the current folder.", lambda here: here.project),
    Fact("WORKSPACE", "The name of the workspace.", _run("workspace")),
    Fact("WORKSPACE_DIR", "The folder of the workspace.", lambda here: here.workspace),
    Fact("RUN", "The id of the run.", _run("run")),
    Fact("RESUMED", "1 if the run continues a killed one.", lambda here: here.state.run.resumed is not None),
    Fact("LOG", "The path of the run's log.", _run("log")),
    Fact("PLAN", "The path of the plan; only in the modes plan and build.", _plan_path),
    Fact(
        "LAST_EXIT_CODE",
        "The exit code of Claude in the last iteration; empty if it was not started.",
        _last("exit_code"),
    ),
    Fact("LAST_OUTCOME", "How the last iteration ended, for example ok or timeout.", _outcome),
    Fact("LAST_DURATION", "Seconds that the last iteration took.", _last("duration")),
    Fact("LAST_COST_USD", "What the last iteration cost.", _last("cost_usd")),
    Fact("COMMITS", "Commits that the last iteration made.", _commits),
    Fact("TOTAL_COMMITS", "Commits that the run made so far.", lambda here: here.state.work.commits),
    Fact(
        "LAST_COMMIT_SHA",
        "The commit that the project is at, as it was last measured.",
        lambda here: getattr(here.state.work.snapshot, "head", None) or None,
    ),
    Fact("DURATION", "Seconds since the run began.", lambda here: round(here.elapsed, 3)),
    Fact("COST_USD", "What the run has cost so far.", lambda here: round(here.state.cost_usd, 6)),
    Fact("COMPLETE", "1 if the last report claims completion.", lambda here: bool(_status(here, "complete"))),
    Fact("SUMMARY", "The summary in the last report.", lambda here: _status(here, "summary")),
    Fact("REASON", "Why the run ends; only for `finished`.", lambda here: here.reason),
    Fact("CAUSE", "Why the run ends, in one sentence; only for `finished`.", lambda here: here.cause),
    Fact("AGAIN", "1 if this hook was started before and cut off when the run was killed.", lambda here: here.again),
    Fact("TEST", "1 if `claude-iterate hook test` calls it.", lambda here: here.test),
)


def variables(here: Situation) -> dict[str, str]:
    """All of them are set; what is not known is empty."""
    return {PREFIX + fact.name: _text(fact.value(here)) for fact in FACTS}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "1" if value else ""
    if isinstance(value, float):
        value = round(value, 6)
    return "" if value is None else str(value).replace("\0", "")


def document(here: Situation) -> bytes:
    """The same as one JSON object on a line, with the report and the whole record of the last iteration."""
    record, status = here.state.hooks.hook_record, here.state.last_status or here.state.status
    whole = {
        "format": FORMAT,
        **{fact.key: fact.value(here) for fact in FACTS},
        "status": msgspec.to_builtins(status) if status is not None else None,
        "lastIteration": msgspec.to_builtins(record) if record is not None else None,
    }
    return (json.dumps(whole) + "\n").encode()
