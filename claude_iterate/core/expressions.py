"""Regular expressions that are compiled when they are first used: most of ours wait for something that rarely comes."""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


class _Waiting:
    """Stands for a compiled pattern, and becomes as good as one."""

    def __init__(self, pattern: Any, flags: int) -> None:
        self._given = pattern, flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(*self._given), name)
        setattr(self, name, found)
        return found


def expression(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """As `re.compile`; a mistake in the pattern shows at its first use."""
    return cast("re.Pattern[AnyStr]", _Waiting(pattern, flags))
