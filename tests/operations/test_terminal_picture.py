"""What a terminal showed, as a picture and as a recording: self-contained, harmless, and the same text."""

from __future__ import annotations

import io
import json
from xml.etree import ElementTree as Xml

from claude_iterate.operations.replay import MOST_LINES, Cast, picture

SVG = "{http://www.w3.org/2000/svg}"


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
