"""The clock at the beginning of lines that are read later, in a file or a CI log."""

from __future__ import annotations

import time


class Clock:
    """Local time; with the date when that is not the one of the line before."""

    def __init__(self) -> None:
        self._day = ""

    def shown(self, line: str, at: float) -> str:
        """The line with its moment before it; an empty line stays empty."""
        try:
            day, clock = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at)).split(" ")
        except (OverflowError, ValueError, OSError):  # a moment beyond the calendar
            return line
        if not line:
            return line
        new, self._day = day != self._day, day
        return f"{day} {clock} {line}" if new else f"{clock} {line}"
