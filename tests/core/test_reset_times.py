"""Limit messages: every form seen in the wild, and moments that make no sense."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from claude_iterate.core.events import ResultReported
from claude_iterate.core.events.enums import Kind
from claude_iterate.core.outcomes.classes import classify, plausible
from claude_iterate.core.rules.waits import backoff, probe
from tests.core.building import evidence

NOW = datetime(2026, 2, 1, 12, 0, tzinfo=UTC).timestamp()


def reset_in(words: str) -> float | None:
    return classify(evidence(ResultReported("success", True, words), 1, now=NOW)).resets_at


@pytest.mark.parametrize(
    "words",
    [
        f"Claude AI usage limit reached|{int(NOW) + 3600}",
        "Claude usage limit reached. Your limit will reset at 7pm (Asia/Tokyo).",
        "5-hour limit reached ∙ resets 6pm",
        "You've hit your limit · resets Feb 4, 9pm (Africa/Johannesburg)",
        "You've hit your session limit · resets 1:44pm (UTC)",
        "You've hit your Opus limit",
        "You're out of extra usage · resets 2:30pm (Asia/Tokyo)",
        "You've hit your individual spend limit · run /usage-credits",
        "You've hit your org's monthly usage limit",
    ],
)
def test_every_form_of_a_limit_is_known(words: str) -> None:
    """Its moment is in Claude Code's event, not in the words."""
    assert means_limit(words)
    assert reset_in(words) is None


def test_the_api_says_in_words_when_access_is_regained() -> None:
    """A date that makes no sense is none."""
    words = "API Error: 400 You have reached your API usage limits. You will regain access on 2026-02-03 at 00:00 UTC."
    assert means_limit(words)
    assert reset_in(words) == NOW + 36 * 3600
    for date in ("2025-02-03", "2027-02-03", "2026-02-31"):
        assert reset_in(words.replace("2026-02-03", date)) is None


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


@pytest.mark.parametrize(
    ("moment", "kept"),
    [
        (NOW + 60, NOW + 60),
        (NOW - 60, NOW - 60),
        (NOW - 3600, None),
        (0, None),
        (-5, None),
        (NOW + 10 * 365 * 86400, None),
        (None, None),
    ],
)
def test_moments_that_make_no_sense_are_dropped(moment: float | None, kept: float | None) -> None:
    """The past and far years are not a reset."""
    assert plausible(moment, NOW) == kept


def test_pauses_double_up_to_a_ceiling() -> None:
    """Overloads from 5 s to 5 min, with up to a quarter by chance; probes from 5 min to an hour."""
    assert [backoff(n, 0.0) for n in (1, 2, 3, 7, 50)] == [5, 10, 20, 300, 300]
    assert backoff(1, 1.0) == 6.25
    assert [probe(n) for n in (1, 2, 3, 9)] == [300, 600, 1200, 3600]
