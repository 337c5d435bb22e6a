"""A claim counts for the instructions that it is about, and for no others."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from claude_iterate.core.events import (
    ClaimDropped,
    Entry,
    Event,
    IterationFinished,
    IterationStarted,
    Outcome,
    VerificationFinished,
    VerificationStarted,
)
from claude_iterate.core.events.enums import Kind
from claude_iterate.core.fingerprints import UNREADABLE, task_identity
from claude_iterate.core.reports.status import Status
from claude_iterate.core.rules.between import decide
from claude_iterate.core.rules.verdicts import Begin, Finish, Verify
from claude_iterate.core.state.fold import fold
from claude_iterate.core.state.run_state import RunState
from tests.core.building import facts

OURS, OTHER = task_identity("- one"), task_identity("- two")
CLAIMED: list[Event] = [
    IterationStarted(1),
    IterationFinished(1, Outcome(Kind.OK), Status(True, 2, 2), task=OURS),
]
GREEN, RED = VerificationFinished(1, True), VerificationFinished(1, False, "red")


def after(*events: Event) -> RunState:
    return fold(Entry(number, 0.0, 0.0, event) for number, event in enumerate(events, 1))


@pytest.mark.parametrize("proof", [[], [VerificationStarted(1), GREEN]], ids=["claimed", "proven"])
@pytest.mark.parametrize(
    ("task", "words"), [(OTHER, "another text"), (UNREADABLE, "can no longer be read")], ids=["other", "lost"]
)
def test_a_claim_about_other_instructions_is_dropped(proof: list[Event], task: str, words: str) -> None:
    """With and without a proof. Then the run goes on as if nothing had been claimed, and the next prompt says why."""
    state = after(*CLAIMED, *proof)
    verdict = decide(state, replace(facts(0, checks=("true",) if proof else ()), task=task))
    assert isinstance(verdict, ClaimDropped)
    assert words in verdict.why
    state = after(*CLAIMED, *proof, verdict)
    assert decide(state, replace(facts(0, checks=("true",)), task=task)) == Begin(2)
    assert (state.status, state.last_status, state.proof) == (None, None, None)
    assert "did not count" in state.findings


def test_the_same_instructions_complete() -> None:
    """Also if they are not looked at, as in a journal of an earlier version."""
    for task in (OURS, ""):
        verdict = decide(after(*CLAIMED), replace(facts(0), task=task))
        assert isinstance(verdict, Finish)
        assert verdict.reason == "completed"
    old = IterationFinished(1, Outcome(Kind.OK), Status(True))
    assert isinstance(decide(after(old), replace(facts(0), task=OTHER)), Finish)


def test_a_refuted_claim_need_not_be_dropped() -> None:
    """Its findings are worth more to the next iteration."""
    state = after(*CLAIMED, VerificationStarted(1), RED)
    assert decide(state, replace(facts(0, checks=("true",)), task=OTHER)) == Begin(2)
    assert state.findings == "red"


def test_verify_looks_again_when_the_instructions_change_meanwhile() -> None:
    """It has no claim, only the task as it found it."""
    state = after(VerificationStarted(1, task=OURS), GREEN)
    about_other = replace(facts(0, purpose="verify"), task=OTHER)
    verdict = decide(state, about_other)
    assert isinstance(verdict, ClaimDropped)
    state = after(VerificationStarted(1, task=OURS), GREEN, verdict)
    assert decide(state, about_other) == Verify(2, review=True)
