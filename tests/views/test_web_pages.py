"""The pages of the dashboard as they are drawn: bounded, drawn when something changed, readable in both colours."""

from __future__ import annotations

import re
from typing import Any

import pytest

from claude_iterate.core import events
from claude_iterate.core.events import (
    Entry,
    IterationFinished,
    IterationStarted,
    Outcome,
    RunFinished,
    RunStarted,
    WaitStarted,
)
from claude_iterate.core.events.enums import Kind, Purpose, Verb, Why
from claude_iterate.core.reports.status import Status
from claude_iterate.views.pages.drawn_page import STATIC, Drawn, page, panel
from claude_iterate.views.pages.listing_page import WatchedProject
from claude_iterate.views.pages.listing_page import unread_page as list_unread
from claude_iterate.views.pages.run_page import NAMES, RunPicture, WatchedRun, draw_run
from claude_iterate.views.pages.run_page import unread_page as run_unread
from claude_iterate.views.story import RECENT, Story
from claude_iterate.views.watched_workspace import Seen
from claude_iterate.workspace.project import Project
from claude_iterate.workspace.run_folder import notes, run_lock
from tests.cli.journals import write

RUN = "000001-20260101-000000-aaaaaa"
BEGAN = 1_767_225_600.0
CRASHED = Outcome(Kind.CRASH, "It broke")
STARTED = RunStarted(RUN, "w", "loop", 50, 1, "h", "0", ("claude",), "iterate.log")


def iteration(number: int) -> list[Any]:
    status = Status(complete=False, completed=number, total=5000, summary=f"Step {number}")
    tool = events.ToolCalled(id=str(number), name="Bash", input={"command": "make"})
    ended = IterationFinished(number, Outcome(Kind.OK), status, duration=9.0, cost_usd=0.1, tools=3, context=0.5)
    return [IterationStarted(number), tool, events.AssistantText(text="x" * 200), ended]


def story_of(*happened: Any) -> Story:
    return Story(RUN, [Entry(seq, BEGAN + seq, float(seq), one) for seq, one in enumerate((STARTED, *happened), 1)])


def drawn(story: Story, alive: bool = True, **more: Any) -> Drawn:
    return draw_run(RunPicture(Seen("w", story, alive), BEGAN + 100, **more))


def test_a_page_is_not_larger_after_six_thousand_iterations_than_after_six_hundred() -> None:
    """Lists have an end, and so many bars as can be told apart."""
    sizes = []
    for count in (600, 6000):
        found = drawn(story_of(*(one for number in range(1, count + 1) for one in iteration(number))))
        assert len(found.lines) == RECENT
        sizes.append(sum(html.count("<") for html in found.panels.values()))
    assert sizes[0] == sizes[1]
    assert sizes[1] < 8000


def test_what_needs_every_iteration_is_drawn_when_one_ended() -> None:
    """Between two ends the charts stay the very same text, so they are not sent again."""
    story = story_of(*iteration(1))
    first = draw_run(RunPicture(Seen("w", story, True), BEGAN))
    story.take(Entry(90, BEGAN + 90, 90.0, IterationStarted(2)))
    second = draw_run(RunPicture(Seen("w", story, True), BEGAN + 1))
    assert second.panels["charts"] == first.panels["charts"]
    assert second.panels["head"] != first.panels["head"]
    for entry in [Entry(91 + place, BEGAN + 91, 91.0, one) for place, one in enumerate(iteration(2)[1:])]:
        story.take(entry)
    third = draw_run(RunPicture(Seen("w", story, True), BEGAN + 2))
    assert third.panels["charts"] != first.panels["charts"]
    assert "<svg" in third.panels["charts"]


@pytest.mark.parametrize(
    ("happened", "alive", "chosen", "offered"),
    [
        (iteration(1), True, "", ("pause", "stop", "skip", "note")),
        ([events.Requested(Verb.PAUSE)], True, "", ("resume", "stop", "skip", "note")),
        ([WaitStarted(Why.USAGE_LIMIT, BEGAN + 999)], True, "", ("pause", "stop", "skip", "retry", "note")),
        ([RunFinished("completed")], False, "", ("note",)),
        (iteration(1), False, "", ("note",)),
        (iteration(1), False, RUN, ()),  # the page of a run that is over
        (iteration(1), True, RUN, ("pause", "stop", "skip", "note")),
    ],
)
def test_only_requests_that_make_sense_are_offered(
    happened: list[Any], alive: bool, chosen: str, offered: tuple[str, ...]
) -> None:
    """A button that can do nothing is not there."""
    assert drawn(story_of(*happened), alive, chosen=chosen).offers == offered


def test_a_run_that_has_recorded_its_end_is_over_although_its_process_is_still_there() -> None:
    """The cause is shown with the word, never the word alone."""
    head = drawn(story_of(*iteration(1), RunFinished("completed", cause="All is done.")), alive=True).panels["head"]
    assert "All is done." in head
    assert 'class="word good">completed' in head
    assert "Now:" not in head


def test_a_verification_can_only_be_stopped() -> None:
    """As the commands say."""
    started = RunStarted(RUN, "w", "loop", 50, 1, "h", "0", ("claude",), "iterate.log", purpose=Purpose.VERIFY)
    assert drawn(Story(RUN, [Entry(1, BEGAN, 0.0, started)])).offers == ("stop", "note")


def test_money_of_a_dry_run_is_not_shown() -> None:
    """It is made up."""
    started = RunStarted(RUN, "w", "loop", 50, 1, "h", "0", ("claude",), "iterate.log", dry_run=True)
    story = Story(RUN, [Entry(seq, BEGAN, 0.0, one) for seq, one in enumerate([started, *iteration(1)], 1)])
    found = drawn(story)
    assert "none: a dry run" in found.panels["figures"]
    assert "Cost:" not in found.panels["charts"]
    assert "dry run" in found.panels["head"]


