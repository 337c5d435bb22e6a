"""The hours and days of a run, by the clock on the wall."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from claude_iterate.core.events import RunStarted, WaitEnded, WaitStarted
from claude_iterate.core.events.enums import Why
from claude_iterate.core.hours import days, is_open, next_opening, span
from claude_iterate.core.rules.between import decide
from claude_iterate.core.rules.verdicts import Begin, Wait
from claude_iterate.core.settings.declared import build
from claude_iterate.core.settings.layers import layer_from_document
from claude_iterate.core.state.fold import fold
from claude_iterate.errors import SettingsProblem
from tests.core.building import entries, facts

BERLIN = ZoneInfo("Europe/Berlin")
NEW_YORK = ZoneInfo("America/New_York")
NIGHT = ("22:00-06:00",)


def at(text: str, zone: ZoneInfo = BERLIN, fold: int = 0) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=zone, fold=fold).timestamp()


@pytest.mark.parametrize(
    ("now", "hours", "on", "opens"),
    [
        ("2026-11-17T12:00", NIGHT, (), "2026-11-17T22:00"),
        ("2026-11-17T21:59:59", NIGHT, (), "2026-11-17T22:00"),
        ("2026-11-17T22:00", NIGHT, (), None),
        ("2026-11-18T05:59:59", NIGHT, (), None),
        ("2026-11-18T06:00", NIGHT, (), "2026-11-18T22:00"),
        # A span over midnight belongs to the day on which it begins: Friday's ends on Saturday morning.
        ("2026-11-21T05:00", NIGHT, ("mon-fri",), None),
        ("2026-11-21T06:00", NIGHT, ("mon-fri",), "2026-11-23T22:00"),
        ("2026-11-23T05:00", NIGHT, ("mon-fri",), "2026-11-23T22:00"),
        # Days alone are whole days, and a range may go over the end of the week.
        ("2026-11-20T12:00", (), ("sat", "sun"), "2026-11-21T00:00"),
        ("2026-11-22T23:59:59", (), ("sat-sun",), None),
        ("2026-11-18T12:00", (), ("sun-tue",), "2026-11-22T00:00"),
        ("2026-11-18T12:30", ("12:00-12:30", "13:00-14:00"), (), "2026-11-18T13:00"),
        ("2026-11-18T12:00", ("00:00-24:00",), (), None),
    ],
)
def test_when_a_run_may_work(now: str, hours: tuple[str, ...], on: tuple[str, ...], opens: str | None) -> None:
    """Open from the first second of a span up to, not including, its last minute; else the next opening."""
    assert next_opening(at(now), BERLIN, hours, on) == (None if opens is None else at(opens))


def test_the_change_to_summer_time() -> None:
    """On 29 March 2026 the clock jumps from 02:00 to 03:00. A night is an hour shorter and ends by the clock; a span
    that begins within the missing hour opens when the clock has jumped over its beginning; one that lies in it does
    not come that day."""
    assert next_opening(at("2026-03-29T05:59"), BERLIN, NIGHT, ()) is None
    assert next_opening(at("2026-03-29T06:00"), BERLIN, NIGHT, ()) == at("2026-03-29T22:00")
    assert at("2026-03-29T06:00") - at("2026-03-28T22:00") == 7 * 3600
    assert next_opening(at("2026-03-29T01:00"), BERLIN, ("02:30-05:00",), ()) == at("2026-03-29T03:00")
    assert next_opening(at("2026-03-29T01:00"), BERLIN, ("02:10-02:40",), ()) == at("2026-03-30T02:10")
    assert next_opening(at("2026-03-29T01:00"), BERLIN, ("02:10-02:40",), ("sun",)) == at("2026-04-05T02:10")


def test_the_change_back() -> None:
    """On 1 November 2026 the clock in New York shows the hour from 01:00 to 02:00 twice. A night is an hour longer;
    what is open in that hour is open in both, and closed between them."""
    zone = NEW_YORK
    assert next_opening(at("2026-11-01T05:59", zone), zone, NIGHT, ()) is None
    assert at("2026-11-01T06:00", zone) - at("2026-10-31T22:00", zone) == 9 * 3600
    half = ("01:00-01:30",)
    assert next_opening(at("2026-11-01T01:10", zone), zone, half, ()) is None
    assert next_opening(at("2026-11-01T01:30", zone), zone, half, ()) == at("2026-11-01T01:00", zone, fold=1)
    assert next_opening(at("2026-11-01T01:10", zone, fold=1), zone, half, ()) is None
    assert next_opening(at("2026-11-01T01:30", zone, fold=1), zone, half, ()) == at("2026-11-02T01:00", zone)


@given(
    st.floats(at("2026-01-01T00:00"), at("2027-01-01T00:00")),
    st.integers(0, 1439),
    st.integers(0, 1439),
    st.sampled_from([BERLIN, NEW_YORK, ZoneInfo("Australia/Lord_Howe"), ZoneInfo("Asia/Kathmandu")]),
)
def test_a_wait_ends_at_the_first_open_minute(wall: float, start: int, end: int, zone: ZoneInfo) -> None:
    """Whatever the span, the zone and the moment: closed until the opening, open then."""
    if start == end:
        return
    hours = (f"{start // 60:02}:{start % 60:02}-{end // 60:02}:{end % 60:02}",)
    opens = next_opening(wall, zone, hours, ())
    assert (opens is None) == is_open(datetime.fromtimestamp(wall, zone), hours, ())
    if opens is not None:
        assert is_open(datetime.fromtimestamp(opens, zone), hours, ())
        assert not is_open(datetime.fromtimestamp(max(wall, opens - 60), zone), hours, ())


@pytest.mark.parametrize(
    "text",
    [
        "25:00-26:00",
        "06:00-06:00",
        "24:00-06:00",
        "22:00",
        "-",
        "22-6",
        "22:60-23:00",
        "22:00-24:01",
        "a:b-c:d",
        "x2:00",
    ],
)
def test_hours_that_never_open_are_refused(text: str) -> None:
    """When the setting is read, with what was expected; nothing waits for an hour that does not come."""
    with pytest.raises(ValueError, match=r".*"):
        span(text)
    with pytest.raises(SettingsProblem, match=r"limits\.hours") as refused:
        layer_from_document("project", "file", {"limits": {"hours": [text]}})
    assert "22:00-06:00" in refused.value.hint


@pytest.mark.parametrize("text", ["monday", "mon-", "mon-tue-wed", "", "1-5"])
def test_days_that_are_none_are_refused(text: str) -> None:
    """The same for days."""
    with pytest.raises(ValueError, match=r".*"):
        days(text)
    with pytest.raises(SettingsProblem, match=r"limits\.days") as refused:
        layer_from_document("project", "file", {"limits": {"days": [text]}})
    assert "mon-fri" in refused.value.hint


STARTED = RunStarted("r", "w", "loop", 9, 1, "h", "0", ("c",))
NOON = at("2026-11-17T12:00")
TEN = at("2026-11-17T22:00")


@pytest.mark.setting("limits.hours")
def test_outside_the_hours_a_run_waits() -> None:
    """Until they open, then it begins. The wait is an ordinary one, and `limits.max_wait` does not cut it."""
    closed = replace(facts(1.0, NOON, hours=NIGHT, max_wait=60.0), zone=BERLIN)
    started = decide(fold(entries(STARTED)), closed)
    assert isinstance(started, WaitStarted)
    assert (started.why, started.until) == (Why.SCHEDULE, TEN)
    assert "22:00-06:00" in started.detail
    waiting = fold(entries(STARTED, started))
    waiting = replace(waiting, waiting=replace(waiting.waiting, ends=1.0 + TEN - NOON))
    assert decide(waiting, closed) == Wait(1.0 + TEN - NOON)
    assert decide(waiting, replace(closed, wall=TEN, now=1.0 + TEN - NOON)) == WaitEnded(Why.SCHEDULE)
    set_back = replace(closed, now=100.0 + TEN - NOON)  # no longer than was planned; then the hours are asked again
    assert decide(waiting, set_back) == WaitEnded(Why.SCHEDULE)
    assert decide(waiting, replace(closed, now=101.0, wall=NOON - 5000)) == Wait(1.0 + TEN - NOON)
    assert decide(fold(entries(STARTED)), replace(closed, wall=TEN)) == Begin(1)


@pytest.mark.setting("limits.days")
def test_on_other_days_a_run_waits() -> None:
    """A Tuesday is no weekend."""
    closed = replace(facts(1.0, NOON, days=("sat-sun",)), zone=BERLIN)
    started = decide(fold(entries(STARTED)), closed)
    assert isinstance(started, WaitStarted)
    assert started.until == at("2026-11-21T00:00")


def test_retry_waives_the_hours_until_they_would_have_opened() -> None:
    """The user wants to work now: the run goes on, and keeps to the hours again the next day."""
    closed = replace(facts(1.0, NOON, hours=NIGHT), zone=BERLIN)
    wait = WaitStarted(Why.SCHEDULE, TEN)
    told = fold(entries(STARTED, wait, WaitEnded(Why.SCHEDULE, by="retry")))
    assert decide(told, closed) == Begin(1)
    assert isinstance(decide(told, replace(closed, wall=at("2026-11-18T07:00"))), WaitStarted)


def test_a_wait_ends_when_the_setting_is_gone() -> None:
    """A run that takes over the wait of a killed one goes by the settings of today."""
    waiting = fold(entries(STARTED, WaitStarted(Why.SCHEDULE, TEN)))
    assert decide(waiting, replace(facts(1.0, NOON), zone=BERLIN)) == WaitEnded(Why.SCHEDULE)


def test_a_dry_run_and_verify_do_not_wait() -> None:
    """The first calls no Claude, the second is what the user typed just now."""
    dry = RunStarted("r", "w", "loop", 9, 1, "h", "0", ("c",), dry_run=True)
    closed = replace(facts(1.0, NOON, hours=NIGHT), zone=BERLIN)
    assert decide(fold(entries(dry)), closed) == Begin(1)
    verify = replace(facts(1.0, NOON, hours=NIGHT, purpose="verify"), zone=BERLIN)
    assert not isinstance(decide(fold(entries(STARTED)), verify), WaitStarted)


def test_the_settings_are_lists_of_texts() -> None:
    """As they were written, so that `config` shows them as they are."""
    layer = layer_from_document("project", "file", {"limits": {"hours": ["22:00-06:00"], "days": ["Mon-Fri"]}})
    limits = build(layer.values).limits
    assert (limits.hours, limits.days) == (("22:00-06:00",), ("Mon-Fri",))
