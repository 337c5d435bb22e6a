"""What is taken over after a kill, and what of it does not outlive that which came between."""

from __future__ import annotations

from pathlib import Path

import pytest

from claude_iterate.core.events import (
    AssistantText,
    Carried,
    Entry,
    Event,
    IterationFinished,
    IterationStarted,
    OneOffCallFinished,
    OneOffCallStarted,
    Outcome,
    ResultReported,
    RunFinished,
    RunStarted,
    VerificationFinished,
    VerificationStarted,
)
from claude_iterate.core.events.enums import Kind, Purpose
from claude_iterate.core.reports.status import Status
from claude_iterate.workspace import journal_reader, metadata_updates
from claude_iterate.workspace.inheritance import inherit
from claude_iterate.workspace.journal_writer import JournalWriter
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project


@pytest.fixture
def layout(project: Project) -> Layout:
    """A run that had done two iterations and spent money on a third when it was killed."""
    made = project.create("w")
    played(made, *done(1), *done(2), IterationStarted(3), ResultReported(cost_usd=0.25), before=Carried(7, 10.0, 4))
    return made


def done(number: int, complete: bool = False) -> list[Event]:
    status = Status(complete=complete)
    return [IterationStarted(number), IterationFinished(number, Outcome(Kind.OK), status, cost_usd=0.5)]


def played(
    layout: Layout, *events: Event, purpose: Purpose = Purpose.RUN, dry_run: bool = False, before: Carried | None = None
) -> str:
    """A further run, with what it would have been handed."""
    run = f"{len(layout.run_ids()) + 1:06d}-x"
    carried = before if before is not None else inherit(layout, purpose, dry_run).carried
    started = RunStarted(
        run, "w", "loop", 9, 1, "h", "0", ("claude",), purpose=purpose, dry_run=dry_run, carried=carried
    )
    writer = JournalWriter(layout.journal(run), pytest.fail)
    for seq, event in enumerate([started, *events], 1):
        writer.append(Entry(seq, 1_767_225_600.0 + seq, seq * 10.0, event))
    writer.close()
    return run


def verified(passed: bool = False, findings: str = "", cost: float = 0.125) -> list[Event]:
    one_off: list[Event] = [
        OneOffCallStarted(Purpose.VERIFY),
        OneOffCallFinished(Purpose.VERIFY, Outcome(Kind.OK), cost_usd=cost),
    ]
    return [*one_off, VerificationStarted(1), VerificationFinished(1, passed, findings), RunFinished("completed")]


def test_the_standing_is_that_of_the_killed_run(layout: Layout) -> None:
    """Its money comes with it, so it is not handed on as well."""
    found = inherit(layout)
    assert found.resumed is not None
    assert (found.resumed.iterations, found.resumed.cost_usd, found.resumed.elapsed) == (2, 1.25, 70.0)
    assert found.carried == Carried(7, 10.0, 4, report=Status(complete=False))


def test_what_came_between_is_counted_and_changes_nothing_else(layout: Layout) -> None:
    """Two verifications and a dry run: only their money is added, and the dry run has none."""
    before = inherit(layout).resumed
    played(layout, *verified(), purpose=Purpose.VERIFY)
    played(layout, *done(1), RunFinished("max_iterations"), dry_run=True)
    played(layout, *verified(), purpose=Purpose.VERIFY)
    found = inherit(layout)
    assert found.resumed == before
    assert found.carried == Carried(7, 10.25, 6, report=Status(complete=False))


def test_one_that_went_on_is_not_gone_on_with_again(layout: Layout) -> None:
    """The last real run decides, and it is finished."""
    played(layout, *done(3), RunFinished("max_iterations"))
    played(layout, *verified(), purpose=Purpose.VERIFY)
    assert inherit(layout).resumed is None


def test_a_reset_ends_it_also_when_something_came_after(layout: Layout) -> None:
    """Iterations are forgotten, money is not."""
    metadata_updates.reset(layout)
    played(layout, *verified(), purpose=Purpose.VERIFY)
    found = inherit(layout)
    assert (found.resumed, found.carried.iterations, found.carried.cost_usd) == (None, 0, 11.375)


@pytest.mark.parametrize(("passed", "findings"), [(False, "red"), (True, "")])
def test_the_last_proof_says_what_the_next_iteration_is_told(layout: Layout, passed: bool, findings: str) -> None:
    """Also one that a person asked for after the kill."""
    played(layout, *verified(passed, "red" if not passed else ""), purpose=Purpose.VERIFY)
    found = inherit(layout).resumed
    assert found is not None
    assert found.findings == findings


@pytest.mark.parametrize(("purpose", "kept"), [(Purpose.VERIFY, True), (Purpose.EDIT, False), (Purpose.SETUP, False)])
def test_a_claim_does_not_outlive_the_instructions_it_was_made_for(
    project: Project, purpose: Purpose, kept: bool
) -> None:
    """Rewritten instructions want something else; a claim that was only judged may be judged again."""
    layout = project.create("claimed")
    played(layout, *done(1, complete=True))
    played(
        layout,
        OneOffCallStarted(purpose),
        OneOffCallFinished(purpose, Outcome(Kind.OK)),
        RunFinished("completed"),
        purpose=purpose,
    )
    found = inherit(layout).resumed
    assert found is not None
    assert ((found.last_status is not None), found.iterations) == (kept, 1)


def test_a_dry_takes_nothing_over_from_a_real_run(layout: Layout) -> None:
    """Nor a real run, or another dry run, from a dry run: the killed real run goes on with the next real one."""
    assert inherit(layout, dry_run=True).resumed is None
    played(layout, *done(1), dry_run=True)
    resumed = inherit(layout).resumed
    assert (resumed.run if resumed else "", inherit(layout, dry_run=True).resumed) == ("000001-x", None)


@pytest.mark.parametrize("torn", [b"", b'{"seq":9,"at":17', b"\0" * 4096, b'\n[]\nnull\n{"elapsed":"x"}\n'])
def test_the_age_is_that_of_the_last_entry(layout: Layout, torn: bytes) -> None:
    """Also when that is one which decides nothing, and when a crash left something behind it."""
    run = played(layout, AssistantText("x" * 100_000), *[AssistantText("y")] * 3)
    with layout.journal(run).open("ab") as file:
        file.write(torn)
    assert journal_reader.age(layout.journal(run)) == 50.0


def test_a_journal_without_entries_has_no_age(tmp_path: Path) -> None:
    """Nor a beginning."""
    path = tmp_path / "events.ndjson"
    assert journal_reader.beginning(path) is None
    path.write_bytes(b"\0\0\n")
    assert (journal_reader.age(path), journal_reader.beginning(path)) == (0.0, None)
