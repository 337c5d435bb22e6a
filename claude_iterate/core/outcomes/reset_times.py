"""When a usage limit ends, as an error or an event names it.

A moment that makes no sense (past, years ahead) is dropped: without a moment the run probes with growing pauses. Zones
come in as a value, because the core does not know where it runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo

Zones = Callable[[str], tzinfo | None]
"""The time zone of a name. None, for an empty or unknown one, is the computer's own zone."""


def utc_only(_name: str) -> tzinfo:
    """Zones for a computer that knows none."""
    return UTC


LONGEST = 8 * 86400.0
"""The longest window is a week; a reset further away than this is a mistake."""

JUST_PASSED = 900.0
"""Enforcement lags behind the time that a message names: one that has just passed is not the same time tomorrow."""

LONGEST_SESSION = 6 * 3600.0
"""The five-hour window, and something to spare."""

_EPOCH = re.compile(r"\|\s*(\d{10,13})\b")
_ISO = re.compile(
    r"\b(?:on|at)\s+(\d{4}-\d{2}-\d{2})(?:\s+at\s+|[T ])(\d{1,2}:\d{2})(?::\d{2})?\s*(UTC|Z)?", re.IGNORECASE
)
_CLOCK = re.compile(
    r"resets?(?:\s+at)?\s+"
    r"(?:(?P<month>[A-Z][a-z]{2,8})\.?\s+(?P<day>\d{1,2})(?:,?\s+(?P<year>\d{4}))?(?:,|\s+at)?\s+)?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))?\s*(?P<half>[ap]\.?m\.?)?"
    r"(?:\s*\((?P<zone>[A-Za-z_+\-/0-9]{1,60})\))?",
    re.IGNORECASE,
)
_SHORT_WINDOW = re.compile(r"session limit|\b5-hour|\bfive-hour", re.IGNORECASE)
_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTHS = {name: number for number, name in enumerate(_NAMES, 1)}


def plausible(moment: float | None, now: float) -> float | None:
    """An epoch that can be a reset, or None. One that has just passed is a reset too: the message was on its way."""
    seconds = in_seconds(moment)
    return seconds if seconds is not None and now - JUST_PASSED < seconds <= now + LONGEST else None


def in_seconds(moment: float | None) -> float | None:
    """An epoch in seconds; milliseconds are recognised by their size."""
    return moment / 1000 if moment is not None and moment > 1e11 else moment


def reset_in(words: str, now: float, zones: Zones = utc_only) -> float | None:
    """The moment that a limit message names, as an epoch; None when it names none that makes sense.

    A clock time without a date is the next one in the zone that is named, else in the computer's. The reset of the
    five-hour window cannot be further away than that: then the time has passed, and nothing is known.
    """
    epoch = _EPOCH.search(words)
    if epoch:
        return plausible(float(epoch[1]), now)
    date = _ISO.search(words)
    if date:
        return plausible(_iso(date, zones), now)
    clock = _CLOCK.search(words)
    if not clock:
        return None
    moment = plausible(_clock(clock, now, zones), now)
    is_far = moment is not None and moment > now + LONGEST_SESSION
    return None if is_far and not clock["month"] and _SHORT_WINDOW.search(words) else moment


def _iso(found: re.Match[str], zones: Zones) -> float | None:
    zone = UTC if found[3] else zones("")
    try:
        return datetime.strptime(f"{found[1]} {found[2]}", "%Y-%m-%d %H:%M").replace(tzinfo=zone).timestamp()
    except (ValueError, OverflowError):
        return None


def _clock(found: re.Match[str], now: float, zones: Zones) -> float | None:
    zone = _zone(found["zone"], zones)
    here = datetime.fromtimestamp(now, zone)
    hour, minute = int(found["hour"]), int(found["minute"] or 0)
    half = (found["half"] or "").lower().replace(".", "")
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    try:
        moment = here.replace(hour=hour, minute=minute, second=0, microsecond=0)
        if found["month"]:
            return _on_date(found, moment, here)
    except ValueError:
        return None
    just_passed = here - timedelta(seconds=JUST_PASSED)
    nearest = (moment + timedelta(days=days) for days in (-1, 0, 1))
    return next(one for one in nearest if one > just_passed).timestamp()


def _on_date(found: re.Match[str], moment: datetime, here: datetime) -> float | None:
    month = _MONTHS.get(found["month"][:3].lower())
    if month is None:
        return None
    named = moment.replace(year=int(found["year"] or here.year), month=month, day=int(found["day"]))
    if not found["year"] and named < here - timedelta(days=180):
        named = named.replace(year=named.year + 1)
    return named.timestamp()


def _zone(name: str | None, zones: Zones) -> tzinfo | None:
    if name and name.upper() in {"UTC", "GMT", "Z"}:
        return UTC
    return zones(name or "") or zones("")
