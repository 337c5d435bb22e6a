"""The story of a run: one fold of its journal, whole or in pieces, whoever reads it."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import msgspec
import pytest

from claude_iterate.core import events
from claude_iterate.core.events import Entry, Event
from claude_iterate.core.events.enums import Kind, Reboot, Why
from claude_iterate.core.reports.status import Status
from claude_iterate.core.state.condition import Progress, condition
from claude_iterate.views import history_view, run_view
from claude_iterate.views.history_view import history_of, settle_claims
from claude_iterate.views.iteration_rows import FileCounts, TestsView
from claude_iterate.views.story import RECENT, RunRecords, Story
from claude_iterate.workspace.journal_reader import JournalFollower
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.run_summary import RunSummary, summarise

RUN = "000001-20261117-000000-abcdef"
STARTED = events.RunStarted(RUN, "w", "loop", 9, 1, "h", "0", ("claude",))
OK = events.Outcome(Kind.OK)
NIGHT: tuple[Event, ...] = (
    STARTED,
    events.IterationStarted(1),
    events.AgentStarted(7),
    events.SessionOpened("s"),
    events.AssistantText("I begin."),
    events.ToolCalled("t1", "Bash", {"command": "npm test"}),
    events.ToolResult("t1", "Bash", "boom", True),
    events.IterationFinished(1, events.Outcome(Kind.USAGE_LIMIT, "limit"), duration=3.0),
    events.WaitStarted(Why.USAGE_LIMIT, 100.0),
    events.WaitEnded(Why.USAGE_LIMIT),
    events.IterationStarted(1),
    events.AssistantText("All done.", cut=5),
    events.IterationFinished(1, OK, Status(True, 2, 2), duration=4.0, cost_usd=0.5, context=0.25),
    events.WorkMeasured(1, events.Changes(1, 2, 3, 1, how="git"), events.TestCounts(41, 2), ("commits", "files")),
    events.VerificationStarted(1, checks=1),
    events.CheckFinished("true", 1, 0.5, "red"),
    events.VerificationFinished(1, False, "tests fail"),
    events.IterationStarted(2),
    events.ToolCalled("t2", "Read", {"file_path": "/a/b.py"}),
)


def entries(*found: Event) -> list[Entry]:
    return [Entry(number, float(number), float(number), event) for number, event in enumerate(found, 1)]


def layout(tmp_path: Path) -> Layout:
    (tmp_path / "runs" / RUN).mkdir(parents=True)
    return Layout(tmp_path, tmp_path)


def lines(found: list[Entry]) -> bytes:
    return b"".join(msgspec.json.encode(entry) + b"\n" for entry in found)


def test_a_night_is_told() -> None:
    """Attempts, waits, claims with their proof, what was measured, the last words, what it is busy with."""
    story = Story(RUN, entries(*NIGHT))
    first, again, now = story.rows.every()
    assert (first.attempt, first.outcome, first.done_again) == (1, "usage_limit", True)
    assert (again.attempt, again.complete, again.claim_held, again.context) == (2, True, False, 0.25)
    assert (again.files, again.commits, again.tests) == (FileCounts(1, 2, 3), 1, TestsView(41, 2))
    assert again.moved == ("commits", "files")
    assert (now.number, now.outcome, now.tools, now.duration) == (2, "unfinished", 1, 1.0)
    assert [(wait.why, wait.duration, wait.by) for wait in story.waits] == [("usage_limit", 1.0, "time")]
    assert (story.wait_count, story.waited) == (1, 1.0)
    assert story.last_proof is not None
    assert [(check.command, check.code) for check in story.last_proof.checks] == [("true", 1)]
    assert story.said == "All done."
    assert condition(story.state, alive=True) == "running"
    assert condition(story.state, alive=False) == "killed"
    busy = story.now(21.0)
    assert (busy.iteration, busy.tool, busy.tool_duration, busy.silence) == (2, "Read b.py", 2.0, 2.0)


def test_the_last_things_are_lines() -> None:
    """One line each, with the iteration it belongs to; what says nothing has none."""
    found = {(row.event, row.iteration): row.text for row in Story(RUN, entries(*NIGHT)).recent}
    assert found["RunStarted", 0] == "Starting w (loop mode, at most 9 iterations)"
    assert found["ToolCalled", 2] == "🔧 Read b.py"
    assert found["ToolResult", 1] == "❌ Bash failed: boom"
    assert found["AssistantText", 1] == "All done."
    assert "SessionOpened" not in {event for event, _ in found}
    assert all("\n" not in line and len(line) <= 200 for line in found.values())


def test_a_moment_beyond_the_calendar_is_shown_as_it_is() -> None:
    """A journal that was damaged by hand still has a report."""
    assert [row.clock for row in Story(RUN, [Entry(1, 1e20, 0.0, STARTED)]).recent] == ["1e+20"]


def test_the_record_of_an_iteration() -> None:
    """Hashes, exit code, what was said, compactions, why a session was given up."""
    story = Story(
        RUN,
        entries(
            STARTED,
            events.IterationStarted(1, prompt_hash="p", instructions_hash="i"),
            events.Rebooted(Reboot.REDLINE, "s"),
            events.ContextCompacted("auto", 9),
            events.IterationFinished(1, OK, exit_code=3, said=12),
        ),
    )
    (row,) = story.rows.every()
    assert (row.prompt_hash, row.instructions_hash, row.exit_code, row.said) == ("p", "i", 3, 12)
    assert (row.compactions, row.rebooted, story.state.reboots) == (1, "redline", 1)


def test_what_is_not_known_is_not_zero() -> None:
    """Outside git there are no commits to count; without a measurement there is nothing at all."""
    done = (events.IterationStarted(1), events.IterationFinished(1, OK))
    (row,) = Story(RUN, entries(STARTED, *done)).rows.every()
    assert (row.files, row.commits, row.tests, row.moved) == (None, None, None, None)
    scanned = events.WorkMeasured(1, events.Changes(1, how="files"))
    (row,) = Story(RUN, entries(STARTED, *done, scanned)).rows.every()
    assert (row.files, row.commits, row.moved) == (FileCounts(1), None, ())
    (row,) = Story(RUN, entries(STARTED, *done, events.WorkMeasured(1))).rows.every()
    assert (row.files, row.moved) == (None, None)


@pytest.mark.parametrize("step", [1, 7, 100, 10_000])
def test_in_pieces_it_is_the_same_story(tmp_path: Path, step: int) -> None:
    """However the journal grows, also in the middle of a line; a line that is no entry is passed over."""
    place = layout(tmp_path)
    data = lines(entries(*NIGHT)).replace(b'{"seq":4,', b'{"torn":\n{"seq":4,', 1)
    journal, story = JournalFollower(place.journal(RUN)), Story(RUN)
    assert not list(journal.entries())
    with place.journal(RUN).open("ab") as file:
        for begins in range(0, len(data), step):
            file.write(data[begins : begins + step])
            file.flush()
            story.take_all(journal.entries())
    assert not list(journal.entries())
    whole = Story(RUN, entries(*NIGHT))
    assert story.rows.every() == whole.rows.every()
    assert story.recent == whole.recent
    assert (story.state, story.said) == (whole.state, whole.said)
    assert journal.cursor == len(data)


def test_a_journal_that_is_away_for_a_moment_is_followed_on(tmp_path: Path) -> None:
    """Claude's `git stash` takes it away, and it is put back; a shorter one is an
    older version of it, and nothing is told twice."""
    place = layout(tmp_path)
    path = place.journal(RUN)
    data = lines(entries(*NIGHT))
    path.write_bytes(data)
    journal, story = JournalFollower(place.journal(RUN)), Story(RUN)
    story.take_all(journal.entries())
    path.rename(tmp_path / "away")
    assert not list(journal.entries())
    assert len(story.rows.every()) == 3
    (tmp_path / "away").rename(path)
    assert not list(journal.entries())
    path.write_bytes(data[: data.index(b"\n") + 1])
    assert not list(journal.entries())
    path.write_bytes(data)
    assert not list(journal.entries())
    assert len(story.rows.every()) == 3


def test_a_long_journal_takes_no_more_memory_than_a_short_one(tmp_path: Path) -> None:
    """Ten times the words, the same memory; the figures are those of every entry, and the end is read whole."""
    peaks = []
    for times in (2_000, 20_000):
        place = layout(tmp_path / str(times))
        said: list[Event] = [events.AssistantText("x" * 290, cut=9) for _ in range(times)]
        head, tail = NIGHT[:4], NIGHT[4:]
        path = place.journal(RUN)
        path.write_bytes(lines(entries(*head, *said, *tail)))
        tracemalloc.start()
        story = Story(RUN, JournalFollower(path, whole=100_000).entries())
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert path.stat().st_size > times * 290
        assert [row.number for row in story.rows.every()] == [1, 1, 2]
        assert story.said == "All done."
        assert len(story.recent) <= RECENT
    assert peaks[1] < 4 * peaks[0] + 16_000_000


def test_a_wait_that_goes_on_has_lasted_until_now() -> None:
    """At any moment; once it is over, until its end."""
    waiting = Story(RUN, entries(STARTED, events.WaitStarted(Why.USAGE_LIMIT, 100.0)))
    assert [history_of(waiting, at).waited for at in (2.0, 9.5)] == [0.0, 7.5]
    waiting.take(Entry(3, 12.0, 12.0, events.RunFinished("stopped", "by command")))
    assert history_of(waiting, 99.0).waited == 10.0


def test_a_call_without_an_end_is_told_as_far_as_it_came(tmp_path: Path) -> None:
    """Its tools and its time until the last sign of life; while it is under way, until now."""
    place = layout(tmp_path)
    calls = [events.ToolCalled(str(number), "Bash", {"command": "make"}) for number in range(4)]
    found = entries(STARTED, events.IterationStarted(1), *calls)
    place.journal(RUN).write_bytes(lines(found))
    killed = history_view.run(RunRecords(place), RUN)
    assert killed is not None
    (row,) = killed.iterations
    assert (row.outcome, row.tools, row.duration) == ("unfinished", 4, 4.0)
    (row,) = history_of(Story(RUN, found), found[1].at + 60.0).iterations
    assert row.duration == 60.0
    assert run_view.run_view(place, RunRecords(place).story(RUN)).duration == 5.0


def test_the_plan_counts_where_there_is_one() -> None:
    """In rows and in the summary alike, whatever the report says."""
    build = events.RunStarted(RUN, "w", "build", 9, 1, "h", "0", ("claude",))
    worked = (events.IterationStarted(1), events.IterationFinished(1, OK, Status(False, 1, 9)))
    story = Story(RUN, entries(build, events.PlanRead(2), *worked, events.PlanRead(1, 0, 1)))
    (row,) = history_of(story).iterations
    assert row.progress == summarise(RunSummary, RUN, story.state, running=True).progress == Progress(1, 2)
    reported = Story(RUN, entries(STARTED, *worked))
    assert history_of(reported).iterations[0].progress == Progress(1, 9)


@pytest.mark.parametrize("held", [True, False])
def test_a_claim_of_a_killed_run_has_the_verdict_of_the_run_that_went_on(held: bool) -> None:
    """It judges the claim before its own first iteration; its own claims are its own."""
    claim = (events.IterationStarted(1), events.IterationFinished(1, OK, Status(True)))
    killed = Story(RUN, entries(STARTED, *claim, events.VerificationStarted(1, checks=1)))
    again = msgspec.structs.replace(STARTED, resumed=events.Resumed(RUN, iterations=1))
    verdict = (events.VerificationStarted(1, checks=1), events.VerificationFinished(1, held, ""))
    later = Story("000002", entries(again, *verdict, events.IterationStarted(2)))
    first, second = settle_claims([history_of(killed), history_of(later)])
    assert [row.claim_held for row in (*first.iterations, *second.iterations)] == [held, None]


def test_an_empty_story_has_answers() -> None:
    """A run that has not written its first entry."""
    story = Story(RUN)
    assert (story.rows.every(), story.recent, story.said, story.started) == ((), [], "", None)
    assert condition(story.state, alive=True) == "starting"
    assert story.now(5.0).silence == 0.0
