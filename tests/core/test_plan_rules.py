"""The modes plan and build: what the plan decides, and what a report decides no more."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from claude_iterate.core.events import (
    ClaimDropped,
    Event,
    IterationFinished,
    IterationStarted,
    Outcome,
    PlanFinished,
    PlanRead,
    RunStarted,
    StopRequested,
    VerificationFinished,
)
from claude_iterate.core.events.enums import Kind
from claude_iterate.core.reports.status import Status
from claude_iterate.core.rules import endings
from claude_iterate.core.rules.between import decide
from claude_iterate.core.rules.facts import Facts
from claude_iterate.core.rules.verdicts import Begin, Finish, Verdict, Verify
from claude_iterate.core.settings.modes import MODES
from claude_iterate.core.state.fold import fold
from claude_iterate.core.state.run_state import RunState
from claude_iterate.core.state.work import find_progress
from tests.core.building import entries, facts

OPEN, DONE = PlanRead(open=2, done=1, fingerprint="a"), PlanRead(done=3, fingerprint="b")
DOING = PlanRead(doing=1, done=2, fingerprint="c")


def after(mode: str, *found: Event) -> RunState:
    return fold(entries(RunStarted("r", "w", mode, 9, 1, "h", "0", ("claude",)), *found))


def known(mode: str, plan: PlanRead | None, **settings: Any) -> Facts:
    return replace(facts(100.0, **settings), mode=MODES[mode], plan=plan, task="t+0")


def iteration(status: Status | None, number: int = 1, kind: Kind = Kind.OK) -> tuple[Event, ...]:
    return IterationStarted(number), IterationFinished(number, Outcome(kind), status)


def verdicts(mode: str, plan: PlanRead | None, *found: Event, **settings: Any) -> list[Verdict]:
    """What the rules say one after another, each event recorded, up to the first that is none."""
    told = list(found)
    said: list[Verdict] = []
    for _ in range(9):
        verdict = decide(after(mode, *told), known(mode, plan, **settings))
        said.append(verdict)
        if not isinstance(verdict, PlanRead | PlanFinished | ClaimDropped):
            return said
        told.append(verdict)
    raise AssertionError(said)


def test_a_finished_plan_makes_no_call() -> None:
    """Before the first iteration: read, a claim, completed. With checks they are run; still no iteration begins."""
    claim = PlanFinished(3, "t+0")
    assert verdicts("build", DONE) == [DONE, claim, Finish("completed")]
    assert verdicts("build", DONE, checks=("true",)) == [DONE, claim, Verify(1)]
    assert verdicts("build", DONE, auto_verify=True) == [DONE, claim, Verify(1, review=True)]


@pytest.mark.parametrize("plan", [OPEN, DOING])
def test_build_goes_on_while_a_task_is_open(plan: PlanRead) -> None:
    """Whatever the report says: `complete: true` with an open task is no claim, and the next prompt says so."""
    assert verdicts("build", plan) == [plan, Begin(1)]
    said = verdicts("build", plan, OPEN, *iteration(Status(True)))
    dropped = next(verdict for verdict in said if isinstance(verdict, ClaimDropped))
    assert dropped.why.endswith(("1 task of the plan is not done yet", "tasks of the plan are not done yet"))
    assert said[-1] == Begin(2)
    assert "did not count" in after("build", plan, *iteration(Status(True)), dropped).findings


def test_build_is_done_when_the_plan_is_even_without_a_report() -> None:
    """The plan decides: a silent agent that ticked all has finished it, and the words for that are true."""
    said = verdicts("build", DONE, OPEN, *iteration(None))
    assert said == [DONE, PlanFinished(3, "t+0"), Finish("completed")]
    state = after("build", OPEN, *iteration(None), DONE, PlanFinished(3, "t+0"))
    ended = endings.run_finished_event(Finish("completed"), state, known("build", DONE))
    assert ended.known_by == "plan"
    assert ended.cause == "All tasks of the plan are ticked; nothing has proven that they are done (after 1 iteration)"


def test_a_refuted_plan_is_worked_on_and_claimed_again() -> None:
    """A red check is told to the next iteration; after it the plan, which is still ticked, is a new claim."""
    refuted = (DONE, PlanFinished(3, "t+0"), VerificationFinished(1, False, "red"))
    assert verdicts("build", DONE, *refuted, checks=("true",)) == [Begin(1)]
    again = verdicts("build", DONE, *refuted, *iteration(Status(False)), checks=("true",))
    assert again == [PlanFinished(3, "t+0"), Verify(2)]


def test_a_task_opened_during_the_proof_takes_the_claim_back() -> None:
    """The user adds a task while the checks run: they prove what was there, not what is wanted now."""
    proven = (DONE, PlanFinished(3, "t+0"), VerificationFinished(1, True))
    said = verdicts("build", OPEN, *proven, checks=("true",))
    assert said[0] == OPEN
    assert isinstance(said[1], ClaimDropped)
    assert said[-1] == Begin(1)


def test_an_iteration_that_was_cut_finishes_no_plan() -> None:
    """The second Ctrl-C ends the run as interrupted; `reboot` does the iteration again."""
    stop = StopRequested("SIGINT", now=True)
    cut = (OPEN, IterationStarted(1), stop, IterationFinished(1, Outcome(Kind.INTERRUPTED), None))
    assert verdicts("build", DONE, *cut)[-1] == Finish("interrupted", "SIGINT")
    assert verdicts("build", DONE, OPEN, *iteration(None, kind=Kind.REBOOTED)) == [DONE, Begin(1)]
    assert verdicts("build", DONE, OPEN, *iteration(None, kind=Kind.REBOOTED), checks=("true",)) == [DONE, Begin(1)]


def test_an_iteration_that_failed_finishes_a_plan_only_with_a_proof() -> None:
    """Its boxes may be ticked too early: checks look at the work; without any, another iteration does."""
    timeout = OPEN, *iteration(None, kind=Kind.TIMEOUT)
    assert verdicts("build", DONE, *timeout) == [DONE, Begin(2)]
    assert verdicts("build", DONE, *timeout, checks=("true",)) == [DONE, PlanFinished(3, "t+0"), Verify(1)]


@pytest.mark.parametrize(
    ("plan", "why"),
    [
        (PlanRead(), "it is gone"),
        (PlanRead(fingerprint="x"), "it no longer has a task"),
        (PlanRead(problem="it is larger than 1 MB, which is the most"), "it is larger than 1 MB, which is the most"),
    ],
)
def test_build_without_a_plan_ends(plan: PlanRead, why: str) -> None:
    """It is not worked on without one; the next step makes a new one."""
    for reported in (Status(False), Status(True)):  # without a task none is ticked
        last = verdicts("build", plan, OPEN, *iteration(reported))[-1]
        assert isinstance(last, Finish)
        assert (last.reason, last.cause) == ("agent_failed", f"There is no plan: {why}")
        assert last.next == "claude-iterate plan t"


def test_planning_completes_with_a_report_and_a_plan() -> None:
    """A claim without a plan is none and says so. Checks prove no plan."""
    done = iteration(Status(True))
    assert verdicts("plan", OPEN, PlanRead(), *done) == [OPEN, Finish("completed")]
    assert verdicts("plan", OPEN, PlanRead(), *done, checks=("false",), auto_verify=True)[-1] == Finish("completed")
    assert verdicts("plan", OPEN, OPEN, *iteration(Status(False))) == [Begin(2)]
    said = verdicts("plan", PlanRead(), PlanRead(), *done)
    assert isinstance(said[0], ClaimDropped)
    assert "there is no plan" in said[0].why
    assert said[1] == Begin(2)
    ended = endings.run_finished_event(Finish("completed"), after("plan", OPEN, *done), known("plan", OPEN))
    assert (ended.cause, ended.next) == ("Planned after 1 iteration: 3 tasks, 2 to do", "claude-iterate build t")
    assert ended.known_by == ""


def test_another_plan_is_progress_in_plan_mode_alone() -> None:
    """A planning run without commits goes on; in build mode a tick is no evidence of work."""
    story = (OPEN, *iteration(Status(False)), DONE)
    assert find_progress(after("plan", *story), None, None) == ("plan",)
    assert find_progress(after("build", *story), None, None) == ()
    assert find_progress(after("plan", OPEN, *iteration(Status(False))), None, None) == ()
    assert find_progress(after("plan", PlanRead(), *iteration(Status(False)), OPEN), None, None) == ("plan",)


def test_other_modes_know_no_plan() -> None:
    """A workspace in loop mode may have such a file."""
    assert verdicts("loop", None, *iteration(Status(True))) == [Finish("completed")]
