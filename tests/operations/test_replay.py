"""The entries of a recorded run: nothing is lost unseen, one iteration can be told from the others, pauses are cut."""

from __future__ import annotations

import io
import json
from pathlib import Path
from xml.etree import ElementTree as Xml

import msgspec
import pytest

from claude_iterate.core import events
from claude_iterate.core.events import Entry, IterationStarted, RunFinished, Said, Warned
from claude_iterate.operations.replay import MOST_LINES, Cast, entries, iteration_range, picture

SVG = "{http://www.w3.org/2000/svg}"


def line(number: int, event: events.Event) -> bytes:
    return msgspec.json.encode(Entry(number, 100.0 + number, float(number), event)) + b"\n"


def said(path: Path) -> list[tuple[int, str]]:
    return [(entry.seq, getattr(entry.event, "text", "")) for entry in entries(path)]


LOST = "Line {} of the journal cannot be read: something is missing here."


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([line(1, Said("a")), b"\x00\x00\n", line(3, Said("c"))], ["a", LOST.format(2), "c"]),
        ([line(1, Said("a")), b"junk that was added\n", line(2, Said("b"))], ["a", LOST.format(2), "b"]),
        (
            [b"{}\n", b"[]\n", line(1, Said("a"))],
            ["Lines 1 to 2 of the journal cannot be read: something is missing here.", "a"],
        ),
        ([line(1, Said("a")), b'{"seq":2}\n'], ["a", LOST.format(2)]),
        ([line(1, Said("a")), line(2, Said("b"))[:-9]], ["a"]),
        ([], []),
    ],
)
def test_a_line_that_cannot_be_read_is_told_in_its_place(
    tmp_path: Path, lines: list[bytes], expected: list[str]
) -> None:
    """Whether a line was damaged or added, no entry is lost with it, and the numbers grow. A torn end is a kill."""
    path = tmp_path / "events.ndjson"
    path.write_bytes(b"".join(lines))
    found = said(path)
    assert [text for _, text in found] == expected
    numbers = [number for number, _ in found]
    assert numbers == sorted(numbers)


def test_an_iteration_has_all_its_attempts() -> None:
    """Up to the next one, or to the end of the run."""
    kinds: list[events.Event] = [Warned("w"), IterationStarted(1), Said("a"), IterationStarted(1), Said("b")]
    kinds += [IterationStarted(2), Said("c"), RunFinished("completed")]
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
