"""What a terminal showed: as a picture, or as a recording for asciinema (version 2, one JSON value per line).

The picture is one SVG file that needs no font, no script and no network. Each piece of text has its place and its
length in cells, so that it looks the same with any font.
"""

from __future__ import annotations

import io
import json
import re
from collections import deque
from collections.abc import Iterator, Sequence
from html import escape
from typing import IO

import msgspec

from claude_iterate.core.formats import plural, width

COLUMNS = 100
MOST_LINES = 400
_FIRST_LINES = 100
_CELL, _LINE, _SIZE, _MARGIN, _TOP = 8.4, 19, 14, 16, 44
_STYLES = {"1": "b", "2": "d", "31": "r", "32": "g", "33": "y", "36": "c"}
_CODE = re.compile(r"\x1b\[([0-9;]*)m")
_SHEET = (
    "text{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;"
    f"font-size:{_SIZE}px;fill:#d7dae0;white-space:pre}}"
    ".b{font-weight:700;fill:#fff}.d{fill:#8b919d}.r{fill:#ff7b72}.g{fill:#7ee787}.y{fill:#e3b341}.c{fill:#79c0ff}"
)


class Piece(msgspec.Struct, frozen=True):
    """Some text of one look, from a column on."""

    column: int
    text: str
    style: str


class ShownLines(io.StringIO):
    """A terminal that keeps its first and its last lines, however much is written: a picture of more is not looked
    at. What is left out is counted."""

    def __init__(self) -> None:
        super().__init__()
        self._first: list[str] = []
        self._last: deque[str] = deque(maxlen=MOST_LINES - _FIRST_LINES)
        self._begun = ""
        self._count = 0

    def write(self, text: str, /) -> int:
        """Lines are kept as they are completed."""
        *lines, self._begun = f"{self._begun}{text}".split("\n")
        self._count += len(lines)
        room = _FIRST_LINES - len(self._first)
        self._first += lines[:room]
        self._last += lines[room:]
        return len(text)

    def lines(self) -> list[str]:
        """What is kept, with a word in the place of what is not."""
        left = self._count - len(self._first) - len(self._last)
        said = [f"\x1b[2m… {plural(left, 'line')} left out\x1b[0m"] if left else []
        return [*self._first, *said, *self._last, *([self._begun] if self._begun else [])]


def picture(lines: Sequence[str], title: str, columns: int = COLUMNS) -> str:
    """The picture of these lines, with a title above them."""
    rows = [row for line in lines for row in _wrap(line, columns)]
    wide, high = round(columns * _CELL + 2 * _MARGIN), _TOP + len(rows) * _LINE + _MARGIN
    drawn = "\n".join(
        _draw(piece, _TOP + number * _LINE + _SIZE) for number, row in enumerate(rows) for piece in row if piece.text
    )
    dots = "".join(f'<circle cx="{20 + 18 * number}" cy="20" r="6" fill="#4b5160"/>' for number in range(3))
    head = f'<text class="d" x="{wide / 2:g}" y="25" text-anchor="middle">{_escape(title)}</text>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" role="img"'
        f' aria-label="{_escape(title)}"><title>{_escape(title)}</title><style>{_SHEET}</style>\n'
        f'<rect width="{wide}" height="{high}" rx="8" fill="#1c1f26"/>{dots}{head}\n{drawn}\n</svg>\n'
    )


def _wrap(line: str, columns: int) -> list[list[Piece]]:
    """The rows of a line: a terminal breaks it where it is full."""
    rows: list[list[Piece]] = [[]]
    column, style, text = 0, "", ""
    for character, look in _characters(line):
        cells = width(character)
        if look != style or column + width(text) + cells > columns:
            rows[-1].append(Piece(column, text, style))
            column, style, text = column + width(text), look, ""
            if column + cells > columns:
                rows.append([])
                column = 0
        text += character
    rows[-1].append(Piece(column, text, style))
    return rows


def _characters(line: str) -> Iterator[tuple[str, str]]:
    """Each character and its look."""
    style, place = "", 0
    for code in _CODE.finditer(line):
        yield from ((character, style) for character in line[place : code.start()])
        style, place = _STYLES.get(code[1], ""), code.end()
    yield from ((character, style) for character in line[place:])


def _draw(piece: Piece, y: int) -> str:
    """Without the spaces around it, which some viewers fold."""
    bare = piece.text.strip(" ")
    if not bare:
        return ""
    before = len(piece.text) - len(piece.text.lstrip(" "))
    x = _MARGIN + (piece.column + before) * _CELL
    look = f' class="{piece.style}"' if piece.style else ""
    return f'<text{look} x="{x:.1f}" y="{y}" textLength="{width(bare) * _CELL:.1f}">{_escape(bare)}</text>'


def _escape(text: str) -> str:
    """As XML allows it: no control characters, no half characters."""
    kept = "".join(one if one.isprintable() or one == " " else "\ufffd" for one in text.expandtabs(4))
    return escape(kept)


ROWS = 24
CAST_COLUMNS = 80


class Cast(io.StringIO):
    """A terminal that writes what it is given into a file, with the moment on a clock of its own."""

    def __init__(self, file: IO[bytes], title: str, began: float, columns: int = CAST_COLUMNS) -> None:
        super().__init__()
        self._file = file
        self._now = 0.0
        size = {"width": columns, "height": ROWS}
        self._put({"version": 2, **size, "timestamp": int(began), "title": title, "env": {"TERM": "xterm-256color"}})

    def isatty(self) -> bool:
        """The console is to write as to a terminal."""
        return True

    def pass_time(self, seconds: float) -> None:
        """The clock goes on."""
        self._now += seconds

    def write(self, text: str, /) -> int:
        """What is shown now. A terminal begins a new line at its left."""
        if text:
            self._put([round(self._now, 3), "o", text.replace("\n", "\r\n")])
        return len(text)

    def _put(self, value: object) -> None:
        self._file.write(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
