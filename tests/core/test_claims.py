"""Which claims of completion are believed: not those that were cut off, are outdated, refuted or withdrawn."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from claude_iterate.core.events import (
    ClaimDropped,
    Event,
    IterationFinished,
    IterationStarted,
    Outcome,
    Resumed,
    RunFinished,
    RunStarted,
    StatusChanged,
    StopRequested,
    VerificationFinished,
    VerificationStarted,
)
from claude_iterate.core.events.enums import Kind, Reason
from claude_iterate.core.fingerprints import UNREADABLE, task_identity
from claude_iterate.core.outcomes.classes import REFUSALS, WELL
from claude_iterate.core.reports.status import Change, Status
from claude_iterate.core.rules import endings
from claude_iterate.core.rules.between import decide
from claude_iterate.core.rules.verdicts import Begin, Finish, Verify
from claude_iterate.core.state.carry_over import carry_over, resume_from
from claude_iterate.core.state.fold import fold
from claude_iterate.core.state.run_state import RunState
from claude_iterate.text.run_lines import claim_dropped, iteration_finished
from tests.core.building import after, entries, facts

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


OURS, OTHER = task_identity("- one"), task_identity("- two")
CLAIMED_OURS: list[Event] = [
    IterationStarted(1),
    IterationFinished(1, Outcome(Kind.OK), Status(True, 2, 2), task=OURS),
]
GREEN, RED = VerificationFinished(1, True), VerificationFinished(1, False, "red")


@pytest.mark.parametrize("proof", [[], [VerificationStarted(1), GREEN]], ids=["claimed", "proven"])
@pytest.mark.parametrize(
    ("task", "words"), [(OTHER, "another text"), (UNREADABLE, "can no longer be read")], ids=["other", "lost"]
)
def test_a_claim_about_other_instructions_is_dropped(proof: list[Event], task: str, words: str) -> None:
    """With and without a proof. Then the run goes on as if nothing had been claimed, and the next prompt says why."""
    state = after(*CLAIMED_OURS, *proof)
    verdict = decide(state, replace(facts(9, checks=("true",) if proof else ()), task=task))
    assert isinstance(verdict, ClaimDropped)
    assert words in verdict.why
    state = after(*CLAIMED_OURS, *proof, verdict)
    assert decide(state, replace(facts(9, checks=("true",)), task=task)) == Begin(2)
    assert (state.status, state.last_status, state.proof) == (None, None, None)
    assert "did not count" in state.findings


def test_the_same_instructions_complete() -> None:
    """Also if they are not looked at, as in a journal of an earlier version."""
    for task in (OURS, ""):
        verdict = decide(after(*CLAIMED_OURS), replace(facts(9), task=task))
        assert isinstance(verdict, Finish)
        assert verdict.reason == "completed"
    old = IterationFinished(1, Outcome(Kind.OK), Status(True))
    assert isinstance(decide(after(old), replace(facts(9), task=OTHER)), Finish)


def test_a_refuted_claim_need_not_be_dropped() -> None:
    """Its findings are worth more to the next iteration."""
    state = after(*CLAIMED_OURS, VerificationStarted(1), RED)
    assert decide(state, replace(facts(9, checks=("true",)), task=OTHER)) == Begin(2)
    assert state.findings == "red"


def test_verify_looks_again_when_the_instructions_change_meanwhile() -> None:
    """It has no claim, only the task as it found it."""
    state = after(VerificationStarted(1, task=OURS), GREEN)
    about_other = replace(facts(9, purpose="verify"), task=OTHER)
    verdict = decide(state, about_other)
    assert isinstance(verdict, ClaimDropped)
    state = after(VerificationStarted(1, task=OURS), GREEN, verdict)
    assert decide(state, about_other) == Verify(2, review=True)


MORE, CLAIM = Status(False, 1, 2), Status(True, 2, 2)
STARTED = RunStarted("r", "w", "loop", 5, 1, "h", "0", ("claude",))


def told(*events: Event) -> Status | None:
    """The report that the state tells after these events."""
    return after(*events).status


def iteration(number: int, status: Status | None, *between: Event) -> list[Event]:
    return [IterationStarted(number), *between, IterationFinished(number, Outcome(Kind.OK), status)]


def test_a_refuted_claim_is_not_told() -> None:
    """What was reported before it is; nothing, if it was the first report, or the claim before it was refuted, too."""
    before, claim = iteration(1, MORE), iteration(2, CLAIM)
    assert told(*before, *claim) == CLAIM
    assert told(*before, *claim, VerificationFinished(1, passed=True)) == CLAIM
    assert told(*before, *claim, VerificationFinished(1, passed=False)) == MORE
    assert told(*claim, VerificationFinished(1, passed=False)) is None
    twice = [*claim, VerificationFinished(1, passed=False), *iteration(3, CLAIM), VerificationFinished(2, passed=False)]
    assert told(*before, *twice) == MORE
    later = Status(False, 8, 12)
    seen = [StatusChanged(later, Change()), StatusChanged(CLAIM, Change())]
    assert told(*before, *iteration(2, CLAIM, *seen), VerificationFinished(1, passed=False)) == later


def test_a_claim_that_was_withdrawn_is_not_told() -> None:
    """It was seen during the iteration; at its end there was no report, or one that cannot be read."""
    seen = StatusChanged(CLAIM, Change())
    assert told(*iteration(1, MORE), *iteration(2, None, seen)) == MORE
    further = Status(False, 2, 3)
    assert told(*iteration(1, MORE), *iteration(2, None, StatusChanged(further, Change()))) == further


@pytest.mark.parametrize(
    ("reason", "status"), [("completed", CLAIM), ("interrupted", MORE), ("budget", MORE), ("max_iterations", MORE)]
)
def test_at_the_end_only_a_completed_run_tells_a_claim(reason: Reason, status: Status) -> None:
    """One that was still open when the run was stopped is not progress."""
    assert told(*iteration(1, MORE), *iteration(2, CLAIM), RunFinished(reason)) == status


def test_the_next_run_begins_with_the_work_as_it_stands() -> None:
    """Before its first report, and after a claim that failed; nothing is left of a task that is done."""
    refuted = [*iteration(1, MORE), *iteration(2, CLAIM), VerificationFinished(1, passed=False)]
    for run in ([*iteration(1, MORE)], refuted, [*refuted, RunFinished("verification_failed")]):
        carried = carry_over(after(STARTED, *run))
        again = replace(STARTED, carried=carried)
        assert told(again) == told(again, IterationStarted(1)) == MORE
        assert told(again, *iteration(1, CLAIM), VerificationFinished(1, passed=False)) == MORE
    assert (
        carry_over(after(STARTED, *iteration(1, MORE), *iteration(2, CLAIM), RunFinished("completed"))).report is None
    )


def test_a_claim_that_a_run_takes_over_is_told_while_it_stands() -> None:
    """The killed run had it, and its proof is still to come."""
    resumed = RunStarted("r", "w", "loop", 5, 1, "h", "0", ("claude",), resumed=Resumed("q", last_status=CLAIM))
    assert told(STARTED) is None
    assert told(resumed) == CLAIM
    assert told(resumed, VerificationFinished(1, passed=False)) is None
