"""When a usage limit ends. Claude Code's event says it; only the limits of an API key are announced in words alone.

A moment that makes no sense (past, years ahead) is dropped: without a moment the run probes with growing pauses.
"""

from __future__ import annotations

import re
from datetime import datetime

LONGEST = 8 * 86400.0
"""The longest window is a week; a reset further away than this is a mistake."""

JUST_PASSED = 900.0
"""The message was on its way, and enforcement lags behind the time that it names."""

_REGAINED = re.compile(r"regain access on (\d{4}-\d\d-\d\d) at (\d\d:\d\d) UTC")


def plausible(moment: float | None, now: float) -> float | None:
    """An epoch that can be a reset, or None. One that has just passed is a reset too."""
    return moment if moment is not None and now - JUST_PASSED < moment <= now + LONGEST else None


def reset_in(words: str, now: float) -> float | None:
    """The moment that the API names, as an epoch; None when it names none that makes sense."""
    found = _REGAINED.search(words)
    try:
        return plausible(datetime.fromisoformat(f"{found[1]}T{found[2]}Z").timestamp(), now) if found else None
    except ValueError:
        return None
