"""What a run says in lines: waits, proof, what the next run would be, moments, texts of several lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_iterate.core.events import (
    CheckFinished,
    IterationFinished,
    Outcome,
    Requested,
    VerificationFinished,
    WaitEnded,
    WaitStarted,
)
from claude_iterate.core.events.enums import Kind, Verb, Why
from claude_iterate.core.formats import head
from claude_iterate.core.reports.status import Status
from claude_iterate.core.settings.declared import build
from claude_iterate.core.state.fold import fold
from claude_iterate.text import local_times, run_lines
from claude_iterate.text.ending_lines import next_run
from claude_iterate.text.proof_lines import check_finished, verification_finished
from tests.sinks.conftest import BEGAN, entry, started


@pytest.mark.parametrize(
    ("why", "complete", "then"),
    [
        (Why.USAGE_LIMIT, False, "; then the iteration is repeated."),
        (Why.USAGE_LIMIT, True, "; then the review is repeated."),
        (Why.RESERVE, False, "."),
    ],
)
def test_what_comes_then_is_true(why: Why, complete: bool, then: str) -> None:
    """A reserve repeats nothing; a review is not an iteration."""
    state = fold([entry(started()), entry(IterationFinished(1, Outcome(Kind.OK), Status(complete)))])
    line = run_lines.wait_started(WaitStarted(why, BEGAN + 30), BEGAN, state)[1]
    assert line.endswith(f"(30s){then}")


def test_a_long_wait_comes_with_the_way_to_end_it() -> None:
    """A short one is over before anybody could type."""
    state = fold([entry(started())])
    long, short = (
        run_lines.wait_started(WaitStarted(Why.TRANSIENT, BEGAN + left), BEGAN, state)[1] for left in (300, 5)
    )
    assert long.endswith("To try now: claude-iterate retry my-task")
    assert "retry" not in short


def test_nothing_continues_while_the_run_is_paused() -> None:
    """The wait is over, the pause is not."""
    assert fold([entry(started()), entry(Requested(Verb.PAUSE))]).paused
    assert run_lines.wait_ended(WaitEnded(Why.USAGE_LIMIT, "retry"), paused=True) == []
    assert run_lines.wait_ended(WaitEnded(Why.USAGE_LIMIT, "retry"), paused=False) == ["Continuing (retry)."]


def test_a_refused_claim_has_its_cause_in_its_line() -> None:
    """Also one that is not the last: the next iteration begins, and no one looks into the log for it."""
    refused = VerificationFinished(1, False, "The check `make` failed with exit code 2. The end of its output:\nboom")
    assert verification_finished(refused) == ["❌ Verification failed: the check `make` failed with exit code 2."]
    assert verification_finished(VerificationFinished(1, True)) == ["✓ Verification passed."]


def test_a_line_of_many_characters_is_cut_on_the_console_alone() -> None:
    """Its end is what counts; the log has all of it."""
    check = CheckFinished("make", 1, output=f"{'x' * 5000}the end")
    shown = check_finished(check)[1]
    assert len(shown) < 400
    assert shown.endswith("the end")
    assert check_finished(check, whole=True)[1].strip() == check.output


@pytest.mark.parametrize(
    ("mode", "settings", "says"),
    [
        ("loop", {}, "loop mode, at most 50 iterations, 2s between them"),
        (
            "iterative",
            {},
            "iterative mode, at most 20 iterations, 2s between them, ends after 2 iterations without work",
        ),
        ("loop", {"max_iterations": 0, "delay": 0.0}, "loop mode, no iteration limit"),
        ("loop", {"max_iterations": 1}, "loop mode, at most 1 iteration"),
        (
            "iterative",
            {"stagnation_threshold": 0, "limits.max_cost_usd": 5.0, "limits.max_duration": 5400.0, "delay": 90.0},
            "iterative mode, at most 20 iterations, 90s between them, at most $5.00 over all runs, at most 90m",
        ),
    ],
)
def test_what_bounds_a_run_is_said(mode: str, settings: dict[str, Any], says: str) -> None:
    """The number of iterations is the effective one; what does not bound it is left out."""
    assert next_run(mode, build(settings)) == says


NOW = 1_763_388_000.0  # 2025-11-17T14:00:00Z, a Monday


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


TEXTS = st.text(alphabet="ab \n\r\t\u2028✓", max_size=30)


@given(TEXTS, st.integers(1, 8))
def test_the_head_of_a_text_is_its_first_lines(text: str, limit: int) -> None:
    """What is shown and what is left out are all of its lines."""
    lines = text.split("\n")
    assert head(text, limit) == ("\n".join(lines[:limit]), max(0, len(lines) - limit))
    assert head(text, None) == (text, 0)