def test_counters_windows_waits_and_notes_are_shown() -> None:
    """How far the breaker is, how full a window and when it resets, what is waited for, which notes wait."""
    window = events.LimitReported("allowed", "five_hour", BEGAN + 7200, 0.625)
    failed = [one for number in (1, 2) for one in (IterationStarted(number), IterationFinished(number, CRASHED))]
    story = story_of(*failed, window, WaitStarted(Why.USAGE_LIMIT, BEGAN + 3600))
    found = drawn(story, notes=("Use tabs.",))
    assert "2 of 3" in found.panels["watch"]
    assert re.search(r"five hour: 62 % used, resets [\d:A-Za-z -]+<", found.panels["watch"])
    assert "Use tabs." in found.panels["watch"]
    assert f'data-until="{BEGAN + 3600}"' in found.panels["head"]
    assert "Usage limit reached" in found.panels["head"]


def test_a_run_is_drawn_again_only_when_something_changed(project: Project) -> None:
    """An event, a line of the log, a note, the end of the process; else there is nothing to send."""
    layout = project.create("w")
    write(layout, RUN, [STARTED, *iteration(1)])
    watched = WatchedRun(layout)
    first = watched.draw()
    assert first is not None
    assert "killed" in first.panels["head"]
    assert watched.draw() is None
    (layout.folder / "iterate.log").write_text("a line of the log\n")
    changed = watched.draw()
    assert changed is not None
    assert "a line of the log" in changed.panels["log"]
    notes.add(layout, "Use tabs.")
    changed = watched.draw()
    assert changed is not None
    assert "Use tabs." in changed.panels["watch"]
    with run_lock.hold(layout.lock, "w", RUN):
        changed = watched.draw()
        assert changed is not None
        assert "running" in changed.panels["head"]
        assert watched.draw() is None


def test_of_a_long_log_the_end_is_shown(project: Project) -> None:
    """However long it is."""
    layout = project.create("w")
    write(layout, RUN, [STARTED, *iteration(1)])
    (layout.folder / "iterate.log").write_text("first line\n" + "x\n" * 100_000 + "last line\n")
    found = WatchedRun(layout).draw()
    assert found is not None
    assert "last line" in found.panels["log"]
    assert "first line" not in found.panels["log"]


def test_the_list_has_those_that_run_first_then_those_that_ran_last(project: Project) -> None:
    """With a word, progress and money; nothing is drawn again as long as nothing changes."""
    for name in ("b-new", "c-runs", "d-damaged"):
        project.create(name)
    live = project.layout("c-runs")
    write(live, RUN, [STARTED, *iteration(1)])
    project.layout("d-damaged").metadata.write_text("{")
    watched = WatchedProject(project)
    with run_lock.hold(live.lock, "c-runs", RUN):
        found = watched.draw()
        assert found is not None
        html = found.panels["workspaces"]
        assert re.findall(r'class="name" href="/workspaces/([\w-]+)"', html)[0] == "c-runs"
        assert "1/5000 items" in html
        assert "$0.10" in html
        assert ">damaged<" in html
        assert found.title == "project: 1 of 3 workspaces running"
        assert watched.draw() is None
    found = watched.draw()
    assert found is not None
    assert "0 of 3" in found.title


def test_a_page_whose_first_look_failed_has_all_its_panels() -> None:
    """It says what went wrong, and what was not read yet is not there."""
    failed = Drawn("", {"problem": "It went wrong."})
    shown = page("listing_page", project="p", title="t", events="/", since="", now=0, drawn=failed.over(list_unread()))
    assert "It went wrong." in shown
    assert "Reading the workspaces" in shown
    assert set(failed.over(run_unread("w")).panels) == set(NAMES)


def test_every_text_of_a_template_is_cleaned_and_escaped() -> None:
    """Nothing has to be remembered by a template: neither the escape nor the control characters."""
    evil = "<b>\x1b[2J\u202e\x00</b>"
    assert panel("run_panels", "problem", text=evil) == (
        '<p class="end" role="alert">&lt;b&gt;\u241b[2J\ufffd\u2400&lt;/b&gt;</p>'
    )
    shown = page("refusal_page", title=evil, sentence=evil, hint=evil, again="")
    assert "<b>" not in shown
    assert "\x1b" not in shown


def luminance(colour: str) -> float:
    digits = colour.lstrip("#")
    digits = "".join(2 * digit for digit in digits) if len(digits) == 3 else digits
    parts = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_text_can_be_read_in_light_and_dark() -> None:
    """The colours of all texts have a contrast of 4.5 at least (WCAG AA), on the page, on cards and on words."""
    style = (STATIC / "dashboard.css").read_text()
    schemes = [
        dict(re.findall(r"--(\w+): (#\w+)", block)) for block in re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    ]
    assert len(schemes) == 2
    for colours in schemes:
        for ink in ("ink", "soft", "good", "bad", "live"):
            for ground in ("page", "card"):
                assert contrast(colours[ink], colours[ground]) >= 4.5, (ink, ground, colours)
        for ground in ("good", "bad", "live"):
            assert contrast(colours["on"], colours[ground]) >= 4.5, (ground, colours)


def test_the_files_of_the_page_need_nothing_from_elsewhere() -> None:
    """No address of another server, no script that is made from text."""
    for path in STATIC.iterdir():
        text = path.read_text().replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?:|//\w|@import|eval\(|new Function", text), path
