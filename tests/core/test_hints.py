"""Signs that a run gets nowhere: told once per streak, and never a reason to end."""

from __future__ import annotations

import pytest

from claude_iterate.core.events import Event, Hints, IterationFinished, IterationStarted, Outcome, Tokens
from claude_iterate.core.events.enums import Kind
from claude_iterate.core.reports.fallbacks import from_block
from claude_iterate.core.reports.status import Status
from claude_iterate.core.rules.breaker import new_hint_warnings, says_done
from claude_iterate.core.state.fold import fold
from tests.core.building import entries


def iteration(
    output: int = 0, phase: str = "", done: bool = False, kind: Kind = Kind.OK, complete: bool = False
) -> IterationFinished:
    status = Status(complete, phase=phase or None)
    return IterationFinished(1, Outcome(kind), status, tokens=Tokens(output=output), says_done=done)


def warned(*finished: IterationFinished) -> list[str]:
    """All that is told over these iterations."""
    found, before, events = [], Hints(), list[Event]()
    for event in finished:
        events += [IterationStarted(1), event]
        now = fold(entries(*events)).hints
        found += [warning.text for warning in new_hint_warnings(before, now, "my-task")]
        before = now
    return found


@pytest.mark.parametrize(
    ("outputs", "times"),
    [((1000, 200, 50), 1), ((1000, 200, 190), 0), ((1000, 300, 90), 1), ((1000, 301, 90), 0), ((1000, 200, 50, 10), 1)],
)
def test_output_that_shrinks_twice_is_told_once(outputs: tuple[int, ...], times: int) -> None:
    """By 70 % or more, in a row; a third time is the same streak."""
    assert len(warned(*(iteration(output) for output in outputs))) == times


def test_an_unknown_amount_of_output_says_nothing() -> None:
    """An agent that names no tokens never shrinks."""
    assert warned(*[iteration(0)] * 5) == []


@pytest.mark.parametrize(("signs", "times"), [("TTT", 1), ("TT", 0), ("TTIT", 0), ("TTTT", 1), ("TTTITTT", 2)])
def test_reports_of_nothing_but_tests_are_told_once_per_streak(signs: str, times: int) -> None:
    """Three in a row."""
    phases = {"T": "testing", "I": "implementation"}
    assert len(warned(*(iteration(phase=phases[sign]) for sign in signs))) == times


def test_words_of_completion_without_a_claim_are_told() -> None:
    """Three in a row; a claim ends the streak, a crash leaves it."""
    said = iteration(done=True)
    assert len(warned(said, said, said)) == 1
    assert warned(said, said, iteration(done=True, complete=True), said) == []
    assert len(warned(said, said, iteration(kind=Kind.CRASH), said)) == 1


@pytest.mark.parametrize(
    ("words", "done"),
    [
        ("All tasks are now complete.", True),
        ("I fixed the bug. The implementation is complete.", True),
        ("Everything is done!", True),
        ("There is nothing left to do.", True),
        ("Step 3 is complete, two are left.", False),
        ("I could not finish the work.", False),
        ("", False),
    ],
)
def test_which_words_say_that_all_is_done(words: str, done: bool) -> None:
    """The last words of a message."""
    assert says_done(words) is done


def test_the_work_type_of_a_block_counts() -> None:
    """So that agents with LOOP_STATUS are understood, too."""
    block = "---LOOP_STATUS---\nSTATUS: IN_PROGRESS\nWORK_TYPE: TESTING\n---END_LOOP_STATUS---"
    reading = from_block(block)
    assert reading is not None
    finished = IterationFinished(1, Outcome(Kind.OK), reading.status)
    assert len(warned(finished, finished, finished)) == 1
