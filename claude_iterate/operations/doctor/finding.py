"""What a check of `doctor` found."""

from __future__ import annotations

from typing import Literal, NamedTuple

FIX = "Fix it: claude-iterate doctor --fix"


class Finding(NamedTuple):
    """ok, warning (may stay as it is) or problem (must be fixed), and how to fix it."""

    check: str
    state: Literal["ok", "warning", "problem"]
    message: str
    fix: str = ""
