"""Durations as people write them: `90`, `"90s"`, `"1h30m"`, `"1.5h"`."""

from __future__ import annotations

import math
import re

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")


def parse(text: str) -> float:
    """Seconds; raises ValueError with what was expected."""
    compact = text.strip().lower().replace(" ", "")
    try:
        seconds = float(compact)
    except ValueError:
        if not re.fullmatch(rf"(?:{_PART.pattern})+", compact):
            raise ValueError("a duration, such as 90, 90s, 5m or 1h30m") from None
        seconds = sum(float(number) * UNITS[unit] for number, unit in _PART.findall(compact))
    if not math.isfinite(seconds):
        raise ValueError("a duration, such as 90, 90s, 5m or 1h30m")
    return seconds
