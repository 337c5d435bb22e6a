"""When a report that may have changed is looked at, and whether it is one of this iteration."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from claude_iterate.core.events import StatusChanged
from claude_iterate.core.settings.declared import build
from claude_iterate.engine.status_reports import StatusReports
from tests.engine.building import Listener, Nobody, plan_in, recorder_with


@pytest.mark.setting("notification.status_watch.debounce_ms")
@pytest.mark.parametrize("quiet", [500, 10_000])
def test_a_report_is_read_when_it_was_quiet_for_as_long_as_is_set(tmp_path: Path, quiet: int) -> None:
    """Each change restarts the wait; one that changes all the time is read all the same."""
    settings = build({"notification.status_watch.debounce_ms": quiet})
    reports = StatusReports(plan_in(tmp_path, settings=settings), recorder_with(Nobody()))
    seconds, due = quiet / 1000, list[float]()
    for begins in range(7):
        reports.expect_change(begins * seconds / 2)
        due.append(reports.due / seconds)
    assert due == [1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0]
    reports.expect_change(4.5 * seconds)
    assert reports.due == 5 * seconds


OLD = '{"complete": true, "lastUpdated": "monday"}'


class Story:
    """Iterations in a folder without git, and the news that were recorded."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / ".status.json"
        self._listener = Listener()
        self.reports = StatusReports(plan_in(folder, environ=os.environ), recorder_with(self._listener))

    @property
    def news(self) -> list[bool]:
        return [event.status.complete for event in self._listener.events if isinstance(event, StatusChanged)]

    def write(self, text: str) -> None:
        """A new file beside the old one: both have their own inode, however coarse the clock is."""
        other = self.file.with_name("other")
        other.write_text(text)
        other.replace(self.file)

    def look(self) -> None:
        """The file was quiet for long enough."""
        self.reports.expect_change(0.0)
        self.reports.look_if_due(float("inf"))

    def end(self) -> tuple[bool | None, tuple[str, ...]]:
        """Whether a report counts and claims completion, and what is wrong with it."""
        reading = self.reports.iteration_ends("")
        status = reading.status if reading is not None else None
        return (status.complete if status is not None else None), reading.problems if reading is not None else ()


def test_an_old_text_that_is_put_there_again_is_no_report(tmp_path: Path) -> None:
    """It was there when the iteration began. Without a date the same words count only if they claim nothing."""
    for text, counts in ((OLD, None), ('{"complete": true}', None), ('{"complete": false}', False)):
        story = Story(tmp_path)
        story.write(text)
        story.reports.iteration_begins(1)
        assert story.end() == (None, ())
        story.reports.iteration_begins(2)
        story.write(text)
        complete, problems = story.end()
        assert (complete, bool(problems)) == (counts, counts is None)


def test_a_hard_link_is_no_report(tmp_path: Path) -> None:
    """It may be the report of another workspace."""
    story = Story(tmp_path)
    story.reports.iteration_begins(1)
    (tmp_path / "elsewhere").write_text('{"complete": true}')
    story.file.hardlink_to(tmp_path / "elsewhere")
    complete, problems = story.end()
    assert (complete, "hard link" in problems[0], story.news) == (None, True, [])


def test_a_hard_link_with_the_id_is_a_report(tmp_path: Path) -> None:
    """A backup of the user's may have made the link; the id says when the text was written."""
    story = Story(tmp_path)
    asked = story.reports.iteration_begins(1)
    story.write(f'{{"complete": true, "iteration": "{asked}"}}')
    (tmp_path / "backup").hardlink_to(story.file)
    assert story.end() == (True, ())


def test_a_text_of_an_earlier_iteration_is_no_report(tmp_path: Path) -> None:
    """Also if it was not there any more when this one began: a check removed it, or Claude replaced it."""
    story = Story(tmp_path)
    story.reports.iteration_begins(1)
    story.write(OLD)
    story.look()
    story.write('{"complete": false}')
    assert story.end()[0] is False
    story.file.unlink()
    story.reports.iteration_begins(2)
    story.write(OLD)
    assert story.end()[0] is None
    assert story.news == [True, False]


def test_what_is_written_between_two_iterations_is_no_news(tmp_path: Path) -> None:
    """It is not of Claude; the next iteration begins with it."""
    story = Story(tmp_path)
    story.reports.iteration_begins(1)
    assert story.end() == (None, ())
    story.write('{"complete": true}')
    story.look()
    story.reports.iteration_begins(2)
    story.look()
    assert (story.end(), story.news) == ((None, ()), [])


def test_the_id_of_the_iteration_counts_and_no_other(tmp_path: Path) -> None:
    """Whatever else is the same."""
    story = Story(tmp_path)
    first = story.reports.iteration_begins(1)
    story.write(OLD.replace("{", f'{{"iteration": "{first}", '))
    assert story.end() == (True, ())
    second = story.reports.iteration_begins(2)
    story.write(OLD.replace("{", f'{{"iteration": "{first}", '))
    assert story.end()[0] is None
    third = story.reports.iteration_begins(3)
    assert len({first, second, third}) == 3
    story.write(OLD.replace("{", f'{{"iteration": "{third}", '))
    assert story.end() == (True, ())
