"""What a terminal showed and when, as an asciinema recording (version 2): one JSON value per line."""

from __future__ import annotations

import io
import json
from typing import IO

ROWS = 24
COLUMNS = 80


class Cast(io.StringIO):
    """A terminal that writes what it is given into a file, with the moment on a clock of its own."""

    def __init__(self, file: IO[bytes], title: str, began: float, columns: int = COLUMNS) -> None:
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
