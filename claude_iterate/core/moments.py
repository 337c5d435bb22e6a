"""Moments as files and documents write them: ISO 8601 in UTC, with a Z, to the second."""

from __future__ import annotations

from datetime import UTC, datetime

_FORM = "%Y-%m-%dT%H:%M:%SZ"


def written(epoch: float) -> str:
    """The moment of an epoch."""
    return datetime.fromtimestamp(epoch, UTC).strftime(_FORM)
