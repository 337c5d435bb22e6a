"""`report`: one file for the morning that needs nothing but itself, with the figures of `history`."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from claude_iterate.core import events
from claude_iterate.core.events import IterationFinished, IterationStarted, Outcome, RunFinished, Tokens
from claude_iterate.core.events.enums import Kind, Purpose, Why
from claude_iterate.core.reports.status import Status
from claude_iterate.views.pages.charts import Bar, draw_bars
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project
from tests.cli.conftest import Type
from tests.cli.journals import beginning, write

RUN = "000001-20260101-000000-aaaaaa"
EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)> javascript:alert(3) \x1b[31mred\x1b]0;x\x07 \u202egnp.exe"


@pytest.fixture
def layout(project: Project) -> Layout:
    layout = project.create("w")
    layout.instructions.write_text(f"# Task\n\n- [ ] {EVIL}\n", encoding="utf-8")
    return layout


def night(layout: Layout, iterations: int = 50) -> None:
    """A long run: failures, a wait, a refuted claim, a proof, and hostile text in every place that holds text."""
    told: list[Any] = [beginning(RUN, log="iterate.log")]
    for number in range(1, iterations + 1):
        failed = number % 7 == 0
        outcome = Outcome(Kind.CRASH, f"exit code 1: {EVIL}") if failed else Outcome(Kind.OK)
        last = number == iterations
        status = Status(complete=last, completed=number, total=iterations, summary=EVIL)
        told += [
            IterationStarted(number),
            IterationFinished(
                number,
                outcome,
                None if failed else status,
                duration=10.0 + number,
                cost_usd=0.0123 * number,
                tokens=Tokens(100 * number, number, 0, 0),
                tools=number,
                context=number / 100,
            ),
        ]
        if number == 3:
            told += [events.WaitStarted(Why.USAGE_LIMIT, 1_767_225_999.0), events.WaitEnded(Why.USAGE_LIMIT)]
    told += [
        events.VerificationStarted(1, 1),
        events.CheckFinished("pytest -q", 0, 2.0, f"50 passed\n{EVIL}"),
        events.VerificationFinished(1, True, known_by="checks"),
        RunFinished("completed", iterations=iterations, cost_usd=15.68, duration=1800.0, known_by="checks"),
    ]
    write(layout, RUN, told)


class Page(HTMLParser):
    """The names and attributes of all elements of a page, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.words += data


def test_a_night_fits_into_one_small_file_that_needs_no_network(typed: Type, layout: Layout) -> None:
    """No script, no link to anything outside, less than 2 MB, and what others wrote is text."""
    night(layout)
    assert typed("report", "w").code == 0
    text = (layout.folder / f"report-{RUN}.html").read_text(encoding="utf-8")
    page = Page(text)
    assert len(text) < 2_000_000
    assert not {"script", "link", "img", "iframe", "object", "base", "form"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name.startswith("on") or name in {"src", "href"}]
    assert not re.search(r"url\(|@import", text)
    assert "<script>alert(1)</script>" in page.words
    assert not {"\x1b", "\x07", "\u202e"} & set(text)
    assert "Task completed successfully after 50 iterations" in page.words
    assert page.tags.count("svg") == 6


def test_its_figures_are_those_of_history(typed: Type, layout: Layout) -> None:
    """To the cent and the second: the rows and the sum are the same objects."""
    night(layout)
    report = typed("report", "w", "--json").document
    history = typed("history", "w", "--json").document
    assert report["total"] == history["total"]
    assert report["iterations"] == [row for run in history["runs"] for row in run["iterations"]]
    written = json.loads(typed("report", "w", "--format", "json", "-o", "-").out)
    assert written | {"written": ""} == report | {"written": ""}


def test_markdown_has_the_same_and_no_text_ends_its_fence(typed: Type, layout: Layout) -> None:
    """A fence in the instructions stays inside."""
    night(layout, 3)
    layout.instructions.write_text("```\nnot the end\n```\n# no heading\n")
    text = typed("report", "w", "--format", "md", "-o", "-").out
    assert "````text\n```\nnot the end\n```\n# no heading\n````" in text
    assert "$ pytest -q" in text
    assert "### Claim 1: the claim holds" in text
    assert "## Waits\n\n- usage limit: " in text


@pytest.mark.parametrize("form", ["html", "md"])
def test_it_tells_what_each_iteration_reported_and_was_denied(typed: Type, layout: Layout, form: str) -> None:
    """Claude's own words, the tools that it may not use, and all of what was asked, however long it is."""
    layout.instructions.write_text("the first line\n" + "- an item\n" * 1000 + "the last line\n")
    status = Status(complete=False, completed=1, total=2, summary="The parser is done")
    denials = (events.Denial("Bash", "rm -rf build"), events.Denial("Bash", "rm -rf build"))
    ended = IterationFinished(1, Outcome(Kind.OK), status, denials=denials)
    write(layout, RUN, [beginning(RUN), IterationStarted(1), ended])
    text = typed("report", "w", "--format", form, "-o", "-").out
    assert "The parser is done" in text
    assert text.count("Bash: rm -rf build") == 1
    assert "the first line" in text
    assert "the last line" in text


