"""What a run takes over from a killed one: everything that a decision hangs on, wherever the kill fell."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import asdict

from claude_iterate.core.events import (
    AgentStarted,
    Breaker,
    Carried,
    Changes,
    CheckResult,
    ChecksPassed,
    Denial,
    Entry,
    Event,
    Hints,
    IterationFinished,
    IterationStarted,
    LimitReported,
    Outcome,
    PatternSeen,
    ProofChange,
    ProofDefined,
    Rebooted,
    Resumed,
    ReviewFinished,
    ReviewStarted,
    RunFinished,
    RunStarted,
    ScriptResult,
    SnapshotTaken,
    StopScriptsRun,
    Tokens,
    Trip,
    UsageReported,
    VerificationFinished,
    VerificationStarted,
    WaitEnded,
    WaitStarted,
    WorkMeasured,
)
from claude_iterate.core.events.enums import Kind, Purpose, Reboot, Why
from claude_iterate.core.events.run import Claim, HookState, Requests, Session, Streaks, Waiting, Work
from claude_iterate.core.reports.status import Status
from claude_iterate.core.rules.between import decide
from claude_iterate.core.rules.proof import digest
from claude_iterate.core.rules.verdicts import Begin, Finish, Verdict, Verify, Wait
from claude_iterate.core.state.carry_over import carry_over, resume_from
from claude_iterate.core.state.fold import fold
from claude_iterate.core.state.run_state import Plans, RunState
from tests.core.building import facts

NOT_HANDED_ON = {
    "started": "it is another run",
    "started_at": "it is another run",
    "last_at": "it is another run",
    "last_ended": "a user who says `run` does not want to wait",
    "waiting.ends": "on the clock of the other run",
    "status": "handed on as the report of what is carried",
    "unclaimed": "handed on as the report of what is carried",
    "status_before": "the iteration begins again",
    "call": "it is done again",
    "requests.cut": "it was about the call",
    "requests.paused": "a user who says `run` wants it to run",
    "requests.approved": "asked again",
    "requests.stop": "a user who says `run` wants it to run",
    "claim.verification": "the proof begins again, without the checks that were green",
    "one_off": "a run with iterations has none",
    "finished": "then nothing is handed on",
    "worked": "it has to be seen again",
    "hooks.hooks_begun": "each run calls `started`",
    "hooks.last_hook": "a user who says `run` wants another try",
    "hooks.hook_signals": "they were for the other run",
    "worktree": "the next run finds it and records it",
    "waiting.held": "a command that starts runs tells each one that it starts",
    "plans.now": "read from the file again",
    "instructions": "an edit between two runs surprises nobody",
    "plans.before": "the iteration begins again",
}
"""What a killed run does not hand on, and why."""


def fields(state: RunState | Resumed) -> dict[str, Any]:
    """Every field by name, those of the groups as `group.field`."""
    found: dict[str, object] = {}
    for name, value in asdict(state).items():
        if isinstance(value, Streaks | Waiting | Claim | Session | Requests | Work | HookState | Breaker | Plans):
            found |= {f"{name}.{inner}": held for inner, held in asdict(value).items()}
        else:
            found[name] = value
    return found


def state_of(*events: Event) -> RunState:
    started = RunStarted("a", "w", "loop", 9, 1, "h", "0", ("c",))
    return fold(Entry(number, 500.0, float(number), event) for number, event in enumerate((started, *events), 1))


def resumed(state: RunState) -> RunState:
    again = RunStarted("b", "w", "loop", 9, 1, "h", "0", ("c",), resumed=resume_from("a", state, 7.0))
    return fold([Entry(1, 600.0, 0.0, again)])


def iteration(number: int, kind: Kind = Kind.OK, status: Status | None = None, **more: Any) -> list[Event]:
    outcome = Outcome(kind, "m", resets_at=1000.0 if kind == "usage_limit" else None)
    return [IterationStarted(number), IterationFinished(number, outcome, status, **more)]


DENIED = (Denial("Bash", "npm test"),)
CLAIM = Status(True)
RED, GREEN = VerificationFinished(1, False, "tests fail"), VerificationFinished(1, True)
CHECKED = ChecksPassed(digest(("true",)), project="abc")
LIMITED = ReviewFinished("unheld", outcome=Outcome(Kind.USAGE_LIMIT, "m", resets_at=1000.0))
STORIES: dict[str, list[Event]] = {
    "failures": [*iteration(1, Kind.CRASH), *iteration(2, Kind.IDLE)],
    "idle": [*iteration(1, status=Status(False, worked=False)), *iteration(2, status=Status(False, worked=False))],
    "denials": [*iteration(1, Kind.DENIED, denials=DENIED), *iteration(2, Kind.DENIED, denials=DENIED)],
    "retries": [*iteration(1, Kind.TRANSIENT), WaitStarted(Why.TRANSIENT, 505.0), WaitEnded(Why.TRANSIENT)],
    "limit": iteration(1, Kind.USAGE_LIMIT),
    "waiting": [*iteration(1, Kind.USAGE_LIMIT), WaitStarted(Why.USAGE_LIMIT, 1060.0)],
    "claim": [*iteration(1, status=CLAIM), VerificationStarted(1)],
    "red": [*iteration(1, status=CLAIM), VerificationStarted(1), RED],
    "green": [*iteration(1, status=CLAIM), VerificationStarted(1), GREEN],
    "review": [*iteration(1, status=CLAIM), VerificationStarted(1), CHECKED, ReviewStarted("quick"), LIMITED],
    "unchecked": iteration(1, Kind.USAGE_LIMIT, CLAIM),
    "checked": [*iteration(1, Kind.USAGE_LIMIT, CLAIM), VerificationStarted(1), CHECKED],
    "review waits": [
        *iteration(1, status=CLAIM),
        VerificationStarted(1),
        CHECKED,
        ReviewStarted("quick"),
        LIMITED,
        WaitStarted(Why.USAGE_LIMIT, 1060.0),
    ],
    "money": iteration(1, cost_usd=0.5, tokens=Tokens(1, 2, 3, 4), session="s", context=0.5),
    "calls": [IterationStarted(1), AgentStarted(7), *iteration(1)[1:]],
    "work": [*iteration(1), SnapshotTaken(1, "abc"), WorkMeasured(1, Changes(2)), *iteration(2), WorkMeasured(2)],
    "windows": [LimitReported("allowed", "five_hour", 9000.0, 0.9), *iteration(1)],
}


def test_every_field_is_handed_on_by_name_or_has_a_reason_not_to_be() -> None:
    """`Resumed` has each field of the state under its name, or it is listed with a reason."""
    handed = {name.partition(".")[0] for name in fields(RunState()) if name not in NOT_HANDED_ON}
    assert handed == set(Resumed.__struct_fields__) - {"run", "elapsed"}
    assert set(NOT_HANDED_ON) <= set(fields(RunState()))


FULL = RunState(
    iterations=3,
    last_outcome=Outcome(Kind.USAGE_LIMIT, "m", resets_at=1000.0),
    last_status=Status(True),
    findings="tests fail",
    cost_usd=0.5,
    cost_is_lower_bound=True,
    tokens=Tokens(1, 2, 3, 4),
    streaks=Streaks(
        idle_iterations=1,
        denied="Bash(npm:*)",
        denials=1,
        retries=4,
        absences=2,
    ),
    waiting=Waiting(
        wait=WaitStarted(Why.USAGE_LIMIT, 1060.0),
        waits=5,
        waited=6.0,
        windows={"five_hour": LimitReported("allowed", "five_hour", 9000.0, 0.9)},
        calls=(1.0, 2.0),
        hours_waived=3.0,
    ),
    claim=Claim(
        7,
        VerificationFinished(7, True, tree="abc"),
        CHECKED,
        {"true": CheckResult(True, "abc")},
        ("true",),
        "t+1",
        False,
        VerificationFinished(6, False, "tests fail"),
        ("it has no id",),
    ),
    session=Session("s", 0.5, 99.0, Rebooted(Reboot.USER, "s"), 0.25, Tokens(9)),
    reboots=4,
    hooks=HookState(
        "iteration_finished",
        3,
        ("project",),
        "workspace",
        3,
        3,
        1,
        IterationFinished(3, Outcome(Kind.OK)),
        hooks_failed=("hooks/started",),
    ),
    defined=ProofDefined("abc", {"check": {"check.sh": "1"}}),
    changes=(ProofChange("check", "check.sh", "changed", "1", "2"),),
    work=Work(WorkMeasured(2, Changes(1, commits=1)), SnapshotTaken(2, "abc", "refs/x", "def", "main"), 2, 5, 1),
    breaker=Breaker(
        3,
        2,
        2,
        "0011223344556677",
        "no such table",
        1,
        Trip("no_progress", "after 3 iterations without progress", "000001-x", 5.0),
        "task",
        PatternSeen("STUCK", "I am STUCK"),
        StopScriptsRun(4, (ScriptResult("./stop", 0),)),
    ),
    hints=Hints(100, 1, 2, 1),
)
"""A state in which every field that is handed on has a value of its own."""


@pytest.mark.parametrize("name", [name for name in fields(FULL) if name not in NOT_HANDED_ON])
def test_every_field_that_is_handed_on_arrives(name: str) -> None:
    """Neither the writer nor the reader of `Resumed` forgets one."""
    assert fields(FULL)[name] != fields(RunState())[name], "the example needs a value for this field"
    assert fields(resume_from("a", FULL, 7.0))[name] == fields(FULL)[name]
    assert fields(resumed(FULL))[name] == fields(FULL)[name]


def test_money_of_a_call_that_was_killed_is_handed_on() -> None:
    """At least what its messages cost: to the run that goes on, to the totals, and from there to the next totals."""
    paid = iteration(1, cost_usd=0.5, tokens=Tokens(1))
    killed = state_of(*paid, IterationStarted(2), UsageReported(Tokens(10, 1), 0.25))
    after = resume_from("a", killed, 1.0)
    assert (after.cost_usd, after.tokens, after.cost_is_lower_bound) == (0.75, Tokens(11, 1), True)
    carried = carry_over(killed)
    assert (carried.cost_usd, carried.cost_is_lower_bound) == (0.75, True)
    later = RunStarted("b", "w", "loop", 9, 1, "h", "0", ("c",), carried=carried)
    assert carry_over(fold([Entry(1, 600.0, 0.0, later)])).cost_is_lower_bound
    assert not carry_over(state_of(*paid)).cost_is_lower_bound


@pytest.mark.parametrize("story", STORIES)
def test_what_is_taken_over_is_what_was_left(story: str) -> None:
    """Whatever happened before the kill, but for claims and outcomes that were dealt with."""
    before, after = fields(state_of(*STORIES[story])), fields(resumed(state_of(*STORIES[story])))
    if story == "red":  # it has been judged
        before |= {"last_status": None, "claim.proof": None}
    if story not in {"limit", "waiting", "review", "review waits", "unchecked", "checked"}:
        before["last_outcome"] = None
    status = before["last_status"]
    before["last_status"] = status if isinstance(status, Status) and status.complete else None
    before["streaks.denials"] = min(before["streaks.denials"], 1)  # one more ends the run
    for name in fields(RunState()):
        assert name in NOT_HANDED_ON or after[name] == before[name], name


@pytest.mark.parametrize(
    ("story", "verdict"),
    [
        ("limit", WaitStarted(Why.USAGE_LIMIT, 1060.0, "m")),
        ("waiting", Wait(460.0)),
        ("claim", Verify(1)),
        ("red", Begin(2)),
        ("green", Finish("completed")),
        ("unchecked", Verify(1)),
        ("checked", Verify(1)),
        ("denials", Begin(3)),
    ],
)
def test_the_next_step_is_the_same_as_without_the_kill(story: str, verdict: Verdict) -> None:
    """A claim that failed is not judged twice, one that held is not paid twice, a wait goes on."""
    known = facts(0.0, wall=600.0, checks=("true",), max_attempts=2)
    assert decide(resumed(state_of(*STORIES[story])), known) == verdict


@pytest.mark.parametrize(
    ("story", "verdict"),
    [
        ("unchecked", Verify(1)),
        ("checked", WaitStarted(Why.USAGE_LIMIT, 1060.0, "m")),
        ("review", WaitStarted(Why.USAGE_LIMIT, 1060.0, "m")),
        ("review waits", Wait(460.0)),
    ],
)
def test_green_checks_stand_over_a_kill_and_the_review_waits(story: str, verdict: Verdict) -> None:
    """With a review wanted: what is left to do is the same as without the kill."""
    known = facts(0.0, wall=600.0, checks=("true",), auto_verify=True)
    assert decide(resumed(state_of(*STORIES[story])), known) == verdict


def test_what_was_decided_is_not_decided_again_without_a_try() -> None:
    """Killed between the last failed proof and the end of the run: a user who runs it again wants another try."""
    after = resumed(state_of(*STORIES["red"]))
    assert decide(after, facts(0.0, wall=600.0, checks=("true",), max_attempts=1)) == Begin(2)


def test_where_no_more_iterations_are_wanted_none_is_waited_for() -> None:
    """`run -m 1` after a kill in the wait before iteration 2."""
    state = resumed(state_of(*iteration(1), *iteration(2, Kind.USAGE_LIMIT), WaitStarted(Why.USAGE_LIMIT, 9000.0)))
    verdict = decide(state, facts(0.0, wall=600.0, max_iterations=1))
    assert isinstance(verdict, Finish)
    assert verdict.reason == "max_iterations"


def test_a_claim_before_the_iteration_under_way_has_been_judged() -> None:
    """Neither it nor its proof is handed on."""
    after = resumed(state_of(*STORIES["red"], IterationStarted(2)))
    assert (after.last_status, after.proof, after.claim.judged, after.findings) == (None, None, 1, "tests fail")


@pytest.mark.parametrize("purpose", list(Purpose))
def test_what_earlier_runs_left_to_a_run_that_ended_as_completed(purpose: Purpose) -> None:
    """Changes of the proof stand until they are undone or accepted. The breaker is settled by a run that completed the
    task alone: `verify`, `validate`, `edit` and `setup` end as completed, too."""
    trip = Trip("no_progress", "after 3 iterations without progress", "r", 1.0)
    carried = Carried(changes=(ProofChange("check", "check.sh", "changed"),), refuses=True, breaker=Breaker(trip=trip))
    started = RunStarted("r", "t", "loop", 9, 1, "h", "0", ("c",), purpose=purpose, carried=carried)
    left = carry_over(fold([Entry(1, 1.0, 1.0, started), Entry(2, 2.0, 2.0, RunFinished("completed"))]))
    stands = purpose != Purpose.RUN
    assert (bool(left.changes), left.refuses, left.breaker.trip is not None) == (True, True, stands)
