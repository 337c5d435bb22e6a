"""Limit messages: every form seen in the wild, and moments that make no sense."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, timezone, tzinfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_iterate.core.events import ResultReported
from claude_iterate.core.events.enums import Kind
from claude_iterate.core.outcomes.classes import classify
from claude_iterate.core.outcomes.reset_times import JUST_PASSED, LONGEST, plausible, reset_in
from claude_iterate.core.rules.waits import backoff, probe
from claude_iterate.engine.run_spec import zone
from tests.core.building import evidence

NOW = datetime(2026, 2, 1, 12, 0, tzinfo=UTC).timestamp()
LOCAL = timezone(timedelta(hours=2))


def here(name: str) -> tzinfo | None:
    return zone(name) if name else LOCAL


def at(year: int, month: int, day: int, hour: int, minute: int = 0, offset: float = 0) -> float:
    return datetime(year, month, day, hour, minute, tzinfo=timezone(timedelta(hours=offset))).timestamp()


@pytest.mark.parametrize(
    ("words", "moment"),
    [
        (f"Claude AI usage limit reached|{int(NOW) + 3600}", NOW + 3600),
        ("Claude usage limit reached. Your limit will reset at 7pm (Asia/Tokyo).", at(2026, 2, 2, 19, 0, 9)),
        ("5-hour limit reached ∙ resets 6pm", at(2026, 2, 1, 18, 0, 2)),
        ("5-hour limit reached • resets 7:30pm", at(2026, 2, 1, 19, 30, 2)),
        ("You've hit your limit · resets 1pm (Europe/Lisbon)", at(2026, 2, 1, 13)),
        ("You've hit your limit · resets Feb 4, 9pm (Africa/Johannesburg)", at(2026, 2, 4, 21, 0, 2)),
        ("You've hit your session limit · resets 1:44pm (UTC)", at(2026, 2, 1, 13, 44)),
        ("You've hit your weekly limit · resets Feb 5, 3:21pm (UTC)", at(2026, 2, 5, 15, 21)),
        ("You've hit your Opus limit", None),
        ("You're out of extra usage · resets 2:30pm (Asia/Tokyo)", at(2026, 2, 2, 14, 30, 9)),
        ("You've hit your individual spend limit · run /usage-credits", None),
        ("You've hit your org's monthly usage limit", None),
        (
            "API Error: 400 You have reached your API usage limits. You will regain access on 2026-02-03 at 00:00 UTC.",
            at(2026, 2, 3, 0),
        ),
    ],
)
def test_every_form_is_known_with_its_moment(words: str, moment: float | None) -> None:
    """Epochs, clock times with and without a zone, dates; some name no moment at all."""
    assert means_limit(words)
    assert reset_in(words, NOW, here) == moment


@pytest.mark.parametrize(
    "words",
    [
        "API Error: Server is temporarily limiting requests (not your usage limit) · Rate limited",
        "API Error: Request rejected (429) · slow down",
        "API Error: 529 Overloaded",
        "Credit balance is too low",
        "Your usage allocation has been disabled by your admin",
        "Extra usage is required for long context requests.",
        "Prompt is too long",
        "Context limit reached · /compact or /clear to continue",
        "EMFILE: open files limit reached",
        "",
    ],
)
def test_other_errors_are_no_limit(words: str) -> None:
    """Overloads, throttles, billing and sizes have their own classes."""
    assert not means_limit(words)


def means_limit(words: str, patterns: tuple[str, ...] = ()) -> bool:
    failed = evidence(ResultReported("success", True, words), 1, patterns=patterns)
    return classify(failed).kind == Kind.USAGE_LIMIT


def test_a_user_can_add_patterns() -> None:
    """Wording changes between releases."""
    assert not means_limit("The well is dry")
    assert means_limit("The well is dry", (r"well is \w+",))


def test_a_pattern_that_runs_wild_does_not_hold_us_up() -> None:
    """It is given up after a moment, and does not match."""
    assert not means_limit("The well is a" + "a" * 3000 + "!", (r"(?:.?){9,}(?:.?){9,}(?:.?){9,}(?:.?){9,}(a|b|ab)*c",))


def test_a_time_that_has_just_passed_is_not_the_same_time_tomorrow() -> None:
    """Enforcement lags behind what the message says; midnight in between does not matter."""
    assert reset_in("You've hit your limit · resets 11:58am (UTC)", NOW) == NOW - 120
    midnight = datetime(2026, 2, 2, 0, 3, tzinfo=UTC).timestamp()
    assert reset_in("You've hit your limit · resets 11:58pm (UTC)", midnight) == midnight - 300
    assert reset_in("You've hit your limit · resets 11:30am (UTC)", NOW) == NOW + 86400 - 1800


@pytest.mark.parametrize(
    "words", ["5-hour limit reached ∙ resets 11:30am", "You've hit your session limit · resets 9pm"]
)
def test_five_hours_are_no_day(words: str) -> None:
    """The short window's reset is near; a clock time far ahead has passed, so it is looked for with probes."""
    assert reset_in(words, NOW) is None
    assert reset_in(words.replace("resets", "resets Feb 2,"), NOW) is not None


