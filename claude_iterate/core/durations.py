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


def describe(seconds: float) -> str:
    """Short, for people: `0.4s`, `12s`, `3m 05s`, `1h 02m`."""
    seconds = max(0.0, seconds)
    if seconds < 9.95:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02d}s"
    if whole < 86400:
        return f"{whole // 3600}h {whole % 3600 // 60:02d}m"
    return f"{whole // 86400}d {whole % 86400 // 3600:02d}h"
