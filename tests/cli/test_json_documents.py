"""What commands print with --json is what the schema in docs/reference says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from claude_iterate.cli import output
from claude_iterate.core.events import (
    IterationFinished,
    IterationStarted,
    Outcome,
    RunFinished,
    Tokens,
    WaitEnded,
    WaitStarted,
)
from claude_iterate.core.events.enums import Kind, Why
from claude_iterate.core.reports.status import Status
from claude_iterate.views.documents import FORMS, ended_run
from claude_iterate.workspace.project import Project
from claude_iterate.workspace.run_folder import run_lock
from tests.cli.conftest import Type
from tests.cli.journals import RUN, journal

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "reference" / "json-schema.json").read_text())
TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}


def problems(value: Any, schema: dict[str, Any], place: str = "") -> list[str]:
    """Where the value differs from the schema: as much of JSON Schema as ours uses. Keys must be declared."""
    if "$ref" in schema:
        return problems(value, SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]], place)
    if "anyOf" in schema:
        found = [problems(value, one, place) for one in schema["anyOf"]]
        return [] if [] in found else found[0]
    if "enum" in schema or "const" in schema:
        return [] if value in schema.get("enum", [schema.get("const")]) else [f"{place}: {value!r}"]
    kind = schema.get("type")
    if kind == "null":
        return [] if value is None else [f"{place}: {value!r} is not null"]
    if kind is not None and (not isinstance(value, TYPES[kind]) or (kind != "boolean" and isinstance(value, bool))):
        return [f"{place}: {value!r} is not of type {kind}"]
    if isinstance(value, list):
        items = schema.get("items", {})
        return [one for index, item in enumerate(value) for one in problems(item, items, f"{place}[{index}]")]
    if "properties" not in schema:
        return []
    declared = schema["properties"]
    wrong = [f"{place}: {key} is missing" for key in schema["required"] if key not in value]
    wrong += [f"{place}: {key} is not declared" for key in value if key not in declared]
    shared = declared.keys() & value.keys()
    return wrong + [one for key in shared for one in problems(value[key], declared[key], f"{place}.{key}")]


def fits(document: Any, command: str) -> bool:
    assert problems(document, SCHEMA["$defs"][FORMS[command].__name__]) == []
    assert document["format"] == 1
    return True


LOOKS = {
    "list": ["list"],
    "show": ["show", "w"],
    "history": ["history", "w"],
    "logs --list": ["logs", "w", "--list"],
    "logs": ["logs", "w"],
    "config": ["config"],
    "config KEY": ["config", "delay"],
    "config --keys": ["config", "--keys"],
}


@pytest.mark.parametrize("command", LOOKS)
def test_what_is_looked_at_fits_the_schema(typed: Type, project: Project, command: str) -> None:
    """Of a run that is over, one that waits, and a workspace that has none or is damaged."""
    status = Status(complete=False, completed=1, total=2)
    done = IterationFinished(1, Outcome(Kind.OK), status, cost_usd=0.1, tokens=Tokens(1, 2, 3, 4))
    layout = project.create("w", instructions=b"do it", settings={"delay": 0.0})
    layout.status.write_text('{"complete": false, "progress": {"completed": 3, "total": 2}, "summary": 5}')
    project.create("damaged")
    project.layout("damaged").metadata.write_text("{")
    if command in {"list", "show", "history", "logs --list"}:
        assert fits(typed(*LOOKS[command], "--json").document, command)
    journal(layout, IterationStarted(1), done, WaitStarted(Why.USAGE_LIMIT, 1e12), running=True)
    with run_lock.hold(layout.lock, "w", RUN):
        assert fits(typed(*LOOKS[command], "--json").document, command)
    layout.journal(RUN).unlink()
    journal(layout, IterationStarted(1), done, RunFinished("completed"), running=False)
    assert fits(typed(*LOOKS[command], "--json").document, command)


def test_what_runs_fits_the_schema(called: Type, project: Project) -> None:
    """A dry run, a verification of it, and what `show` says afterwards."""
    project.create("w", instructions=b"- [ ] one\n", settings={"verification.checks": ("true",), "delay": 0.0})
    ran = called("run", "w", "--dry-run", "--json").document
    assert fits(ran, "run")
    assert (ran["workspace"], ran["exitCode"], ran["reason"], ran["state"]) == ("w", 0, "completed", "finished")
    assert (ran["last"]["complete"], ran["last"]["number"], ran["usageLimit"]) == (True, 1, False)
    assert ran["last"]["session"]
    assert fits(called("verify", "w", "--dry-run", "--json").document, "verify")
    shown = called("show", "w", "--json").document
    assert fits(shown, "show")
    assert (shown["proof"], shown["lastRun"], shown["lastDryRun"]["purpose"]) == (None, None, "verify")


def test_the_document_of_a_run_says_how_it_stands(project: Project) -> None:
    """What a program wants to know without asking further: the last report, and whether a limit held the run up."""
    layout = project.create("w", instructions=b"do it")
    status = Status(complete=False, completed=1, total=2, summary="half")
    done = IterationFinished(1, Outcome(Kind.OK), status, session="s-1")
    waited = (WaitStarted(Why.USAGE_LIMIT, 1e12), WaitEnded(Why.USAGE_LIMIT, "user"))
    for waits in ((), waited):
        journal(layout, IterationStarted(1), done, *waits, RunFinished("max_iterations"), running=False)
        said = output.view_document(ended_run(layout, RUN, 0))
        assert (said["last"]["summary"], said["last"]["session"], said["progress"]["completed"]) == ("half", "s-1", 1)
        assert said["usageLimit"] == bool(waits)
        layout.journal(RUN).unlink()


def test_a_wrong_document_does_not_fit() -> None:
    """The check itself sees a wrong type, a missing key and one that is not declared."""
    schema = SCHEMA["$defs"]["Progress"]
    assert problems({"completed": 1, "total": 2}, schema) == []
    assert len(problems({"completed": "1", "more": 2}, schema)) == 3
