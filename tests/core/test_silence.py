"""Iterations without a report: what the next prompt says, what counts as idle, and when that ends a run."""

from __future__ import annotations

import pytest

from claude_iterate.core.events import Changes, Event, IterationFinished, Outcome, WorkMeasured
from claude_iterate.core.events.vocabulary import Kind
from claude_iterate.core.reports.status import Status
from claude_iterate.core.rules.between import decide
from claude_iterate.core.rules.verdicts import Begin, Finish
from claude_iterate.core.state.run_state import RunState, Streaks
from claude_iterate.core.state.steps import fold
from tests.core.building import entries, facts

BOXES = Status(False, 1, 2, source="boxes")


Ended = tuple[Event, ...]


def after(*finished: Ended) -> RunState:
    return fold(entries(*(event for events in finished for event in events)))


def ended(kind: Kind = Kind.OK, status: Status | None = None, changed: bool = False, notes: bool = False) -> Ended:
    """An iteration and its measure; one that is done again is not measured."""
    finished = IterationFinished(1, Outcome(kind, "words"), status)
    measured = WorkMeasured(1, Changes(int(changed)), progress=("files",) if changed else (), notes=notes)
    return (finished,) if kind == Kind.TRANSIENT else (finished, measured)


@pytest.mark.parametrize(
    ("last", "silent", "idle"),
    [
        (ended(), 2, 2),
        (ended(Kind.MAX_TURNS), 2, 2),
        (ended(Kind.DENIED), 2, 2),
        (ended(status=BOXES), 2, 2),
        (ended(changed=True), 0, 0),
        (ended(notes=True), 0, 0),
        ((IterationFinished(1, Outcome(Kind.OK)), WorkMeasured(1)), 0, 0),
        ((IterationFinished(1, Outcome(Kind.OK)),), 1, 1),
        (ended(status=Status(False, worked=False)), 0, 2),
        (ended(status=Status(False)), 0, 0),
        (ended(Kind.CRASH), 0, 0),
        (ended(Kind.SKIPPED), 0, 0),
        (ended(Kind.TRANSIENT), 1, 1),
    ],
)
def test_silence_counts_in_a_row(last: Ended, silent: int, idle: int) -> None:
    """Without a report and without a change; boxes are no report. A failure or a user's `skip` is not silence, and what
    is done again has not happened. As long as it is not measured nothing is known; if it cannot be, it was a change."""
    streaks = after(ended(), last).streaks
    assert (streaks.silent_iterations, streaks.idle_iterations) == (silent, idle)


@pytest.mark.parametrize("stagnates", [True, False])
@pytest.mark.parametrize(("silent", "threshold", "ends"), [(1, 2, False), (2, 2, True), (3, 2, True), (9, 0, False)])
def test_silence_ends_a_run_in_every_mode(silent: int, threshold: int, ends: bool, stagnates: bool) -> None:
    """After as many iterations as are set; 0 never."""
    state = RunState(streaks=Streaks(silent_iterations=silent))
    verdict = decide(state, facts(0, stagnates=stagnates, stagnation_threshold=threshold))
    assert isinstance(verdict, Finish if ends else Begin)
    if isinstance(verdict, Finish):
        words = f"{silent} iterations in a row without a report and without a change"
        assert (verdict.reason, verdict.detail) == ("stagnation", words)


def test_one_iteration_is_not_in_a_row() -> None:
    """The words are true of one as well."""
    verdict = decide(RunState(streaks=Streaks(silent_iterations=1)), facts(0, stagnation_threshold=1))
    assert isinstance(verdict, Finish)
    assert verdict.detail == "1 iteration without a report and without a change"


def test_the_next_prompt_says_that_the_report_is_missing() -> None:
    """And why it did not count. A failure is told instead; a report leaves nothing to say."""
    assert after(ended()).findings.startswith("You wrote no report. ")
    torn = IterationFinished(1, Outcome(Kind.OK), BOXES, ("it is torn", "it is odd"))
    assert after((torn,)).findings.startswith("You wrote no report that counts: it is torn; it is odd. ")
    assert after(ended(Kind.CRASH)).findings == "words"
    assert after(ended(status=Status(False))).findings == ""
