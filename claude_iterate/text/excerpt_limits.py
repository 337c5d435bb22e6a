"""How much of a block is shown. `None` means all of it: the log loses nothing."""

from __future__ import annotations

from typing import NamedTuple


class Limits(NamedTuple):
    """Most lines of a file read, of a tool's output, of a file written; most characters of an input value."""

    read: int | None
    output: int | None
    written: int | None
    value: int | None


CONSOLE = Limits(read=15, output=20, written=0, value=200)
WHOLE = Limits(read=None, output=None, written=None, value=None)
