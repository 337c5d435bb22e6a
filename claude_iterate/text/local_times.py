"""Moments for people, in local time: `3 min ago`, `today 16:05`, `15 Oct 16:05`. JSON has them in UTC.

A moment is a text as views have it (ISO 8601); one that is not, or lies beyond the calendar, is shown as it is.
"""

from __future__ import annotations

from datetime import UTC, datetime


def when(moment: str, now: float) -> str:
    """How long ago within the last hour, else the day and the time."""
    local = _local(moment)
    if local is None:
        return moment
    passed = now - local.timestamp()
    if 0 <= passed < 60:
        return "just now"
    if 0 <= passed < 3600:
        return f"{int(passed // 60)} min ago"
    said = day_and_time(moment, now)
    return said if " " in said else f"today {said}"


def day_and_time(moment: str, now: float) -> str:
    """`16:05` today, `tomorrow 03:00`, `Mon 16:05` within a week, then with the date."""
    local = _local(moment)
    if local is None:
        return moment
    today = datetime.fromtimestamp(now, UTC).astimezone()
    clock = f"{local:%H:%M}"
    days = (local.date() - today.date()).days
    if abs(days) <= 1:
        return {-1: f"yesterday {clock}", 0: clock, 1: f"tomorrow {clock}"}[days]
    if abs(days) < 7:
        return f"{local:%a} {clock}"
    return f"{local.day} {local:%b} {clock}" if local.year == today.year else f"{local:%Y-%m-%d} {clock}"


def narrow(moment: str, now: float) -> str:
    """At most twelve columns, for a table: `16:05:09` today, `15 Oct 16:05` this year, `15 Oct 2025`."""
    local = _local(moment)
    if local is None:
        return moment
    today = datetime.fromtimestamp(now, UTC).astimezone()
    if local.date() == today.date():
        return f"{local:%H:%M:%S}"
    date = f"{local.day} {local:%b}"
    return f"{date} {local:%H:%M}" if local.year == today.year else f"{date} {local.year}"


def whole(moment: str) -> str:
    """Date and time to the second: `2025-10-15 16:05:09`."""
    local = _local(moment)
    return moment if local is None else f"{local:%Y-%m-%d %H:%M:%S}"


def _local(moment: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(moment)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone()
    except (ValueError, OverflowError, OSError):
        return None
