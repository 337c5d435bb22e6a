"""A recorded run shown again: pauses are cut, one iteration can be told from the others; pictures and recordings."""

from __future__ import annotations

import io
import json
from xml.etree import ElementTree as Xml

import pytest

from claude_iterate.core import events
from claude_iterate.core.events import AssistantText, Entry, IterationStarted, RunFinished, Warned
from claude_iterate.operations.replay import MOST_LINES, Cast, RecordedPace, iteration_range, picture

SVG = "{http://www.w3.org/2000/svg}"


def test_a_pause_is_shortened_and_the_clocks_go_on() -> None:
    """Ten minutes at ten times the speed are cut to two seconds; in between both clocks pass evenly."""
    waited: list[float] = []
    drawn: list[tuple[float, float]] = []
    pace = RecordedPace(10.0, 2.0, waited.append)
    pace(Entry(1, 1000.0, 0.0, AssistantText("a")), lambda now: drawn.append((now, pace.wall())))
    pace(Entry(2, 1600.0, 600.0, AssistantText("b")), lambda now: drawn.append((now, pace.wall())))
    assert sum(waited) == pytest.approx(2.0)
    assert [round(now) for now, _ in drawn] == [60 * part for part in range(1, 10)]
    assert all(wall == pytest.approx(1000.0 + now) for now, wall in drawn)
    assert pace.wall() == 1600.0


def test_at_once_waits_for_nothing_and_a_part_not_for_the_rest() -> None:
    """Nor does a clock that was set back."""
    waited: list[float] = []
    told = [
        Entry(number, 0.0, moment, AssistantText("a")) for number, moment in ((1, 0.0), (2, 9.0), (3, 4.0), (4, 90.0))
    ]
    at_once, part = RecordedPace(0.0, wait=waited.append), RecordedPace(1.0, wait=waited.append)
    for pace, shown in ((at_once, told), (part, told[1:3])):
        for entry in shown:
            pace(entry, waited.append)
    assert waited == []


def test_an_iteration_has_all_its_attempts() -> None:
    """Up to the next one, or to the end of the run."""
    kinds: list[events.Event] = [
        Warned("w"),
        IterationStarted(1),
        AssistantText("a"),
        IterationStarted(1),
        AssistantText("b"),
    ]
    kinds += [IterationStarted(2), AssistantText("c"), RunFinished("completed")]
    found = [Entry(number, 0.0, 0.0, event) for number, event in enumerate(kinds, 1)]
    assert iteration_range(found, 1) == range(2, 6)
    assert iteration_range(found, 2) == range(6, 8)
    assert iteration_range(found, 3) is None


def rows(drawn: str) -> list[str]:
    """The text of each line; the title above is left out."""
    found: dict[str, str] = {}
    for text in list(Xml.fromstring(drawn).iter(f"{SVG}text"))[1:]:
        found[text.attrib["y"]] = found.get(text.attrib["y"], "") + (text.text or "")
    return [row.rstrip() for row in found.values()]


def test_foreign_text_is_only_text() -> None:
    """Markup, control characters and half characters make neither a tag nor a broken file; nothing is loaded."""
    evil = "<script>alert(1)</script> & ]]> [bold] \x07\x1b]0;x \ud800 \u202e"
    drawn = picture([evil], '"><script>')
    assert rows(drawn)[0].startswith("<script>alert(1)</script> & ]]> [bold] ")
    names = {element.tag.removeprefix(SVG) for element in Xml.fromstring(drawn).iter()}
    assert names == {"svg", "style", "defs", "clipPath", "rect", "circle", "text", "g"}
    assert "http" not in drawn.replace("http://www.w3.org/2000/svg", "")
    drawn.encode()


def test_a_full_line_continues_in_the_next_row() -> None:
    """As a terminal shows it."""
    assert rows(picture(["\x1b[32m✓ ab\x1b[0m cd", "0123456789AB"], "t", columns=10)) == ["✓ ab cd", "0123456789", "AB"]


def test_a_long_output_is_shortened_and_says_so() -> None:
    """The beginning and the end are kept."""
    found = rows(picture([f"line {number}" for number in range(5000)], "t"))
    assert (found[0], found[99], found[101], found[-1]) == ("line 0", "line 99", "line 4700", "line 4999")
    assert (found[100], len(found)) == ("… 4600 lines left out", MOST_LINES + 1)


def test_a_recording_has_the_form_of_asciinema() -> None:
    """A header, then moments and what was shown; lines begin at the left."""
    file = io.BytesIO()
    cast = Cast(file, "title", 1234.5)
    cast.write("a\n")
    cast.pass_time(1.25)
    cast.write("b \ud800")
    header, *shown = [json.loads(line) for line in file.getvalue().splitlines()]
    assert (header["version"], header["width"], header["height"], header["timestamp"]) == (2, 80, 24, 1234)
    assert shown == [[0.0, "o", "a\r\n"], [1.25, "o", "b ?"]]
