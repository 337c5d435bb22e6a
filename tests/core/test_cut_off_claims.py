"""Without a proof, a claim is believed only from an iteration that came to its own end."""

from __future__ import annotations

import pytest

from claude_iterate.core.events import (
    ClaimDropped,
    Event,
    IterationFinished,
    IterationStarted,
    Outcome,
    StopRequested,
)
from claude_iterate.core.events.enums import Kind
from claude_iterate.core.outcomes.classes import REFUSALS, WELL
from claude_iterate.core.reports.status import Status
from claude_iterate.core.rules import endings
from claude_iterate.core.rules.between import decide
from claude_iterate.core.rules.verdicts import Begin, Finish, Verify
from claude_iterate.core.state.carry_over import resume_from
from claude_iterate.core.state.fold import fold
from claude_iterate.core.state.run_state import RunState
from claude_iterate.text.run_lines import claim_dropped, iteration_finished
from tests.core.building import entries, facts

CUT = [kind for kind in Kind if kind not in WELL and kind not in {Kind.DENIED, Kind.UNFINISHED, Kind.AWAY}]
"""How an iteration can end after it wrote a report, but for a good end."""
ENDS_OF_RUNS = dict.fromkeys((Kind.BILLING, Kind.AUTH, Kind.CONFIG), "agent_failed") | {Kind.BUDGET: "budget"}
"""Those after which no other iteration begins."""


def claimed(kind: Kind, *more: Event) -> RunState:
    """After an iteration that claimed completion and ended so."""
    finished = IterationFinished(1, Outcome(kind, "what happened"), Status(True, summary="done"))
    return fold(entries(IterationStarted(1), finished, *more))


@pytest.mark.parametrize("kind", sorted(WELL))
def test_a_good_end_completes(kind: Kind) -> None:
    """The turn limit is one, too."""
    verdict = decide(claimed(kind), facts(9))
    assert isinstance(verdict, Finish)
    assert verdict.reason == "completed"


@pytest.mark.parametrize("kind", CUT)
def test_a_claim_that_was_cut_off_is_not_believed(kind: Kind) -> None:
    """It is dropped, the next prompt says so, and no rule completes the run afterwards."""
    verdict = decide(claimed(kind), facts(9))
    assert isinstance(verdict, ClaimDropped)
    state = claimed(kind, verdict)
    after = decide(state, facts(9))
    assert (after.reason if isinstance(after, Finish) else None) == ENDS_OF_RUNS.get(kind)
    assert state.findings.startswith("Your report `complete: true` did not count")
    assert state.status is None


@pytest.mark.parametrize("kind", CUT)
def test_a_claim_before_nothing_but_a_refusal_of_the_api_counts(kind: Kind) -> None:
    """Nothing is known against it, and to hear it again may take days. After anything else it is dropped as ever."""
    finished = IterationFinished(1, Outcome(kind, "what happened"), Status(True), report_was_last=True)
    verdict = decide(fold(entries(IterationStarted(1), finished)), facts(9))
    assert isinstance(verdict, Finish | ClaimDropped)
    completes = isinstance(verdict, Finish) and verdict.reason == "completed"
    assert completes == (kind in REFUSALS)


@pytest.mark.parametrize("kind", CUT)
def test_a_proof_decides_all_the_same(kind: Kind) -> None:
    """Checks need no good end, but for `reboot`: then the user wants the iteration again."""
    verdict = decide(claimed(kind), facts(9, checks=("true",)))
    assert verdict == (Begin(1) if kind == Kind.REBOOTED else Verify(1))


def test_it_holds_over_a_kill() -> None:
    """A run that goes on does not believe the claim either, though the outcome is forgotten."""
    resumed = resume_from("r", claimed(Kind.TIMEOUT), 1.0)
    assert (resumed.claim.sound, resumed.last_status is not None, resumed.last_outcome) == (False, True, None)


def test_the_end_says_what_became_of_it() -> None:
    """The bound of iterations ends the run: the claim is mentioned, with the command that looks at it."""
    dropped = decide(claimed(Kind.TIMEOUT), facts(9))
    assert isinstance(dropped, ClaimDropped)
    state = claimed(Kind.TIMEOUT, dropped)
    known = facts(9, max_iterations=1)
    verdict = decide(state, known)
    assert isinstance(verdict, Finish)
    told = endings.run_finished_event(verdict, state, known)
    assert told.reason == "max_iterations"
    assert told.about_claim.endswith("claude-iterate verify t")


def test_a_stop_in_the_same_iteration_is_no_completion() -> None:
    """Ctrl-C twice: the run is interrupted, and mentions the claim."""
    stop = StopRequested("SIGINT", now=True)
    finished = IterationFinished(1, Outcome(Kind.INTERRUPTED), Status(True))
    state = fold(entries(IterationStarted(1), stop, finished))
    dropped = decide(state, facts(9))
    assert isinstance(dropped, ClaimDropped)
    state = fold(entries(IterationStarted(1), stop, finished, dropped))
    verdict = decide(state, facts(9))
    assert isinstance(verdict, Finish)
    assert verdict.reason == "interrupted"


@pytest.mark.parametrize("kind", CUT)
def test_no_line_says_more_than_is_known(kind: Kind) -> None:
    """Neither `failed` nor `will be repeated`: the claim may still be proven."""
    event = IterationFinished(1, Outcome(kind, "what happened"), Status(True), duration=2.0)
    first = iteration_finished(event, "loop")[0]
    assert "failed" not in first
    assert "will be repeated" not in first
    assert "(2.0s)" in first
    assert claim_dropped(ClaimDropped("x", cut=True)) == ["⚠ The claim does not count: x."]
