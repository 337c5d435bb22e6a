"""What commands print with --json is what the schema in docs/reference says."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import convert, json

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


def fits(document: dict[str, Any], command: str) -> bool:
    """The docs/reference has the schema of the same form. Every key is there, and none beside them."""
    assert document.pop("format") == 1
    assert json.decode(json.encode(convert(document, FORMS[command]))) == document
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
    journal(layout, IterationStarted(1), done, WaitStarted(Why.USAGE_LIMIT, 1e12))
    with run_lock.hold(layout.lock, "w", RUN):
        assert fits(typed(*LOOKS[command], "--json").document, command)
    layout.journal(RUN).unlink()
    journal(layout, IterationStarted(1), done, RunFinished("completed"))
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
        journal(layout, IterationStarted(1), done, *waits, RunFinished("max_iterations"))
        said = output.view_document(ended_run(layout, RUN, 0))
        assert (said["last"]["summary"], said["last"]["session"], said["progress"]["completed"]) == ("half", "s-1", 1)
        assert said["usageLimit"] == bool(waits)
        layout.journal(RUN).unlink()
