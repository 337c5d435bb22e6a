"""How setting values are shown: for people and for JSON."""

from __future__ import annotations

import json
from typing import Any

from claude_iterate.core.formats import plain, typed_duration
from claude_iterate.core.settings.catalogue import catalogue


def as_text(value: Any) -> str:
    """The value as the user would type it."""
    value = plain(value)
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def as_words(key: str, value: Any) -> str:
    """The value of a setting in a list: a duration as people write it, and words for nothing."""
    if value is None:
        return "not set"
    is_duration = catalogue()[key].kind.form == "duration" and isinstance(value, int | float)
    return typed_duration(value) if is_duration else as_text(value) or '""'


def shortened(number: int) -> str:
    """A count for a narrow column: `9876`, `12.3k`, `4.5M`."""
    if number < 10_000:
        return str(number)
    return f"{number / 1000:.1f}k" if number < 999_950 else f"{number / 1_000_000:.1f}M"
