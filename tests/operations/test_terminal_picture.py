"""What a terminal showed, as a picture and as a recording: self-contained, harmless, and the same text."""

from __future__ import annotations

import io
import json
from xml.etree import ElementTree as Xml

from claude_iterate.operations.replay import MOST_LINES, Cast, ShownLines, picture

SVG = "{http://www.w3.org/2000/svg}"


def pieces(drawn: str) -> list[tuple[str, str | None, float, float]]:
    """The text, its look and its place; the title above is left out."""
    texts = list(Xml.fromstring(drawn).iter(f"{SVG}text"))[1:]
    return [
        (text.text or "", text.get("class"), float(text.get("x") or 0), float(text.get("y") or 0)) for text in texts
    ]


def test_foreign_text_is_only_text() -> None:
    """Markup, control characters and half characters make neither a tag nor a broken file; nothing is loaded."""
    evil = "<script>alert(1)</script> & ]]> \x07\x1b]0;x \ud800 \u202e"
    drawn = picture([evil], '"><script>')
    assert next(text for text, *_ in pieces(drawn)).startswith("<script>alert(1)</script> & ]]> ")
    names = {element.tag.removeprefix(SVG) for element in Xml.fromstring(drawn).iter()}
    assert names == {"svg", "title", "style", "rect", "circle", "text"}
    assert "http" not in drawn.replace("http://www.w3.org/2000/svg", "")
    drawn.encode()


def test_looks_places_and_full_lines() -> None:
    """A colour holds to its end, a wide character takes two cells, and a full line goes on in the next row."""
    found = pieces(picture(["\x1b[32m✓ ab\x1b[0m cd", "😀x", "0123456789AB"], "t", columns=10))
    assert [(text, look) for text, look, *_ in found] == [
        *(("✓ ab", "g"), ("cd", None), ("😀x", None), ("0123456789", None), ("AB", None))
    ]
    rows = [y for *_, y in found]
    assert rows[0] == rows[1]
    assert sorted({*rows}) == rows[1:]
    assert found[1][2] - found[0][2] == 5 * 8.4


def test_a_long_output_is_shortened_and_says_so() -> None:
    """The beginning and the end are kept."""
    shown = ShownLines()
    for number in range(5000):
        shown.write(f"line {number}\n"[:4])
        shown.write(f"line {number}\n"[4:])
    found = [text for text, *_ in pieces(picture(shown.lines(), "t"))]
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
