"""How setting values are shown: for people and for JSON, with secrets masked."""

from __future__ import annotations

import json
import re
from typing import Any

from claude_iterate.core.formats import plain, typed_duration
from claude_iterate.core.secrets.patterns import is_secret_name, masked
from claude_iterate.core.settings.catalogue import catalogue

COVER = "***"


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


def masked_setting(key: str, value: Any) -> Any:
    """The value with secrets replaced by `***`."""
    if key == "notify.url" and isinstance(value, str):
        # User and password before the host, the query, and the end of a long path: there services put their tokens.
        without_user = re.sub(r"//[^/@\s]*@", f"//{COVER}@", value)
        without_query = re.sub(r"\?.*$", f"?{COVER}", without_user)
        return re.sub(r"(//[^/?]+(?:/[^/?]+){2,}/)[^/?]+", rf"\g<1>{COVER}", without_query)
    if key == "notify.secret" and value:
        return COVER
    if key == "notify.headers" and isinstance(value, dict):
        return dict.fromkeys(value, COVER)
    if key == "claude.env" and isinstance(value, dict):
        value = {name: COVER if is_secret_name(name) else text for name, text in value.items()}
    return masked_value(value)


def masked_value(value: Any) -> Any:
    """The value of any setting with everything that looks like a secret replaced by `***`."""
    if isinstance(value, str):
        return masked(value, COVER)
    if isinstance(value, list | tuple):
        return [masked_value(item) for item in value]
    if isinstance(value, dict):
        return {name: masked_value(item) for name, item in value.items()}
    return value
