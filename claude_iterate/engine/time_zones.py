"""The time zones of this computer, for the core, which does not know where it runs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError


class LocalZone(tzinfo):
    """The computer's own zone, with its summer time. A fixed offset would be wrong after the next change."""

    def utcoffset(self, moment: datetime | None) -> timedelta | None:
        """As the system says for this moment."""
        return moment.replace(tzinfo=None).astimezone().utcoffset() if moment is not None else None

    def dst(self, _moment: datetime | None) -> None:
        """Not told apart from the offset."""

    def tzname(self, _moment: datetime | None) -> str:
        """It has no name that others would know."""
        return "local"

    def fromutc(self, moment: datetime) -> datetime:
        """A moment in UTC on this computer's clock."""
        return moment.replace(tzinfo=UTC).astimezone().replace(tzinfo=self)


def zone(name: str) -> tzinfo | None:
    """The time zone of this name; the computer's own if the name is empty, None if it is unknown."""
    if not name:
        return LocalZone()
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None
