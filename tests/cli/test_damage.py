"""A journal that was damaged in the middle: every view says so, and calls its sums a lower bound."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from claude_iterate.core import events
from claude_iterate.core.events import IterationFinished, IterationStarted, Outcome, RunFinished
from claude_iterate.core.events.enums import Kind, Why
from claude_iterate.core.state.run_state import Damage
from claude_iterate.views import history_view, run_view
from claude_iterate.views.night_report import night_report
from claude_iterate.views.pages.run_page import WatchedRun
from claude_iterate.views.watched_workspace import WatchedWorkspace, lines
from claude_iterate.views.workspace_view import workspace_view
from claude_iterate.workspace import journal_reader
from claude_iterate.workspace.journal_writer import JournalWriter
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project
from tests.cli.conftest import Type
from tests.cli.journals import beginning, record

RUN = "000001-20260101-000000-aaaaaa"
TOKENS = events.Tokens(5000, 500)


def night() -> list[events.Event]:
    """Three iterations, each with words that some take for two lines."""
    told: list[events.Event] = [beginning(RUN)]
    for number in (1, 2, 3):
        done = IterationFinished(number, Outcome(Kind.OK), duration=60.0, cost_usd=0.5, tokens=TOKENS)
        said = events.AssistantText("One.\u2028Two.\u0085 Three.")
        told += [IterationStarted(number), events.AgentStarted(7), said, events.AgentExited(0), done]
    return [*told, RunFinished("max_iterations", iterations=3, cost_usd=1.5)]


@pytest.fixture
def layout(project: Project) -> Layout:
    made = project.create("w", instructions=b"- one\n")
    record(made, RUN, night())
    return made


Damaged = Callable[[list[bytes]], list[bytes]]
LAST = 10
"""The line in which the second iteration ended."""
ZEROS = b"\0" * 30
DAMAGES: dict[str, tuple[int, Damaged]] = {
    "cut line": (1, lambda rows: [*rows[:LAST], rows[LAST][:70] + b"\n", *rows[LAST + 1 :]]),
    "cut line without its end": (2, lambda rows: [*rows[:LAST], rows[LAST][:70], *rows[LAST + 1 :]]),
    "zeroed block": (1, lambda rows: [*rows[:LAST], rows[LAST][:50] + ZEROS + rows[LAST][80:], *rows[LAST + 1 :]]),
    "deleted line": (1, lambda rows: [*rows[:LAST], *rows[LAST + 1 :]]),
    "swapped lines": (2, lambda rows: [*rows[:LAST], rows[LAST + 1], rows[LAST], *rows[LAST + 2 :]]),
    "repeated line": (1, lambda rows: [*rows[:LAST], rows[LAST], *rows[LAST:]]),
    "foreign JSON": (1, lambda rows: [*rows[:LAST], b'{"not": "an entry"}\n', *rows[LAST + 1 :]]),
    "an event without its fields": (
        1,
        lambda rows: [*rows[:LAST], rows[LAST].replace(b'"number":2,', b""), *rows[LAST + 1 :]],
    ),
    "truncated middle": (
        5,
        lambda rows: [*rows[: LAST - 2], rows[LAST - 2][:60] + rows[LAST + 2][20:], *rows[LAST + 3 :]],
    ),
}
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("show", "w"),
    ("history", "w"),
    ("history", "w", "--totals"),
    ("logs", "w", "--list"),
    ("replay", "w"),
    ("report", "w", "-o", "-"),
    ("report", "w", "--format", "md", "-o", "-"),
)


def damage(path: Path, change: Damaged) -> None:
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))


@pytest.mark.parametrize(("count", "change"), DAMAGES.values(), ids=DAMAGES)
def test_every_view_tells_a_damage(typed: Type, project: Project, layout: Layout, count: int, change: Damaged) -> None:
    """In one sentence, with how many lines and from when to when; what is left of iterations and cost is a lower
    bound. `list` reads no journal."""
    before = typed("list").out
    damage(layout.journal(RUN), change)
    answers = {words: typed(*words) for words in COMMANDS}
    told = {words: answer.out + answer.err for words, answer in answers.items()}
    seen = WatchedWorkspace(layout).look()
    told["watch",] = "\n".join(line.text for line in lines(seen, 0.0, 100, 100))
    drawn = WatchedRun(layout).draw()
    assert drawn is not None
    told["dashboard",] = "".join(drawn.panels.values())
    said = f"damaged: {count} line{'s' * (count > 1)}, from "
    assert [words for words, text in told.items() if text.count(said) != 1 or "; sums are at least" not in text] == []
    sums = {words: text for words, text in told.items() if words[0] not in {"replay", "watch"}}
    assert [words for words, text in sums.items() if "at least" not in text.replace("sums are at least", "")] == []
    for words in (("show", "w"), ("history", "w"), ("history", "w", "--totals"), ("report", "w", "-o", "-")):
        assert "at least $1.00" in told[words] or "at least $1.50" in told[words], words
    assert typed("list").out == before


def test_an_undamaged_journal_is_never_told_as_damaged(typed: Type, layout: Layout) -> None:
    """Not even one that a kill left with half a line at its end."""
    for data in (layout.journal(RUN).read_bytes(), layout.journal(RUN).read_bytes()[:-9]):
        layout.journal(RUN).write_bytes(data)
        for words in COMMANDS:
            answer = typed(*words)
            assert (answer.code, "damaged" in answer.out + answer.err) == (0, False)


def damages(project: Project, layout: Layout) -> list[Damage | None]:
    """What each view knows of it."""
    report, watched = night_report(layout, None, 0.0), WatchedWorkspace(layout).look().story
    last, history = workspace_view(project, layout, 0.0).last_run, history_view.all_runs(layout)
    assert last is not None
    assert last.totals is not None
    assert watched is not None
    return [
        *(last.damaged, last.totals.damaged, report.total.damaged, report.run.damaged),
        *(history[0].damaged, history_view.total(history).damaged, watched.state.damaged),
        *(run_view.runs(layout).runs[0].damaged, run_view.journal(layout, RUN).damaged),
        journal_reader.fold_journal(layout, RUN).damaged,
    ]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, Layout, list[bytes]]:
    home, folder = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("damaged")
    project = Project(folder, {"HOME": str(home)})
    layout = project.create("w", instructions=b"- one\n")
    record(layout, RUN, night())
    return project, layout, layout.journal(RUN).read_bytes().splitlines(keepends=True)


FOREIGN = (b"{}\n", b"[]\n", b"null\n", b"\n", b"\xff\xfe\n", b'{"seq": 5}\n', b"text\n", "\u2028\n".encode())


@st.composite
def damaged(draw: st.DrawFn, rows: list[bytes]) -> bytes:
    """The journal with one damage that leaves its first and its last line as they are."""
    last = len(rows) - 1
    at = draw(st.integers(1, last - 1))
    row, rest = rows[at], rows[at + 1 :]
    cut, starts = draw(st.integers(1, len(row) - 2)), len(b"".join(rows[:at]))
    end = len(b"".join(rows[:last]))
    data = b"".join(rows)
    match draw(st.sampled_from(["cut", "zero", "delete", "swap", "repeat", "foreign", "remove"])):
        case "cut":
            found = [*rows[:at], row[:cut] + draw(st.sampled_from([b"", b"\n"])), *rest]
        case "zero":
            first = starts + cut
            upto = draw(st.integers(first + 1, end))
            found = [data[:first], bytes(upto - first), data[upto:]]
        case "delete":
            found = [*rows[:at], *rows[draw(st.integers(at + 1, last)) :]]
        case "swap":
            other = draw(st.integers(1, last - 1).filter(lambda other: other != at))
            found = list(rows)
            found[at], found[other] = found[other], found[at]
        case "repeat":
            place = draw(st.integers(at + 1, last))
            found = [*rows[:place], row, *rows[place:]]
        case "foreign":
            found = [*rows[:at], draw(st.sampled_from(FOREIGN)), *rows[at + draw(st.integers(0, 1)) :]]
        case _:  # a block with the end of a line in it
            upto = draw(st.integers(starts + len(row), end))
            found = [data[: starts + cut], data[upto:]]
    return b"".join(found)


@settings(deadline=None, max_examples=150)
@given(data=st.data())
def test_any_single_damage_in_the_middle_is_told(
    kept: tuple[Project, Layout, list[bytes]], data: st.DataObject
) -> None:
    """By every view, and by all alike; where a kill cut the last line, by none."""
    project, layout, rows = kept
    layout.journal(RUN).write_bytes(data.draw(damaged(rows)))
    first, *others = damages(project, layout)
    assert first is not None
    assert others == [first] * len(others)
    layout.journal(RUN).write_bytes(b"".join(rows)[: -data.draw(st.integers(0, len(rows[-1]))) or None])
    assert set(damages(project, layout)) == {None}


def test_what_is_left_out_on_purpose_is_no_damage(layout: Layout) -> None:
    """A flood of junk is counted in one line, and the numbers go on."""
    path = layout.journal("000002-x")
    writer = JournalWriter(path, pytest.fail)
    flood: list[Any] = [beginning("000002-x"), *(events.UnparsedLine("x", 10) for _ in range(300))]
    for number, event in enumerate([*flood, events.AssistantText("a"), events.AgentExited(0)], 1):
        writer.append(events.Entry(number, float(number), float(number), event))
    writer.close()
    view = run_view.journal(layout, "000002-x")
    assert [entry["seq"] for entry in view.entries] == list(range(1, 105))
    assert view.damaged is None


def test_a_clock_that_jumped_changes_no_duration(typed: Type, project: Project) -> None:
    """Twenty years in the middle of a run, of a wait and of a call: each took what the run's own clock says."""
    layout = project.create("w")
    told: list[events.Event] = [
        *(beginning(RUN), IterationStarted(1), IterationFinished(1, Outcome(Kind.OK), duration=1.0, cost_usd=0.1)),
        *(events.WaitStarted(Why.TRANSIENT, 1_767_225_700.0), events.WaitEnded(Why.TRANSIENT), IterationStarted(2)),
        *(events.ToolCalled("t", "Bash", {}), RunFinished("stopped", duration=8.0)),
    ]
    writer = JournalWriter(layout.journal(RUN), pytest.fail)
    for seq, event in enumerate(told, 1):
        writer.append(events.Entry(seq, 1_767_225_600.0 + seq % 2 * 7300 * 86400, float(seq), event))
    writer.close()
    last = typed("show", "w", "--json").document["lastRun"]
    history = typed("history", "w", "--json").document
    report = typed("report", "w", "--json").document
    assert [last["duration"], report["run"]["duration"], report["parts"][0]["duration"]] == [8.0] * 3
    assert [row["duration"] for row in history["runs"][0]["iterations"]] == [1.0, 2.0]
    assert (history["total"]["waited"], report["waited"]) == (1.0, 1.0)
    assert [words for words in COMMANDS if "7300d" in "".join(map(str, typed(*words)))] == []
