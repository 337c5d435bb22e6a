"""Moments as people read them, in any time zone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from claude_iterate.text import local_times

NOW = 1_763_388_000.0  # 2025-11-17T14:00:00Z, a Monday


@pytest.fixture
def in_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Sets the local time zone, in the form that needs no data of the machine."""

    def put(zone: str) -> None:
        monkeypatch.setenv("TZ", zone)
        time.tzset()

    yield put
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("moment", "when", "day_and_time", "narrow"),
    [
        ("2025-11-17T13:59:30Z", "just now", "13:59", "13:59:30"),
        ("2025-11-17T13:57:00Z", "3 min ago", "13:57", "13:57:00"),
        ("2025-11-17T13:00:01Z", "59 min ago", "13:00", "13:00:01"),
        ("2025-11-17T13:00:00Z", "today 13:00", "13:00", "13:00:00"),
        ("2025-11-17T14:05:00Z", "today 14:05", "14:05", "14:05:00"),
        ("2025-11-16T23:59:59Z", "yesterday 23:59", "yesterday 23:59", "16 Nov 23:59"),
        ("2025-11-18T03:00:00Z", "tomorrow 03:00", "tomorrow 03:00", "18 Nov 03:00"),
        ("2025-11-12T08:00:00Z", "Wed 08:00", "Wed 08:00", "12 Nov 08:00"),
        ("2025-11-10T08:00:00Z", "10 Nov 08:00", "10 Nov 08:00", "10 Nov 08:00"),
        ("2024-10-05T08:00:00.000Z", "2024-10-05 08:00", "2024-10-05 08:00", "5 Oct 2024"),
        ("2025-11-17T15:57:00+02:00", "3 min ago", "13:57", "13:57:00"),
        ("2025-11-17T13:57:00", "3 min ago", "13:57", "13:57:00"),
        ("soon", "soon", "soon", "soon"),
        ("", "", "", ""),
    ],
)
def test_a_moment_is_told_as_people_tell_it(
    in_zone: Callable[[str], None], moment: str, when: str, day_and_time: str, narrow: str
) -> None:
    """The nearer, the shorter; what is not a moment is shown as it is."""
    in_zone("UTC0")
    assert local_times.when(moment, NOW) == when
    assert local_times.day_and_time(moment, NOW) == day_and_time
    assert local_times.narrow(moment, NOW) == narrow
    assert len(local_times.narrow(moment, NOW)) <= 12


@pytest.mark.parametrize(
    ("zone", "when", "whole"),
    [
        ("JST-9", "today 00:30", "2025-11-17 00:30:00"),
        ("UTC0", "yesterday 15:30", "2025-11-16 15:30:00"),
        ("EST5", "yesterday 10:30", "2025-11-16 10:30:00"),
    ],
)
def test_days_are_local_days(in_zone: Callable[[str], None], zone: str, when: str, whole: str) -> None:
    """Today begins at midnight here, wherever that is."""
    in_zone(zone)
    assert local_times.when("2025-11-16T15:30:00Z", NOW) == when
    assert local_times.whole("2025-11-16T15:30:00Z") == whole
    assert local_times.whole("never") == "never"
