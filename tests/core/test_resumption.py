"""What a run takes over from a killed one: everything that a decision hangs on, wherever the kill fell."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from claude_iterate.core.events import (
    AgentStarted,
    Denial,
    Entry,
    Event,
    IterationFinished,
    IterationStarted,
    LimitReported,
    Outcome,
    ReviewFinished,
    ReviewStarted,
    RunStarted,
    Tokens,
    VerificationFinished,
    VerificationStarted,
    WaitEnded,
    WaitStarted,
)
from claude_iterate.core.reports.status import Status
from claude_iterate.core.rules.between import decide
from claude_iterate.core.rules.verdicts import Begin, Facts, Finish, StartWait, Verdict, Verify, Wait
from claude_iterate.core.state.handover import resumption
from claude_iterate.core.state.run_state import RunState, fold

NOT_HANDED_ON = {
    "started": "it is another run",
    "started_at": "it is another run",
    "last_at": "it is another run",
    "last_ended": "the delay is counted from the beginning of the run",
    "wait_began": "on the clock of the other run",
    "wait_ends": "on the clock of the other run",
    "status": "read from the file again",
    "status_before": "the iteration begins again",
    "call": "it is done again",
    "cut_asked": "it was about the call",
    "paused": "whoever says `run` wants it to run",
    "approved": "asked again",
    "stop": "whoever says `run` wants it to run",
    "errand": "a run has none",
    "finished": "then nothing is handed on",
}
"""What a killed run does not hand on, and why."""


def state_of(*events: Event) -> RunState:
    started = RunStarted("a", "w", "loop", 9, 1, "h", "0", ("c",))
    return fold(Entry(number, 500.0, float(number), event) for number, event in enumerate((started, *events), 1))


def resumed(state: RunState) -> RunState:
    again = RunStarted("b", "w", "loop", 9, 1, "h", "0", ("c",), resumed=resumption("a", state, 7.0))
    return fold([Entry(1, 600.0, 0.0, again)])


def iteration(number: int, kind: str = "ok", status: Status | None = None, **more: object) -> list[Event]:
    outcome = Outcome(kind, "m", resets_at=1000.0 if kind == "usage_limit" else None)
    return [IterationStarted(number), IterationFinished(number, outcome, status, **more)]  # type: ignore[arg-type]


DENIED = (Denial("Bash", "npm test"),)
CLAIM = Status(True)
RED, GREEN = VerificationFinished(1, False, "tests fail"), VerificationFinished(1, True)
LIMITED = ReviewFinished("unheld", outcome=Outcome("usage_limit", "m", resets_at=1000.0))
STORIES: dict[str, list[Event]] = {
    "failures": [*iteration(1, "crash"), *iteration(2, "idle")],
    "idle": [*iteration(1, status=Status(False, worked=False)), *iteration(2, status=Status(False, worked=False))],
    "denials": [*iteration(1, "denied", denials=DENIED), *iteration(2, "denied", denials=DENIED)],
    "retries": [*iteration(1, "transient"), WaitStarted("transient", 505.0), WaitEnded("transient")],
    "limit": iteration(1, "usage_limit"),
    "waiting": [*iteration(1, "usage_limit"), WaitStarted("usage_limit", 1060.0)],
    "claim": [*iteration(1, status=CLAIM), VerificationStarted(1)],
    "red": [*iteration(1, status=CLAIM), VerificationStarted(1), RED],
    "green": [*iteration(1, status=CLAIM), VerificationStarted(1), GREEN],
    "review": [*iteration(1, status=CLAIM), VerificationStarted(1), ReviewStarted("quick"), LIMITED],
    "review waits": [
        *iteration(1, status=CLAIM),
        VerificationStarted(1),
        ReviewStarted("quick"),
        LIMITED,
        WaitStarted("usage_limit", 1060.0),
    ],
    "money": iteration(1, cost_usd=0.5, tokens=Tokens(1, 2, 3, 4), session="s", context=0.5),
    "calls": [IterationStarted(1), AgentStarted(7), *iteration(1)[1:]],
    "windows": [LimitReported("allowed", "five_hour", 9000.0, 0.9), *iteration(1)],
}


@pytest.mark.parametrize("story", STORIES)
def test_every_field_is_handed_on_or_has_a_reason_not_to_be(story: str) -> None:
    """A new field of the state must be thought of."""
    before = state_of(*STORIES[story])
    if story == "red":  # it has been judged
        before = replace(before, last_status=None, proof=None)
    before = replace(before, denials=min(before.denials, 1))  # one more ends the run
    after = resumed(state_of(*STORIES[story]))
    for name in RunState.__struct_fields__:
        if name in NOT_HANDED_ON or (
            name == "last_outcome" and story not in {"limit", "waiting", "review", "review waits"}
        ):
            continue
        told = getattr(before, name)
        if name == "last_status":
            told = told if told is not None and told.complete else None
        assert getattr(after, name) == told, name


@pytest.mark.parametrize(
    ("story", "verdict"),
    [
        ("limit", StartWait("usage_limit", 1060.0, "m", "", 1)),
        ("waiting", Wait(460.0)),
        ("claim", Verify(1)),
        ("red", Begin(2)),
        ("green", Finish("completed")),
        ("review", StartWait("usage_limit", 1060.0, "m", "", 1)),
        ("review waits", Wait(460.0)),
        ("denials", Begin(3)),
    ],
)
def test_the_next_step_is_the_same_as_without_the_kill(story: str, verdict: Verdict) -> None:
    """A claim that failed is not judged twice, one that held is not paid twice, a wait goes on."""
    facts = Facts(0.0, wall=600.0, proof_wanted=True, claims_allowed=2)
    assert decide(resumed(state_of(*STORIES[story])), facts) == verdict


def test_what_was_decided_is_not_decided_again_without_a_try() -> None:
    """Killed between the last failed proof and the end of the run: whoever runs it again wants another try."""
    after = resumed(state_of(*STORIES["red"]))
    assert decide(after, Facts(0.0, wall=600.0, proof_wanted=True, claims_allowed=1)) == Begin(2)


def test_a_wait_that_was_planned_with_another_clock_is_bounded() -> None:
    """No wait lasts longer than `limits.max_wait`, whoever began it."""
    state = resumed(state_of(*iteration(1, "usage_limit"), WaitStarted("usage_limit", 30 * 86400.0)))
    assert decide(state, Facts(0.0, wall=600.0, max_wait=3600.0)) == Wait(3600.0)


def test_whoever_wants_no_more_iterations_does_not_wait_for_one() -> None:
    """`run -m 1` after a kill in the wait before iteration 2."""
    state = resumed(state_of(*iteration(1), *iteration(2, "usage_limit"), WaitStarted("usage_limit", 9000.0)))
    verdict = decide(state, Facts(0.0, wall=600.0, max_iterations=1))
    assert isinstance(verdict, Finish)
    assert verdict.reason == "max_iterations"


def test_a_claim_before_the_iteration_under_way_has_been_judged() -> None:
    """Neither it nor its proof is handed on."""
    after = resumed(state_of(*STORIES["red"], IterationStarted(2)))
    assert (after.last_status, after.proof, after.claims, after.findings) == (None, None, 1, "tests fail")
