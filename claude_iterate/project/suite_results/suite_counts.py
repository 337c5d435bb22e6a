"""How many tests passed, failed, could not run and were skipped, as a test runner tells it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import msgspec

NAMES_KEPT = 20


class Counts(msgspec.Struct, frozen=True):
    """One summary. `errors` are tests or files that could not run at all; `red` names tests that failed or could not
    run, the first of them; `at` is the line of the summary: the last summary of an output counts."""

    how: str
    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    red: tuple[str, ...] = ()
    at: int = 0


Reader = Callable[[Sequence[str]], Counts | None]
"""Reads the lines of an output; None when they are not of its runner."""

_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")


def plain(line: str) -> str:
    """A line without colours and without what a carriage return has overwritten."""
    text = _ANSI.sub("", line) if "\x1b" in line else line
    return text.rstrip("\r").rpartition("\r")[2].rstrip()


def number(found: str | None) -> int:
    """A count; nothing counts as 0. An absurd one is cut off."""
    return int(found[:9]) if found else 0


def kept(names: Sequence[str]) -> tuple[str, ...]:
    """The first names, each once."""
    return tuple(dict.fromkeys(names))[:NAMES_KEPT]
