"""A proof, step by step: what the rules say after each thing that was found."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from claude_iterate.core.events import (
    CheckFinished,
    ChecksPassed,
    Event,
    IterationFinished,
    Outcome,
    ProofChange,
    ReviewFinished,
    ReviewStarted,
    StopRequested,
    VerificationFinished,
    VerificationStarted,
)
from claude_iterate.core.events.enums import Cause, Kind
from claude_iterate.core.reports.status import Status
from claude_iterate.core.rules.between import decide
from claude_iterate.core.rules.facts import Inspection
from claude_iterate.core.rules.proof import digest, judge, start_verification
from claude_iterate.core.rules.verdicts import Begin, Finish, HoldReview, JudgeClaim, RunCheck, Verdict, Verify
from claude_iterate.core.state.carry_over import resume_from
from claude_iterate.core.state.fold import fold
from claude_iterate.core.state.run_state import RunState
from tests.core.building import entries, facts

CLAIM = IterationFinished(1, Outcome(Kind.OK), Status(True))
CHECKS = ("one", "two")
NAMED = digest(CHECKS)
STARTED = VerificationStarted(1, 2, "standard")
GREEN = CheckFinished("one", 0, project="p"), CheckFinished("two", 0, project="p")
RED = CheckFinished("one", 1, output="first\nlast\n", project="p")
PASSED = ChecksPassed(NAMED, GREEN, "p")
YES = ReviewFinished("verified", "fine")
NO = ReviewFinished("incomplete", "half done", ("a", "b"))
UNHELD = ReviewFinished("unheld", outcome=Outcome(Kind.TRANSIENT, "overloaded"))
CHANGES = (ProofChange("check", "check.sh", "changed"),)


def state_of(*found: Event) -> RunState:
    """After a claim, and what was found since."""
    return fold(entries(CLAIM, *found))


def next_step(*found: Event, changed: tuple[str, ...] = (), tampering: tuple[ProofChange, ...] = ()) -> Verdict:
    """What comes after this, in a run with two checks and a review."""
    known = facts(9, checks=CHECKS, auto_verify=True)
    return decide(state_of(*found), replace(known, inspection=Inspection("p", "t", changed, tampering)))


def judgement(*found: Event, changed: tuple[str, ...] = (), **settings: Any) -> VerificationFinished:
    """What a proof with these results comes to."""
    known = facts(9, **{"checks": CHECKS, "auto_verify": True, **settings})
    return judge(state_of(*found), replace(known, inspection=Inspection("p", "t", changed)), ())


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ((), Verify(1, review=True)),
        ((STARTED,), RunCheck("one", last=False)),
        ((STARTED, GREEN[0]), RunCheck("two", last=True)),
        ((STARTED, *GREEN), PASSED),
        ((STARTED, *GREEN, PASSED), HoldReview("standard")),
        ((STARTED, *GREEN, PASSED, ReviewStarted("standard"), YES), JudgeClaim()),
        ((STARTED, *GREEN, PASSED, ReviewStarted("standard"), NO), JudgeClaim()),
        ((STARTED, RED), RunCheck("two", last=True)),
        ((STARTED, RED, GREEN[1]), JudgeClaim()),
        ((PASSED, VerificationStarted(1, 0, "standard", green=2)), HoldReview("standard")),
        ((STARTED, *GREEN, PASSED, YES, VerificationFinished(1, True)), Finish("completed", "")),
        ((STARTED, *GREEN, PASSED, NO, VerificationFinished(1, False, "a")), Begin(2)),
    ],
    ids=str,
)
def test_the_order(found: tuple[Event, ...], expected: Verdict) -> None:
    """All checks, the review only if they are green, the judgement; checks that were green before are not repeated."""
    after = next_step(*found)
    if isinstance(expected, ChecksPassed):
        assert isinstance(after, ChecksPassed)
        assert (after.digest, after.project, after.review_waits) == (NAMED, "p", False)
    elif isinstance(expected, Finish):
        assert isinstance(after, Finish)
        assert after.reason == expected.reason
    else:
        assert after == expected


def test_a_review_that_is_still_to_come() -> None:
    """The checks alone ran, because Claude cannot be called: that they are green is noted, and the claim stays
    unproven. Without a wish for a review they decide."""
    alone = VerificationStarted(1, 2)
    noted = next_step(alone, *GREEN)
    assert isinstance(noted, ChecksPassed)
    assert noted.review_waits
    assert next_step(alone, *GREEN, noted) == Verify(1, review=True)
    without = replace(facts(9, checks=CHECKS), inspection=Inspection("p"))
    assert decide(state_of(alone, *GREEN), without) == JudgeClaim()


def test_checks_that_change_the_project_run_once_more() -> None:
    """And if they change it again, the claim does not hold. Red checks are judged at once."""
    again = next_step(STARTED, *GREEN, changed=("a.txt",))
    assert again == VerificationStarted(1, 2, "standard", changed=("a.txt",))
    assert isinstance(again, VerificationStarted)
    assert next_step(STARTED, *GREEN, again, changed=("a.txt",)) == RunCheck("one", last=False)
    assert isinstance(next_step(STARTED, *GREEN, again, *GREEN), ChecksPassed)
    assert next_step(STARTED, *GREEN, again, *GREEN, changed=("a.txt",)) == JudgeClaim()
    said = judgement(STARTED, *GREEN, again, *GREEN, changed=("a.txt",))
    assert not said.passed
    assert "a.txt" in said.findings
    assert next_step(STARTED, RED, GREEN[1], changed=("a.txt",)) == JudgeClaim()


def test_a_changed_proof_is_judged_before_anything_runs() -> None:
    """It rests on nothing."""
    assert next_step(STARTED, tampering=CHANGES) == JudgeClaim()
    known = replace(facts(9, checks=CHECKS, on_tamper="refuse"), inspection=Inspection("p", "t", (), CHANGES))
    said = judge(state_of(STARTED), known, CHANGES)
    assert (said.passed, said.known_by, said.changes) == (False, "", CHANGES)
    assert "check.sh" in said.findings


@pytest.mark.parametrize("found", [(STARTED,), (STARTED, *GREEN), (STARTED, *GREEN, PASSED)], ids=len)
def test_a_stop_or_the_end_of_time_breaks_it_off(found: tuple[Event, ...]) -> None:
    """Wherever it is; the claim is then unproven."""
    stopped = next_step(*found, StopRequested("SIGINT"))
    assert isinstance(stopped, Finish)
    assert stopped.reason == "interrupted"
    known = replace(facts(10, checks=CHECKS, auto_verify=True, max_duration=10), inspection=Inspection("p"))
    late = decide(state_of(*found), known)
    assert isinstance(late, Finish)
    assert late.reason == "duration"


def test_a_review_that_could_not_be_held_is_another_proof() -> None:
    """What is next is said by the rules about its outcome; the checks stay green."""
    state = state_of(STARTED, *GREEN, PASSED, ReviewStarted("standard"), UNHELD)
    assert (state.claim.verification, state.claim.checked) == (None, PASSED)


def test_a_kill_between_the_steps_leaves_the_green_checks() -> None:
    """The proof begins again with the review, if the project is the same."""
    left = resume_from("r", state_of(STARTED, *GREEN, PASSED), 1.0)
    assert (left.claim.verification, left.claim.checked) == (None, PASSED)
    state, known = RunState(claim=left.claim), facts(9, checks=CHECKS, auto_verify=True)
    again = start_verification(state, known, Verify(1, review=True), "p", "")
    assert again == VerificationStarted(1, 0, "standard", green=2)
    assert start_verification(state, known, Verify(1, review=True), "other", "") == STARTED
    assert start_verification(state, known, Verify(1, review=True), "", "") == STARTED


@pytest.mark.parametrize(
    ("check", "text", "detail"),
    [
        (RED, "The check `one` failed with exit code 1. The end of its output:\nfirst\nlast\n", "last"),
        (CheckFinished("one", None, output="no shell"), "The check `one` could not be started: no shell", ""),
        (
            CheckFinished("one", None, cut=Cause.TIMEOUT, output="x"),
            "The check `one` did not end within 7 seconds. The end of its output:\nx",
            "x",
        ),
        (
            CheckFinished("one", 1, gone=("run.sh",)),
            (
                "The check `one` failed with exit code 1. It uses run.sh: there when the run began, gone now. The"
                " end of its output:\n"
            ),
            "",
        ),
    ],
)
def test_what_a_red_check_says(check: CheckFinished, text: str, detail: str) -> None:
    """How it ended, and the end of what it printed."""
    said = judgement(STARTED, check, GREEN[1], check_timeout=7.0)
    assert (said.passed, said.findings, said.detail, said.known_by) == (False, text, detail, "checks_and_review")


@pytest.mark.parametrize(
    ("review", "text", "detail"),
    [
        (NO, "The review found 2 things missing.\nhalf done\n1. a\n2. b", "a"),
        (ReviewFinished("incomplete", "half"), "The review found the work incomplete.\nhalf", "half"),
        (ReviewFinished("invalid", "no report"), "The review gave no verdict: no report", ""),
    ],
)
def test_what_a_review_says_that_does_not_verify(review: ReviewFinished, text: str, detail: str) -> None:
    """What is missing, for the next prompt; the first of it in short."""
    said = judgement(STARTED, *GREEN, PASSED, review)
    assert (said.passed, said.findings, said.detail) == (False, text, detail)
