"""What a run learns from runs beside it."""

from __future__ import annotations

import msgspec


class HeldBack(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """Another run, of the workspace `by`, met a usage limit: this one makes no call before `until` (epoch seconds)."""

    by: str
    until: float
    detail: str = ""
