"""What a run advised is not repeated once a later command has settled it."""

from __future__ import annotations

import json

import pytest

from claude_iterate.core.events import (
    Event,
    IterationFinished,
    IterationStarted,
    Outcome,
    RunFinished,
    RunStarted,
    VerificationFinished,
    VerificationStarted,
)
from claude_iterate.core.events.enums import Kind, Purpose
from claude_iterate.core.reports.status import Status
from claude_iterate.core.state.fold import fold
from claude_iterate.workspace import metadata_updates
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project
from tests.cli.conftest import Type
from tests.cli.journals import write

FIRST, SECOND = "000001-20260101-000000-aaaaaa", "000002-20260101-000001-bbbbbb"
OPEN = "Claude reported completion; it was not checked: claude-iterate verify w"


@pytest.fixture
def layout(project: Project) -> Layout:
    """A workspace with a claim that Ctrl-C left unproven."""
    layout = project.create("w")
    layout.instructions.write_text("- one\n")
    ended = RunFinished("interrupted", "SIGINT", about_claim=OPEN, next="claude-iterate run w")
    record(layout, FIRST, IterationStarted(1), IterationFinished(1, Outcome(Kind.OK), Status(True)), ended)
    return layout


def record(layout: Layout, run: str, *events: Event, purpose: str = "run") -> None:
    started = RunStarted(run, "w", "loop", 50, 1, "h", "0", ("claude",), purpose=Purpose(purpose))
    metadata_updates.record_run(layout, fold(write(layout, run, [started, *events])), run, running=False)


def test_an_open_claim_is_told(typed: Type, layout: Layout) -> None:
    """As long as nothing has settled it."""
    assert OPEN in typed("show", "w").out


def test_a_good_verify_settles_it(typed: Type, layout: Layout) -> None:
    """Nothing is left to verify, in words and in JSON; also where git put back a summary from before it."""
    before = layout.metadata.read_bytes()
    proof: list[Event] = [VerificationStarted(1, 1), VerificationFinished(1, True, known_by="checks")]
    record(layout, SECOND, *proof, RunFinished("completed", "verified", known_by="checks"), purpose="verify")
    for document in (layout.metadata.read_bytes(), before):
        layout.metadata.write_bytes(document)
        shown = typed("show", "w").out
        assert "Status: completed" in shown
        assert "verify w" not in shown
        assert json.loads(typed("show", "w", "--json").out)["lastRun"]["next"] == ""


def test_a_failed_verify_has_its_own_next_step(typed: Type, layout: Layout) -> None:
    """And the claim is no longer called unchecked."""
    proof: list[Event] = [VerificationStarted(1, 1), VerificationFinished(1, False, "red")]
    ended = RunFinished("verification_failed", "red", next="claude-iterate run w -m 5")
    record(layout, SECOND, *proof, ended, purpose="verify")
    shown = typed("show", "w").out
    assert (OPEN in shown, "Next: claude-iterate run w -m 5" in shown) == (False, True)


def test_a_reset_settles_it(typed: Type, layout: Layout) -> None:
    """It begins again."""
    assert typed("reset", "w").code == 0
    shown = typed("show", "w").out
    assert (OPEN in shown, "  Next:" in shown) == (False, False)
