"""The hours and days on which a run may work, by the clock on the wall: `22:00-06:00`, `mon-fri`.

A span over midnight belongs to the day on which it begins. Only what the clock shows counts: an hour that the change to
summer time leaves out does not come, and one that the change back repeats comes twice. The zone comes in as a value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache

import msgspec

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DAY = 24 * 60
_MINUTE = 60.0
_QUARTER = 15
"""Minutes. Clocks change at a whole quarter of an hour of UTC, everywhere."""
_HORIZON = 15 * _DAY
"""Minutes to search: a span of a few minutes once a week may fall into the hour that is left out."""


class Span(msgspec.Struct, frozen=True):
    """From `start` up to `end`, in minutes of the day on which it begins; `end` is up to a day later."""

    start: int
    end: int


def span(text: str) -> Span:
    """`22:00-06:00`; a ValueError for anything else and for an empty span."""
    first, dash, last = text.partition("-")
    start, end = _minutes(first), _minutes(last)
    if not dash or start in {_DAY, end}:
        raise ValueError(text)
    return Span(start, end if end > start else end + _DAY)


def _minutes(text: str) -> int:
    hour, colon, minute = text.strip().partition(":")
    if not (hour.isdecimal() and len(hour) <= 2 and minute.isdecimal() and len(minute) == 2 and colon):
        raise ValueError(text)
    minutes = int(hour) * 60 + int(minute)
    if int(minute) > 59 or minutes > _DAY:
        raise ValueError(text)
    return minutes


def days(text: str) -> frozenset[int]:
    """`mon-fri`, `sat` or `fri-mon` as numbers, Monday is 0; a ValueError for anything else."""
    first, dash, last = text.strip().lower().partition("-")
    start = DAYS.index(first.strip())
    end = DAYS.index(last.strip()) if dash else start
    return frozenset((start + more) % 7 for more in range((end - start) % 7 + 1))


@cache
def _plan(hours: tuple[str, ...], on: tuple[str, ...]) -> tuple[tuple[Span, ...], frozenset[int]]:
    """The spans, a whole day if none is named, and the days, all if none is named."""
    spans = tuple(span(text) for text in hours) or (Span(0, _DAY),)
    return spans, frozenset().union(*(days(text) for text in on)) if on else frozenset(range(7))


def is_open(clock: datetime, hours: tuple[str, ...], on: tuple[str, ...]) -> bool:
    """A run may work when the clock shows this."""
    spans, open_days = _plan(hours, on)
    minute, today = clock.hour * 60 + clock.minute, clock.weekday()
    return any(
        (today in open_days and one.start <= minute < one.end)
        or ((today - 1) % 7 in open_days and minute + _DAY < one.end)
        for one in spans
    )


def next_opening(wall: float, zone: tzinfo | None, hours: Iterable[str], on: Iterable[str]) -> float | None:
    """The moment (epoch seconds) at which the hours open; None when they are open now."""
    named = tuple(hours), tuple(on)
    for moment, clock in _minutes_from(wall, zone):
        if is_open(clock, *named):
            return None if moment == wall else moment
    return wall + _HORIZON * _MINUTE  # then the search starts again


def _minutes_from(wall: float, zone: tzinfo | None) -> Iterator[tuple[float, datetime]]:
    """This moment and each full minute after it, with what the clock shows then."""
    yield wall, datetime.fromtimestamp(wall, UTC).astimezone(zone)
    minute = int(wall // _MINUTE) + 1
    last = minute + _HORIZON
    while minute < last:
        clock = datetime.fromtimestamp(minute * _MINUTE, UTC).astimezone(zone)
        for ahead in range(_QUARTER - minute % _QUARTER):
            yield (minute + ahead) * _MINUTE, clock.replace(tzinfo=None) + timedelta(minutes=ahead)
        minute += _QUARTER - minute % _QUARTER
