"""How setting values are shown: as people and JSON want them, with secrets covered."""

from __future__ import annotations

import json
import re
from typing import Any

_SECRET_NAME = re.compile(r"key|token|secret|passw|credential|auth", re.IGNORECASE)
COVER = "***"


def plain(value: Any) -> Any:
    """The value as JSON has it: lists for tuples, whole numbers without a point."""
    if isinstance(value, tuple):
        return list(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def as_text(value: Any) -> str:
    """The value as a person would type it."""
    value = plain(value)
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def covered(key: str, value: Any) -> Any:
    """The value with what must not be seen over a shoulder replaced by `***`."""
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
        return {name: COVER if _SECRET_NAME.search(name) else text for name, text in value.items()}
    return value
