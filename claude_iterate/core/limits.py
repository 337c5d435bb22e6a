"""Usage limits: which words mean one, and when it ends. The patterns are data, and a user can add to them.

Only error channels are ever searched. A moment that makes no sense (past, years ahead, milliseconds) is mended or
dropped: without a moment the runner probes with growing pauses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, tzinfo

PATTERNS = (
    r"hit your .{0,40}limit",
    r"(?<!not your )usage limit",
    r"spend limit",
    r"\d-hour limit",
    r"\blimit reached\b",
    r"out of extra usage",
    r"usage allocation has been disabled",
    r"usage limits\. you will regain access",
    r"group's usage limit",
)
"""What an error says when a usage limit is the reason; searched without regard to case."""

LONGEST = 8 * 86400.0
"""The longest window is a week; a reset further away than this is a mistake."""

JUST_PASSED = 900.0

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
_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTHS = {name: number for number, name in enumerate(_NAMES, 1)}


def means_limit(words: str, more: Iterable[str] = ()) -> bool:
    """True when an error's words speak of a usage limit. `more` are patterns of the user's."""
    return any(re.search(pattern, words[:4000], re.IGNORECASE) for pattern in (*PATTERNS, *more))


def plausible(moment: float | None, now: float) -> float | None:
    """An epoch in seconds that can be a reset, or None. Milliseconds are recognised by their size; one that has just
    passed is a reset too: the message was on its way."""
    if moment is None:
        return None
    seconds = moment / 1000 if moment > 1e11 else moment
    return seconds if now - JUST_PASSED < seconds <= now + LONGEST else None


def reset_in(words: str, now: float, local: tzinfo = UTC) -> float | None:
    """The moment that a limit message names, as an epoch; None when it names none that makes sense.

    A clock time without a date is the next one in the zone that is named, else in the local one.
    """
    epoch = _EPOCH.search(words)
    if epoch:
        return plausible(float(epoch[1]), now)
    date = _ISO.search(words)
    if date:
        return plausible(_iso(date, local), now)
    clock = _CLOCK.search(words)
    return plausible(_clock(clock, now, local), now) if clock else None


def _iso(found: re.Match[str], local: tzinfo) -> float | None:
    try:
        moment = datetime.strptime(f"{found[1]} {found[2]}", "%Y-%m-%d %H:%M").replace(
            tzinfo=UTC if found[3] else local
        )
    except ValueError:
        return None
    return moment.timestamp()


def _clock(found: re.Match[str], now: float, local: tzinfo) -> float | None:
    zone = _zone(found["zone"], local)
    here = datetime.fromtimestamp(now, zone)
    hour, minute = int(found["hour"]), int(found["minute"] or 0)
    half = (found["half"] or "").lower().replace(".", "")
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    try:
        moment = here.replace(hour=hour, minute=minute, second=0, microsecond=0)
        if found["month"]:
            return _dated(found, moment, here)
    except ValueError:
        return None
    return (moment if moment > here else moment + timedelta(days=1)).timestamp()


def _dated(found: re.Match[str], moment: datetime, here: datetime) -> float | None:
    month = _MONTHS.get(found["month"][:3].lower())
    if month is None:
        return None
    dated = moment.replace(year=int(found["year"] or here.year), month=month, day=int(found["day"]))
    if not found["year"] and dated < here - timedelta(days=180):
        dated = dated.replace(year=dated.year + 1)
    return dated.timestamp()


def _zone(name: str | None, local: tzinfo) -> tzinfo:
    if not name:
        return local
    if name.upper() in {"UTC", "GMT", "Z"}:
        return UTC
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return local