def test_a_run_without_an_end_says_so(typed: Type, layout: Layout) -> None:
    """A killed run has a report too, and a proof that did not happen is not claimed."""
    started = beginning(RUN)
    write(layout, RUN, [started, IterationStarted(1)])
    text = typed("report", "w", "--format", "md", "-o", "-").out
    assert "The run was killed: its record has no end." in text
    assert "Nothing was proven" in text


def test_a_journal_without_its_beginning_is_not_called_no_run(typed: Type, layout: Layout) -> None:
    """There was a run: its log may tell what it did."""
    write(layout, RUN, [IterationStarted(1)])
    for words in (("report", "w"), ("report", "w", "--run", "1")):
        refused = typed(*words)
        assert refused.code == 1
        assert "has lost its beginning" in refused.err
        assert f"claude-iterate logs w --run {RUN}" in refused.err
    assert not list(layout.folder.glob("report-*"))


def test_bad_input_has_a_next_step_and_writes_nothing(typed: Type, layout: Layout, tmp_path: Path) -> None:
    """No run yet, an unknown run, a folder in place of the file, a place that is not there, nothing to open."""
    answer = typed("report", "w")
    assert (answer.code, "claude-iterate run w" in answer.err) == (1, True)
    night(layout, 2)
    before = set(layout.folder.iterdir())
    for words, code in (
        (("--run", "9"), 2),
        (("-o", str(tmp_path)), 2),
        (("-o", str(tmp_path / "no" / "such" / "r.html")), 1),
        (("-o", "-", "--open"), 2),
    ):
        answer = typed("report", "w", *words)
        assert answer.code == code, answer.err
        assert "Error:" in answer.err
    assert set(layout.folder.iterdir()) == before


def test_a_run_is_named_by_its_number(typed: Type, layout: Layout, tmp_path: Path) -> None:
    """And the file may have any name."""
    night(layout, 2)
    assert typed("report", "w", "--run", "1", "-o", str(tmp_path / "r.html")).code == 0
    assert RUN in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_a_chart_of_a_thousand_values_stays_readable() -> None:
    """Neighbours share a bar, which shows the largest of them; nothing at all is no chart."""
    chart = draw_bars("Cost", [Bar(float(number), str(number)) for number in range(1000)], str)
    assert chart.count("<rect") == 200
    assert "<title>999</title>" in chart
    assert draw_bars("Cost", [Bar(0.0, "nothing")], str) == ""


def work(layout: Layout, number: int, ending: RunFinished, instructions: str = "same", cost: float = 1.0) -> str:
    """A run of one iteration, or with the ending of `verify` a proof."""
    run = f"{number:06}-20260101-000000-aaaaaa"
    purpose = "verify" if ending.detail == "verified" else "run"
    told: list[Any] = [beginning(run, purpose=Purpose(purpose))]
    if purpose == "run":
        ended = IterationFinished(1, Outcome(Kind.OK), Status(False), duration=10.0, cost_usd=cost)
        told += [IterationStarted(1, instructions_hash=instructions), ended]
    else:
        told += [events.VerificationStarted(1, 1), events.VerificationFinished(1, True, known_by="checks")]
    write(layout, run, [*told, ending])
    return run


def test_a_report_is_about_the_task_over_all_of_its_runs(typed: Type, layout: Layout) -> None:
    """Money, time and iterations of all runs, a `verify` included; `--run` has one alone."""
    ids = [work(layout, number, RunFinished("max_iterations", "1")) for number in (1, 2)]
    ids.append(work(layout, 3, RunFinished("completed", "verified", known_by="checks")))
    told = typed("report", "w", "--json").document
    assert (told["runs"], told["total"]["iterations"], told["total"]["costUsd"]) == (ids, 2, 2.0)
    assert [part["words"] for part in told["parts"]] == ["max iterations", "max iterations", "completed"]
    assert (told["tone"], [proof["run"] for proof in told["proofs"]]) == ("good", ids[2:])
    alone = typed("report", "w", "--run", "2", "--json").document
    assert (alone["runs"], alone["total"]["costUsd"], alone["tone"]) == (ids[1:2], 1.0, "warning")
    page = typed("report", "w", "-o", "-").out
    assert page.index("<h2>Proof</h2>") < page.index("<h2>Runs</h2>") < page.index("What was asked")


def test_a_task_begins_after_a_reset_and_after_a_completion_with_other_instructions(
    typed: Type, layout: Layout
) -> None:
    """Instructions that were improved in between are still the same task."""
    first = work(layout, 1, RunFinished("completed", known_by="report"), "a")
    second = work(layout, 2, RunFinished("max_iterations", "1"), "b")
    third = work(layout, 3, RunFinished("completed", known_by="report"), "c")
    assert typed("report", "w", "--json").document["runs"] == [second, third]
    again = work(layout, 4, RunFinished("stopped"), "c")
    assert typed("report", "w", "--json").document["runs"] == [second, third, again]
    assert first not in typed("report", "w", "-o", "-").out
    assert typed("reset", "w").code == 0
    fresh = work(layout, 5, RunFinished("stopped"), "c")
    assert typed("report", "w", "--json").document["runs"] == [fresh]
