"""Which words of an error mean a usage limit. The patterns are data, and a user can add to them.

Only error channels are ever searched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

PATTERNS = (
    r"hit your .{0,40}limit",
    r"(?<!not your )usage limit",
    r"spend limit",
    r"\d-hour limit",
    r"\b(weekly|daily|monthly|session|opus|sonnet|haiku) limit reached\b",
    r"out of extra usage",
    r"usage limits\. you will regain access",
    r"group's usage limit",
)
"""What an error says when a usage limit is the reason; searched without regard to case."""

_PATIENCE = 1.0
"""Seconds that a user's pattern may take; one that runs wild is taken not to match."""


def means_limit(words: str, more: Iterable[str] = ()) -> bool:
    """True when an error's words speak of a usage limit. `more` are patterns of the user's."""
    words = words[:4000]
    return any(re.search(pattern, words, re.IGNORECASE) for pattern in PATTERNS) or any(
        _found(pattern, words) for pattern in more
    )


def _found(pattern: str, words: str) -> bool:
    import regex  # the standard library's cannot be stopped, and nothing else would go on meanwhile

    try:
        return regex.search(pattern, words, regex.IGNORECASE, timeout=_PATIENCE) is not None
    except TimeoutError:
        return False
