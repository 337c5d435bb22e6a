"""`history`: a row for every call of an iteration, and sums that count nothing twice and nothing too little."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from freezegun import freeze_time
from msgspec.structs import replace

from claude_iterate.core.events import (
    AssistantText,
    Carried,
    Changes,
    Event,
    IterationFinished,
    IterationStarted,
    OneOffCallFinished,
    Outcome,
    Rebooted,
    ResultReported,
    Resumed,
    ReviewFinished,
    RunFinished,
    SessionOpened,
    TestCounts,
    Tokens,
    VerificationFinished,
    VerificationStarted,
    WaitEnded,
    WaitStarted,
    WorkMeasured,
)
from claude_iterate.core.events.enums import Kind, Purpose, Reboot, Why
from claude_iterate.core.reports.status import Status
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project
from tests.cli import journals
from tests.cli.conftest import Type
from tests.cli.journals import beginning

BEGAN = 1_767_225_600.0  # 2026-01-01T00:00:00Z
FIRST, SECOND, THIRD = (f"00000{number}-20260101-000000-aaaaaa" for number in (1, 2, 3))


@pytest.fixture
def layout(project: Project) -> Layout:
    return project.create("w")


def write(layout: Layout, run: str, *events: Event) -> None:
    journals.write(layout, run, events)


def done(number: int, kind: Kind = Kind.OK, cost: float = 0.5, completed: int = 0) -> IterationFinished:
    status = Status(completed == 4, completed, 4) if completed else None
    outcome = Outcome(kind, "" if kind == Kind.OK else f"it was {kind}")
    return IterationFinished(
        number, outcome, status, duration=2.0, cost_usd=cost, tokens=Tokens(10, 20, 30_000, 4_000_000), turns=3, tools=2
    )


def test_every_iteration_has_its_row(typed: Type, layout: Layout) -> None:
    """Time, money, tokens by kind, turns, tools, progress, outcome; the last line sums them up."""
    events: list[Event] = [
        beginning(FIRST),
        IterationStarted(1),
        AssistantText("x"),
        done(1, completed=2),
        IterationStarted(2),
        done(2, completed=4),
    ]
    write(layout, FIRST, *events, RunFinished("completed"))
    answer = typed("history", "w", "--wide")
    head, first, second, total = answer.out.splitlines()
    words = "RUN # BEGAN TOOK COST IN OUT CACHE READ CACHE WRITE TURNS TOOLS PROGRESS CLAIM OUTCOME"
    assert " ".join(head.split()) == words
    began = datetime.fromtimestamp(BEGAN + 2, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    assert " ".join(first.split()) == f"1 1 {began} 2.0s $0.50 10 20 30.0k 4.0M 3 2 2/4 ok"
    assert second.endswith("4/4       done   ok")
    assert " ".join(total.split()) == "total 4.0s $1.00 20 40 60.0k 8.0M 6 4 2 iterations"
    document = typed("history", "w", "--json").document
    assert document["total"]["tokens"] == {"input": 20, "output": 40, "cacheRead": 60_000, "cacheCreation": 8_000_000}
    assert document["runs"][0]["iterations"][1]["progress"] == {"completed": 4, "total": 4}


def night(layout: Layout) -> None:
    """A run with measured work: a limit, two good iterations, a claim that failed, a crash, a claim that held."""
    write(
        layout,
        FIRST,
        beginning(FIRST),
        IterationStarted(1),
        done(1, Kind.USAGE_LIMIT, 0.0),
        WaitStarted(Why.USAGE_LIMIT, BEGAN + 9),
        WaitEnded(Why.USAGE_LIMIT),
        IterationStarted(1),
        done(1, completed=2),
        WorkMeasured(1, Changes(2, 5, 1, 1, how="git"), TestCounts(41, 2), ("files",)),
        IterationStarted(2),
        Rebooted(Reboot.USER, "s"),
        done(2, completed=4),
        WorkMeasured(2, Changes(how="git"), TestCounts(40, 2, 1)),
        VerificationStarted(1),
        VerificationFinished(1, False, "red"),
        IterationStarted(3),
        done(3, Kind.CRASH),
        IterationStarted(4),
        done(4, completed=4),
        WorkMeasured(4, Changes(0, 1, commits=2, how="git"), TestCounts(43), ("files", "tests")),
        VerificationStarted(2),
        VerificationFinished(2, True),
        RunFinished("completed"),
    )


def column(lines: list[str], name: str, following: str) -> list[str]:
    """The cells of a column that stands at the left of its width, without the sum."""
    begins, ends = lines[0].index(name), lines[0].index(following)
    return [line[begins:ends].strip() for line in lines[1:-1]]


def test_measured_work_stands_beside_what_claude_says(typed: Type, layout: Layout) -> None:
    """Files, commits and tests as we saw them; progress and claims as Claude reports them; within 80 columns."""
    night(layout)
    lines = typed("history", "w").out.splitlines()
    assert max(map(len, lines)) <= 80
    assert column(lines, "FILES", "COMMITS") == ["", "+2 ~5 -1", "none", "", "~1"]
    assert column(lines, "COMMITS", "TESTS") == ["", "1", "0", "", "2"]
    assert column(lines, "PROGRESS", "CLAIM") == ["", "2/4", "4/4", "", "4/4"]
    assert column(lines, "CLAIM", "OUTCOME") == ["", "", "failed", "", "held"]
    assert [line.split()[-1] for line in lines[1:-1]] == ["limit", "ok", "ok", "crash", "ok"]
    assert "+2 ~6 -1        3" in lines[-1]
    assert "41/43" in lines[2]
    assert "40/43" in lines[3]


def test_the_totals(typed: Type, layout: Layout) -> None:
    """By outcome, with retries, reboots, waits, work, the longest and the mean; the same in `show` and in JSON."""
    night(layout)
    text = typed("history", "w", "--totals").out
    told = {name: value.strip() for name, _, value in (line.partition(":") for line in text.splitlines())}
    assert told == {
        "Iterations": "4 (3 ok, 1 usage limit, 1 crash)",
        "Done again": "1",
        "Fresh sessions": "1",
        "Waits": "1 (1.0s)",
        "Files": "+2 ~6 -1",
        "Commits": "3",
        "Tests": "43/43",
        "Progress": "in 2 of 3 iterations",
        "Longest": "2.0s",
        "Mean": "2.0s",
        "Claims": "2, 1 proven",
        "Time": "10s",
        "Cost": "$2.00",
    }
    total = typed("history", "w", "--json").document["total"]
    assert total["outcomes"] == {"usage_limit": 1, "ok": 3, "crash": 1}
    assert (total["reboots"], total["waits"], total["waited"], total["commits"]) == (1, 1, 1.0, 3)
    assert total["files"] == {"created": 2, "modified": 6, "deleted": 1}
    assert (total["longest"], total["mean"]) == (2.0, 2.0)
    assert typed("show", "w", "--json").document["lastRun"]["totals"] == total
    assert "Files: +2 ~6 -1 · Commits: 3 · Tests: 43/43" in typed("show", "w").out


def test_some_rows_only(typed: Type, layout: Layout) -> None:
    """The last ones, those of an outcome, all failures; the sums are those of the rows. Nothing found is said."""
    night(layout)

    def numbers(*options: str) -> list[str]:
        found = typed("history", "w", "--json", *options).document["runs"]
        return [f"{row['number']}.{row['attempt']}" for run in found for row in run["iterations"]]

    assert numbers("--last", "2") == ["3.1", "4.1"]
    assert numbers("--last", "99") == ["1.1", "1.2", "2.1", "3.1", "4.1"]
    assert numbers("--only", "failed") == ["3.1"]
    assert numbers("--only", "ok", "--last", "2") == ["2.1", "4.1"]
    document = typed("history", "w", "--only", "crash", "--json").document
    assert (document["total"]["iterations"], document["total"]["costUsd"]) == (1, 0.5)
    assert "No iteration is denied." in typed("history", "w", "--only", "denied").err
    assert typed("history", "w", "--last", "0").code == 2
    assert typed("history", "w", "--only", "nonsense").code == 2


@freeze_time("2026-11-17 12:00:00")
def test_the_table_fits_a_terminal(typed: Type, layout: Layout) -> None:
    """80 columns, whatever the figures; --wide has all that there is."""
    run = "000999-20260101-000000-aaaaaa"
    events: list[Event] = [beginning(run, dry_run=False)]
    for number in (1, 2, 99):
        limited = IterationFinished(
            number, Outcome(Kind.USAGE_LIMIT), Status(False, 100, 123), duration=3599.0, cost_usd=999.99, tools=9999
        )
        events += [IterationStarted(number), limited, IterationStarted(number), limited]
    write(layout, run, *events)
    lines = typed("history", "w").out.splitlines()
    assert lines[0].split() == ["RUN", "#", "BEGAN", "TOOK", "COST", "PROGRESS", "OUTCOME"]
    assert "usage limit, done again" in lines[1]
    assert max(map(len, lines)) <= 80
    assert "CACHE WRITE" in typed("history", "w", "--wide").out


def test_what_was_done_again_is_shown_as_such(typed: Type, layout: Layout) -> None:
    """A limit keeps the number; its money counts, the iteration does not."""
    limited, again = done(1, Kind.USAGE_LIMIT, 0.25), done(1, completed=1)
    write(layout, FIRST, beginning(FIRST), IterationStarted(1), limited, IterationStarted(1), again)
    lines = typed("history", "w").out.splitlines()
    assert lines[1].endswith("usage limit, done again")
    assert " 1.2 " in lines[2]
    assert lines[3].endswith("1 iteration, 1 done again")
    assert typed("history", "w", "--json").document["total"]["costUsd"] == 0.75


def test_a_killed_run_and_the_one_that_went_on_are_one_story(typed: Type, layout: Layout) -> None:
    """The cut-off call is a row with what it had reported; what the second run took over is not counted twice."""
    result = ResultReported("success", cost_usd=0.125, tokens=Tokens(1, 1, 1, 1), turns=1)
    write(layout, FIRST, beginning(FIRST), IterationStarted(1), done(1), IterationStarted(2), result)
    resumed = Resumed(FIRST, iterations=1, cost_usd=0.625, tokens=Tokens(11, 21, 30_001, 4_000_001))
    write(layout, SECOND, beginning(SECOND, resumed=resumed), IterationStarted(2), done(2), RunFinished("completed"))
    document = typed("history", "w", "--json").document
    rows = [row for run in document["runs"] for row in run["iterations"]]
    assert [(row["run"], row["number"], row["outcome"]) for row in rows] == [
        (FIRST, 1, "ok"),
        (FIRST, 2, "unfinished"),
        (SECOND, 2, "ok"),
    ]
    assert (document["total"]["iterations"], document["total"]["costUsd"]) == (2, 1.125)
    lines = typed("history", "w").out.splitlines()
    assert ["s+ " in line for line in lines[1:4]] == [False, True, False]  # its time is known to its last sign
    shown = typed("show", "w", "--json").document
    assert shown["lastRun"]["costUsd"] == 1.125
    assert shown["lastRun"]["tokens"] == document["total"]["tokens"]


def test_a_cost_that_is_not_known_is_not_called_nothing(typed: Type, layout: Layout) -> None:
    """A call that was ended after its session opened cost something; one that never began cost nothing."""
    opened = SessionOpened("s")
    told = ResultReported("success", cost_usd=0.5)
    cut = replace(done(1, Kind.INTERRUPTED, 0.0), cost_is_lower_bound=True)
    never = done(3, Kind.CONFIG, 0.0)
    first = (IterationStarted(1), opened, cut)
    write(
        layout, FIRST, beginning(FIRST), *first, IterationStarted(2), opened, told, done(2), IterationStarted(3), never
    )
    answer = typed("history", "w")
    assert [line.split("2.0s")[1].split()[0] for line in answer.out.splitlines()[1:4]] == ["not", "$0.50", "$0.00"]
    assert "1 call without a reported cost" in answer.err
    document = typed("history", "w", "--json").document
    assert [row["costUsd"] for row in document["runs"][0]["iterations"]] == [None, 0.5, 0.0]
    assert (document["total"]["costUsd"], document["total"]["callsWithoutCost"]) == (0.5, 1)


def test_all_runs_add_up_to_what_show_tells(typed: Type, layout: Layout) -> None:
    """Reviews and setup cost money too; a dry run does not."""
    write(
        layout,
        FIRST,
        beginning(FIRST, purpose="setup"),
        OneOffCallFinished(Purpose.SETUP, Outcome(Kind.OK), cost_usd=0.25),
    )
    carried = Carried(0, 0.25, 1)
    write(layout, SECOND, beginning(SECOND, dry_run=True, carried=carried), IterationStarted(1), done(1, cost=9.0))
    review = ReviewFinished("verified", cost_usd=1.0)
    write(layout, THIRD, beginning(THIRD, carried=carried), IterationStarted(1), done(1, completed=4), review)
    answer = typed("history", "w", "--all")
    assert "Reviews and other calls: $1.25; in all $1.75" in answer.out
    assert typed("history", "w", "--all", "--json").document["total"]["costUsd"] == 1.75
    assert typed("show", "w", "--json").document["counters"]["costUsd"] == 1.75
    assert [line.split()[:3] for line in answer.out.splitlines() if "dry run" in line] == [["2", "dry", "run"]]


def test_a_dry_run_is_one_row_that_counts_nowhere(typed: Type, layout: Layout) -> None:
    """After the last real run, and alone; its iterations are shown where it is asked for. What it says of money, as
    journals of earlier versions do, is made up."""
    begun = beginning(SECOND, dry_run=True)
    calls = (IterationStarted(1), done(1, cost=9.0), IterationStarted(2), done(2, cost=9.0))
    write(layout, SECOND, begun, *calls, RunFinished("completed"))
    alone = typed("history", "w")
    assert [line.split()[:3] for line in alone.out.splitlines()[1:]] == [["2", "dry", "run"]]
    assert ("completed" in alone.out, "$9" in alone.out, "not part of the sums" in alone.err) == (True, False, True)
    write(layout, FIRST, beginning(FIRST), IterationStarted(1), done(1, completed=4), RunFinished("completed"))
    both = typed("history", "w", "--json").document
    assert [(run["id"], run["dryRun"]) for run in both["runs"]] == [(FIRST, False), (SECOND, True)]
    assert (both["total"]["costUsd"], both["total"]["iterations"], both["total"]["tokens"]["input"]) == (0.5, 1, 10)
    assert [row["costUsd"] for row in both["runs"][1]["iterations"]] == [0.0, 0.0]
    whole = typed("history", "w", "--run", "2")
    assert [line.split()[:2] for line in whole.out.splitlines()[1:]] == [["2", "1"], ["2", "2"]]


def test_an_iteration_without_a_report_is_told_as_such(typed: Type, layout: Layout) -> None:
    """As the run told it; the outcome of the call stays what it is for programs."""
    write(layout, FIRST, beginning(FIRST), IterationStarted(1), done(1), IterationStarted(2), done(2, completed=3))
    rows = typed("history", "w").out.splitlines()[1:3]
    assert [row.rstrip().rpartition("  ")[2] for row in rows] == ["no report", "ok"]
    (told,) = typed("history", "w", "--json").document["runs"]
    assert [row["outcome"] for row in told["iterations"]] == ["ok", "ok"]


def test_nothing_yet_is_said_kindly(typed: Type, layout: Layout) -> None:
    """Exit 0 and what to do; in JSON an empty list. A torn journal, or one of a one-off call alone, is the same."""
    layout.journal(FIRST).parent.mkdir(parents=True)
    layout.journal(FIRST).write_text('{"seq":1,"at":1')
    write(layout, SECOND, beginning(SECOND, purpose="setup"), OneOffCallFinished(Purpose.SETUP, Outcome(Kind.OK)))
    answer = typed("history", "w")
    assert (answer.code, answer.out) == (0, "")
    assert "claude-iterate run w" in answer.err
    assert typed("history", "w", "--json").document["runs"] == []
    assert typed("history", "w", "--all").code == 0


@pytest.mark.parametrize("words", [["--run", "9"], ["--run", "1", "--all"]])
def test_a_run_that_is_not_there(typed: Type, layout: Layout, words: list[str]) -> None:
    """A usage error that says where to look, or what contradicts what."""
    answer = typed("history", "w", *words)
    assert (answer.code, answer.out) == (2, "")


def test_a_journal_that_goes_on_with_itself_ends(typed: Type, layout: Layout) -> None:
    """The user copied files about; the command comes back."""
    write(layout, FIRST, beginning(FIRST, resumed=Resumed(SECOND)), IterationStarted(1), done(1))
    write(layout, SECOND, beginning(SECOND, resumed=Resumed(SECOND)), IterationStarted(1), done(1))
    assert [run["id"] for run in typed("history", "w", "--json").document["runs"]] == [SECOND]
