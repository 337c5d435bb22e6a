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
    r"\b(weekly|daily|monthly|session|opus|sonnet|haiku) limit reached\b",
    r"out of extra usage",
    r"usage allocation has been disabled",
    r"usage limits\. you will regain access",
    r"group's usage limit",
)
"""What an error says when a usage limit is the reason; searched without regard to case."""

LONGEST = 8 * 86400.0
"""The longest window is a week; a reset further away than this is a mistake."""

JUST_PASSED = 900.0
"""Enforcement lags behind the time that a message names: one that has just passed is not the same time tomorrow."""

LONGEST_SESSION = 6 * 3600.0
"""The five-hour window, and something to spare."""

_PATIENCE = 1.0
"""Seconds that a user's pattern may take; one that runs wild is taken not to match."""

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


def means_limit(words: str, more: Iterable[str] = ()) -> bool:
    """True when an error's words speak of a usage limit. `more` are patterns of the user's."""
    words = words[:4000]
    return any(re.search(pattern, words, re.IGNORECASE) for pattern in PATTERNS) or any(
        _found(pattern, words) for pattern in more
    )


def _found(pattern: str, words: str) -> bool:
    import regex  # the standard library's cannot be stopped, and nothing else would go on meanwhile

    try:
        return regex.search(pattern, words, regex.IGNORECASE, timeout=_PATIENCE) is not None
    except TimeoutError:
        return False


def plausible(moment: float | None, now: float) -> float | None:
    """An epoch that can be a reset, or None. One that has just passed is a reset too: the message was on its way."""
    seconds = in_seconds(moment)
    return seconds if seconds is not None and now - JUST_PASSED < seconds <= now + LONGEST else None


def in_seconds(moment: float | None) -> float | None:
    """An epoch in seconds; milliseconds are recognised by their size."""
    return moment / 1000 if moment is not None and moment > 1e11 else moment


def reset_in(words: str, now: float, local: tzinfo | None = UTC) -> float | None:
    """The moment that a limit message names, as an epoch; None when it names none that makes sense.

    A clock time without a date is the next one in the zone that is named, else in the local one (None: this
    computer's, with its summer time); for the five-hour
    window it cannot be further away than that, so then it has passed, and nothing is known.
    """
    epoch = _EPOCH.search(words)
    if epoch:
        return plausible(float(epoch[1]), now)
    date = _ISO.search(words)
    if date:
        return plausible(_iso(date, local), now)
    clock = _CLOCK.search(words)
    if not clock:
        return None
    moment = plausible(_clock(clock, now, local), now)
    is_far = moment is not None and moment > now + LONGEST_SESSION
    return None if is_far and not clock["month"] and _SHORT_WINDOW.search(words) else moment


def _iso(found: re.Match[str], local: tzinfo | None) -> float | None:
    try:
        moment = datetime.strptime(f"{found[1]} {found[2]}", "%Y-%m-%d %H:%M").replace(
            tzinfo=UTC if found[3] else local
        )
    except ValueError:
        return None
    return moment.timestamp()


def _clock(found: re.Match[str], now: float, local: tzinfo | None) -> float | None:
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
    just_passed = here - timedelta(seconds=JUST_PASSED)
    nearest = (moment + timedelta(days=days) for days in (-1, 0, 1))
    return next(one for one in nearest if one > just_passed).timestamp()


def _dated(found: re.Match[str], moment: datetime, here: datetime) -> float | None:
    month = _MONTHS.get(found["month"][:3].lower())
    if month is None:
        return None
    dated = moment.replace(year=int(found["year"] or here.year), month=month, day=int(found["day"]))
    if not found["year"] and dated < here - timedelta(days=180):
        dated = dated.replace(year=dated.year + 1)
    return dated.timestamp()


def _zone(name: str | None, local: tzinfo | None) -> tzinfo | None:
    if not name:
        return local
    if name.upper() in {"UTC", "GMT", "Z"}:
        return UTC
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return local
