"""The summary of a run: what the metadata says after it, what the next run takes over, what a reset forgets."""

from __future__ import annotations

import json

import pytest

from claude_iterate.core.events import (
    Carried,
    Entry,
    Event,
    IterationFinished,
    IterationStarted,
    Outcome,
    RunFinished,
    RunStarted,
)
from claude_iterate.core.events.enums import Kind, Reason
from claude_iterate.core.reports.status import Status
from claude_iterate.core.state.fold import fold
from claude_iterate.core.state.run_state import RunState
from claude_iterate.errors import WorkspaceProblem
from claude_iterate.views.workspace_view import listing, workspace_view
from claude_iterate.workspace import metadata_updates
from claude_iterate.workspace.inheritance import inherit
from claude_iterate.workspace.journal_writer import JournalWriter
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project
from claude_iterate.workspace.run_folder import run_lock
from claude_iterate.workspace.run_summary import RunSummary, summarise

RUN = "20260101-000000-aaaaaa"
OTHER = "20260101-000001-bbbbbb"


def played(
    reason: Reason | None, iterations: int = 2, dry_run: bool = False, carried: Carried | None = None
) -> list[Entry]:
    events: list[Event] = [
        RunStarted(
            RUN, "w", "loop", 50, 1, "h", "0", ("claude",), "x.log", dry_run=dry_run, carried=carried or Carried()
        )
    ]
    for number in range(1, iterations + 1):
        done = Status(False, number, 5, worked=False if reason == "stagnation" else None)
        events += [IterationStarted(number), IterationFinished(number, Outcome(Kind.OK), done, cost_usd=0.5)]
    if reason:
        events.append(RunFinished(reason, "because"))
    return [Entry(seq, 1_767_225_600.0 + seq, float(seq), event) for seq, event in enumerate(events, 1)]


def write_journal(layout: Layout, entries: list[Entry], run: str = RUN) -> RunState:
    writer = JournalWriter(layout.journal(run), pytest.fail)
    for entry in entries:
        writer.append(entry)
    writer.close()
    return fold(entries)


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("completed", "completed"),
        ("stagnation", "completed"),
        ("agent_failed", "error"),
        ("blocked", "error"),
        ("max_iterations", "in_progress"),
        ("interrupted", "in_progress"),
        ("budget", "in_progress"),
    ],
)
def test_finished_run_in_the_originals_words(project: Project, reason: Reason, status: str) -> None:
    """The original's tools and scripts find their keys; unknown keys survive."""
    layout = project.create("w")
    layout.metadata.write_text(json.dumps(json.loads(layout.metadata.read_text()) | {"mine": 1, "setupIterations": 3}))
    metadata_updates.record_run(layout, fold(played(reason)), RUN)
    document = json.loads(layout.metadata.read_text())
    assert document["status"] == status
    assert document["mine"] == 1
    assert (document["executionIterations"], document["totalIterations"]) == (2, 5)
    assert document["lastRun"].startswith("2026-01-01T00:00:")
    assert document["run"] == {
        "id": RUN,
        "state": "finished",
        "finished": "2026-01-01T00:00:06Z",
        "reason": reason,
        "cause": summarise(RunSummary, RUN, fold(played(reason)), running=False).cause,
        "next": f"claude-iterate {'report' if reason == 'completed' else 'run'} w",
        "iterations": 2,
        "costUsd": 1.0,
        "progress": {"completed": 2, "total": 5},
        "mode": "loop",
    }


def test_next_run_is_handed_the_journals_totals(project: Project) -> None:
    """Counters come from the journal, not from a file that a crash may have left behind."""
    layout = project.create("w")
    write_journal(layout, played("completed", carried=Carried(3, 1.5, 1)))
    assert inherit(layout).carried == Carried(5, 2.5, 2)


def test_money_outlives_a_journal_that_is_lost(project: Project) -> None:
    """The next run counts it, as a lower bound; a journal that is there is believed, and has the exact sum."""
    layout = project.create("w")
    metadata_updates.record_run(layout, write_journal(layout, played("max_iterations")), RUN)
    assert (inherit(layout).carried.cost_usd, inherit(layout).carried.cost_is_lower_bound) == (1.0, False)
    layout.journal(RUN).write_bytes(b"")
    carried = inherit(layout).carried
    assert (carried.cost_usd, carried.cost_is_lower_bound, carried.iterations) == (1.0, True, 2)
    metadata_updates.record_run(layout, write_journal(layout, played("budget", carried=carried), OTHER), OTHER)
    assert (inherit(layout).carried.cost_usd, inherit(layout).carried.cost_is_lower_bound) == (2.0, True)


def test_originals_counters_are_handed_on(project: Project) -> None:
    """A workspace of the original has no journal; its counter is the start."""
    layout = project.create("w")
    layout.metadata.write_text('{"name": "w", "executionIterations": 12}')
    assert inherit(layout).carried.iterations == 12


def test_a_dry_run_is_not_summed_up(project: Project) -> None:
    """Neither when it begins nor when it is over: the metadata stay as they are, byte for byte."""
    layout = project.create("w")
    before = layout.metadata.read_bytes()
    metadata_updates.record_run(layout, fold(played(None, dry_run=True)), RUN)
    metadata_updates.record_run(layout, fold(played("completed", dry_run=True)), RUN)
    assert layout.metadata.read_bytes() == before


def test_reset_forgets_iterations_not_money(project: Project) -> None:
    """After a reset the next run counts from 0, though the journal is still there; spent is spent."""
    layout = project.create("w")
    metadata_updates.record_run(layout, write_journal(layout, played("agent_failed")), RUN)
    layout.status.write_text('{"complete": true}')
    metadata_updates.reset(layout)
    document = json.loads(layout.metadata.read_text())
    assert document["status"] == "in_progress"
    assert (document["totalIterations"], document["setupIterations"], document["executionIterations"]) == (0, 0, 0)
    assert not layout.status.exists()
    assert (layout.folder / ".status.json.bak").read_text() == '{"complete": true}'
    assert inherit(layout).carried == Carried(0, 1.0, 1)


def test_after_a_reset_list_and_show_agree(project: Project) -> None:
    """Nothing of the last run counts any more, and both say when it was."""
    layout = project.create("w")
    metadata_updates.record_run(layout, write_journal(layout, played("completed")), RUN)
    metadata_updates.reset(layout)
    (row,) = listing(project.root, project.workspaces_folder, ["w"]).workspaces
    view = workspace_view(project, layout, 0.0)
    assert (row.state, row.reset, row.progress, row.last_run) == ("new", True, None, view.last_run_at)
    assert (view.state, view.is_reset) == ("new", True)


def test_reset_is_refused_while_running(project: Project) -> None:
    """The metadata of a run under way is not touched."""
    layout = project.create("w")
    before = layout.metadata.read_bytes()
    with run_lock.hold(layout.lock, "w", RUN), pytest.raises(WorkspaceProblem, match="already running"):
        metadata_updates.reset(layout)
    assert layout.metadata.read_bytes() == before
