"""What a hook gets to know: one table, from which its variables, the object on its standard input and the reference
page are made."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec

from claude_iterate.core.events.enums import Point
from claude_iterate.core.rules.plans.plan_rules import FILE
from claude_iterate.core.settings.modes import MODES
from claude_iterate.core.state.run_state import RunState

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


def _started(field: str, default: Any) -> Callable[[Situation], Any]:
    return lambda here: getattr(here.state.started, field) if here.state.started is not None else default


def _last(field: str) -> Callable[[Situation], Any]:
    def value(here: Situation) -> Any:
        record = here.state.hooks.hook_record
        return getattr(record, field) if record is not None else None

    return value


def _outcome(here: Situation) -> str | None:
    record = here.state.hooks.hook_record
    return str(record.outcome.kind) if record is not None else None


def _plan_path(here: Situation) -> str:
    mode = MODES.get(here.state.started.mode) if here.state.started is not None else None
    return f"{here.workspace}/{FILE}" if mode is not None and mode.reads_plan else ""


FACTS = (
    Fact("POINT", "The point: started, next_iteration, iteration_finished or finished.", lambda here: str(here.point)),
    Fact("ITERATION", "The iteration that it is about; 0 for `started`.", lambda here: here.number),
    Fact("MAX_ITERATIONS", "Iterations that the run may take; 0: no limit.", _started("max_iterations", 0)),
    Fact(
        "TOTAL_ITERATIONS", "Iterations of all runs of the workspace so far.", lambda here: here.state.total_iterations
    ),
    Fact("MODE", "The mode of the run.", _started("mode", "")),
    Fact("PROJECT_DIR", "The project's folder, which is also the current folder.", lambda here: here.project),
    Fact("WORKSPACE", "The name of the workspace.", _started("workspace", "")),
    Fact("WORKSPACE_DIR", "The folder of the workspace.", lambda here: here.workspace),
    Fact("RUN", "The id of the run.", _started("run", "")),
    Fact("RESUMED", "1 if the run goes on where a killed one ended.", lambda here: _is_resumed(here.state)),
    Fact("LOG", "The path of the run's log.", _started("log", "")),
    Fact("PLAN", "The path of the plan; only in the modes plan and build.", _plan_path),
    Fact(
        "LAST_EXIT_CODE",
        "The exit code of Claude in the last iteration; empty if it was not started.",
        _last("exit_code"),
    ),
    Fact("LAST_OUTCOME", "How the last iteration ended, for example ok or timeout.", _outcome),
    Fact("LAST_DURATION", "Seconds that the last iteration took.", _last("duration")),
    Fact("LAST_COST_USD", "What the last iteration cost.", _last("cost_usd")),
    Fact("COMMITS", "Commits that the last iteration made.", lambda here: _commits(here.state)),
    Fact("TOTAL_COMMITS", "Commits that the run made so far.", lambda here: here.state.work.commits),
    Fact(
        "LAST_COMMIT_SHA", "The commit that the project is at, as it was last measured.", lambda here: _head(here.state)
    ),
    Fact("DURATION", "Seconds since the run began.", lambda here: round(here.elapsed, 3)),
    Fact("COST_USD", "What the run has cost so far.", lambda here: round(here.state.cost_usd, 6)),
    Fact("COMPLETE", "1 if the last report claims completion.", lambda here: _claims(here.state)),
    Fact("SUMMARY", "The summary in the last report.", lambda here: _status(here.state, "summary")),
    Fact("REASON", "Why the run ends; only for `finished`.", lambda here: here.reason),
    Fact("CAUSE", "Why the run ends, in one sentence; only for `finished`.", lambda here: here.cause),
    Fact("AGAIN", "1 if this hook was started before and cut off when the run was killed.", lambda here: here.again),
    Fact("TEST", "1 if `claude-iterate hook test` calls it.", lambda here: here.test),
)


def _is_resumed(state: RunState) -> bool:
    return state.started is not None and state.started.resumed is not None


def _commits(state: RunState) -> int | None:
    """None where the last iteration was not measured."""
    measure, record = state.work.last_measure, state.hooks.hook_record
    if measure is None or record is None or measure.number != record.number or measure.changes is None:
        return None
    return measure.changes.commits


def _head(state: RunState) -> str | None:
    return (state.work.snapshot.head if state.work.snapshot is not None else "") or None


def _claims(state: RunState) -> bool:
    return bool(_status(state, "complete"))


def _status(state: RunState, field: str) -> Any:
    status = state.last_status or state.status
    return getattr(status, field) if status is not None else None


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