def test_summer_time_begins_while_we_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """7 o'clock on this computer is 7 o'clock after the change."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        saturday = datetime(2026, 3, 28, 23, 0, tzinfo=UTC).timestamp()  # clocks change at 01:00 UTC
        assert reset_in("You've hit your limit · resets 7am", saturday, zone) == at(2026, 3, 29, 5)
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("place", ["UTC", "Asia/Tokyo"])
def test_the_machines_own_zone_plays_no_part(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same words give the same moment wherever the core runs: only the zones that it was given count."""
    monkeypatch.setenv("TZ", place)
    time.tzset()
    try:
        assert reset_in("5-hour limit reached ∙ resets 6pm", NOW, here) == at(2026, 2, 1, 18, 0, 2)
        assert reset_in("5-hour limit reached ∙ resets 4pm", NOW) == at(2026, 2, 1, 16)
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    ("moment", "kept"),
    [
        (NOW + 60, NOW + 60),
        ((NOW + 60) * 1000, NOW + 60),
        (NOW - 60, NOW - 60),
        (NOW - 3600, None),
        (0, None),
        (-5, None),
        (NOW + 10 * 365 * 86400, None),
        (None, None),
    ],
)
def test_moments_that_make_no_sense_are_dropped(moment: float | None, kept: float | None) -> None:
    """Milliseconds are recognised; the past and far years are not a reset."""
    assert plausible(moment, NOW) == kept


def test_a_date_at_the_turn_of_the_year_is_in_the_next_one() -> None:
    """`Jan 2` said on December 30."""
    eve = datetime(2026, 12, 30, tzinfo=UTC).timestamp()
    assert reset_in("resets Jan 2, 9am (UTC)", eve) == at(2027, 1, 2, 9)


@pytest.mark.parametrize(
    "words", ["resets 99:99", "resets Foo 3, 9pm", "resets Feb 31, 9pm (UTC)", "resets 3pm (No/Where)"]
)
def test_nonsense_is_survived(words: str) -> None:
    """It gives no moment, or one within a week; it never raises."""
    moment = reset_in(words, NOW, here)
    assert moment is None or NOW - JUST_PASSED < moment <= NOW + LONGEST


@given(st.text(alphabet="resets 0123456789:apm(UTC),JanFebd|-T"), st.floats(1e9, 4e9))
def test_any_words_are_survived(words: str, now: float) -> None:
    """Whatever they say."""
    reset_in(words, now, here)


def test_pauses_double_up_to_a_ceiling() -> None:
    """Overloads from 5 s to 5 min, with up to a quarter by chance; probes from 5 min to an hour."""
    assert [backoff(n, 0.0) for n in (1, 2, 3, 7, 50)] == [5, 10, 20, 300, 300]
    assert backoff(1, 1.0) == 6.25
    assert [probe(n) for n in (1, 2, 3, 9)] == [300, 600, 1200, 3600]
