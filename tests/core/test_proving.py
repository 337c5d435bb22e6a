"""How the end of a run is known, and what it says of the claim."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from claude_iterate.core.events import ChecksPassed, ErrandFinished, Outcome, RunStarted, VerificationFinished
from claude_iterate.core.events.enums import Kind, Purpose, Reason
from claude_iterate.core.events.run import Claim
from claude_iterate.core.reports.status import Status
from claude_iterate.core.rules.endings import basis_of_completion, claim_remark
from claude_iterate.core.rules.facts import Facts
from claude_iterate.core.rules.proof import digest, proof_of
from claude_iterate.core.state.run_state import RunState
from tests.core.building import facts

STARTED = RunStarted("r", "my-task", "loop", 9, 1, "h", "0", ("c",))
DONE = RunState(started=STARTED, last_status=Status(True))
PROVEN = replace(DONE, claim=Claim(1, VerificationFinished(1, True, known_by="checks")))
CHECKED = replace(DONE, claim=Claim(0, None, ChecksPassed(1, digest(("true",)))))
CHECKS, BOTH = facts(0, checks=("true",)), facts(0, checks=("true",), auto_verify=True)


@pytest.mark.parametrize(
    ("state", "known", "reason", "expected"),
    [
        (DONE, facts(0), "completed", "report"),
        (PROVEN, CHECKS, "completed", "checks"),
        (PROVEN, BOTH, "completed", "checks"),
        (replace(DONE, claim=Claim(1, VerificationFinished(1, True))), BOTH, "completed", "checks_and_review"),
        (
            replace(DONE, claim=Claim(1, VerificationFinished(1, True))),
            facts(0, auto_verify=True),
            "completed",
            "review",
        ),
        (PROVEN, CHECKS, "interrupted", ""),
        (
            replace(DONE, started=RunStarted("r", "t", "loop", 9, 1, "h", "0", (), dry_run=True)),
            facts(0),
            "completed",
            "",
        ),
        (RunState(one_off=ErrandFinished(Purpose.SETUP, Outcome(Kind.OK))), facts(0), "completed", ""),
    ],
)
def test_how_it_is_known(state: RunState, known: Facts, reason: Reason, expected: str) -> None:
    """What the proof rests on; Claude's word without one; nothing for a run that did not complete or did no work. A
    proof of an older version does not say what it rests on, so the settings do."""
    assert basis_of_completion(state, known, reason) == expected


def test_what_a_proof_rests_on() -> None:
    """Each of the two, both, neither."""
    found = [proof_of(checks, review) for checks in (True, False) for review in (True, False)]
    assert found == ["checks_and_review", "checks", "review", ""]


NOT_CHECKED = "Claude reported completion; it was not checked: claude-iterate verify t"
NOT_REVIEWED = "Claude reported completion, and the checks pass; the review did not run: claude-iterate verify t"
RED_TESTS = replace(DONE, last_status=Status(True, tests="failing"))
SOME = replace(DONE, last_status=Status(True, 3, 10))
BLOCKED = replace(DONE, last_status=Status(True, blocked="a key\nis missing"))
FAILED = replace(BLOCKED, claim=Claim(1, VerificationFinished(1, False, "red")))


@pytest.mark.parametrize(
    ("state", "known", "reason", "expected"),
    [
        (DONE, CHECKS, "interrupted", NOT_CHECKED),
        (DONE, BOTH, "duration", NOT_CHECKED),
        (CHECKED, BOTH, "budget", NOT_REVIEWED),
        (DONE, facts(0, auto_verify=True), "budget", NOT_CHECKED),
        (DONE, facts(0, purpose="verify"), "interrupted", ""),
        (replace(DONE, claim=Claim(1, VerificationFinished(1, False, "red"))), CHECKS, "verification_failed", ""),
        (RunState(started=STARTED, last_status=Status(False)), CHECKS, "interrupted", ""),
        (RunState(started=STARTED), CHECKS, "interrupted", ""),
        (DONE, facts(0), "completed", ""),
        (replace(DONE, last_status=Status(True, 10, 10)), facts(0), "completed", ""),
        (SOME, facts(0), "completed", "Claude reported `complete: true` together with 3 of 10 items done."),
        (RED_TESTS, facts(0), "completed", "Claude reported `complete: true` together with failing tests."),
        (DONE, facts(0), "hook_abort", NOT_CHECKED),
        (BLOCKED, CHECKS, "completed", "Claude reported `complete: true` together with blocked: a key is missing."),
        (BLOCKED, facts(0), "blocked", "Claude reported `complete: true` as well."),
        (FAILED, CHECKS, "blocked", "Claude reported `complete: true` as well; the proof failed."),
    ],
)
def test_what_is_said_of_the_claim(state: RunState, known: Facts, reason: Reason, expected: str) -> None:
    """That it was not checked or not reviewed and how to do it; what the report says beside it; else nothing."""
    assert claim_remark(state, known, reason) == expected
