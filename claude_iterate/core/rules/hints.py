"""Signs that a run gets nowhere. They are told once per streak and never decide: each may have a good reason."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import msgspec

from claude_iterate.core.events import Hints, Warned

_DONE = re.compile(
    r"(?i)\b(?:all (?:the )?(?:tasks|items|steps|work|requirements)\b.{0,40}\b(?:complete|completed|done|finished)"
    r"|(?:task|project|work|implementation|everything) (?:is|has been) (?:now |fully )?"
    r"(?:complete|completed|done|finished)"
    r"|nothing (?:is )?left to do|no (?:tasks|items) (?:are )?(?:left|remaining))\b"
)
_ENDS = ("complete", "done", "finished", "left", "remaining")
_THINGS = (
    *("task", "item", "steps", "work", "requirements"),
    *("project", "implementation", "everything", "nothing"),
)
"""Without one of the first and one of these there is nothing to search for: the pattern is large, and most runs never
compile it."""
_LAST_WORDS = 2000


class Hint(msgspec.Struct, frozen=True):
    """One sign: how often in a row it was seen, when it is told, and the words."""

    count: Callable[[Hints], int]
    told_at: int
    text: str
    hint: str


HINTS: tuple[Hint, ...] = (
    Hint(
        lambda now: now.shrunk,
        2,
        "Claude's output shrank by 70 % or more twice in a row.",
        "Perhaps it has little left to do, or does not get on. See: claude-iterate logs {name}",
    ),
    Hint(
        lambda now: now.testing,
        3,
        "Three iterations in a row reported nothing but tests.",
        "If the work is done, let it be checked: claude-iterate verify {name}",
    ),
    Hint(
        lambda now: now.said_done,
        3,
        "Claude said in three iterations in a row that all is done, and did not report `complete: true`.",
        "If it is done, let it be checked: claude-iterate verify {name}",
    ),
)


def says_done(words: str) -> bool:
    """The end of Claude's last message says that all is done. That is no claim: only the report is."""
    last = words[-_LAST_WORDS:].lower()
    likely = any(word in last for word in _ENDS) and any(word in last for word in _THINGS)
    return likely and _DONE.search(last) is not None


def told(before: Hints, now: Hints, name: str) -> Iterator[Warned]:
    """What has just become worth a word."""
    for row in HINTS:
        if row.count(now) == row.told_at and row.count(before) != row.told_at:
            yield Warned(row.text, row.hint.format(name=name))
