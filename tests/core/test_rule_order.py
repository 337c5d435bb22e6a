"""The order of the rules: for each pair of neighbours a state in which both have an opinion, and the first wins."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace

from claude_iterate.core.events import (
    HeldBack,
    HookFinished,
    LimitReported,
    Outcome,
    PatternSeen,
    PlanRead,
    RunStarted,
    ScriptResult,
    StopRequested,
    StopScriptsRun,
    Trip,
    VerificationFinished,
    VerificationStarted,
    WaitStarted,
)
from claude_iterate.core.events.enums import Kind, Meaning, Point, Why
from claude_iterate.core.events.run import Breaker, Claim, HookState, Requests, Streaks, Verification, Waiting
from claude_iterate.core.reports.status import Status
from claude_iterate.core.rules import between, breaker, hooks, plan, proof, steering, waits
from claude_iterate.core.rules.between import BETWEEN_RULES, Between, decide
from claude_iterate.core.rules.facts import Facts, Inspection
from claude_iterate.core.settings.declared import build
from claude_iterate.core.settings.modes import MODES
from claude_iterate.core.state.run_state import Plans, RunState
from tests.core.building import facts

DONE = Status(True)
STOP, PAUSE = Requests(stop=StopRequested("SIGINT")), Requests(paused=True)
LIMIT, OVERLOAD, AUTH, CRASH = (Outcome(kind) for kind in (Kind.USAGE_LIMIT, Kind.TRANSIENT, Kind.AUTH, Kind.CRASH))
WAIT = WaitStarted(Why.USAGE_LIMIT, 1000.0)
LITTLE = {"five_hour": LimitReported("allowed", "five_hour", 9000.0, 0.9)}
KEPT = {"five_hour": 20.0}
SEEN = PatternSeen("STUCK", "I am STUCK")
TRIP = Trip("no_progress", "after 3 iterations without progress", "000001-x", 0.0)
SAID = StopScriptsRun(1, (ScriptResult("./stop", 0),))
SCRIPTS = build({"stop.scripts": ("./stop",)})
DENIED = Streaks(denied="Bash(npm:*)", denials=2)
HOOKED = RunStarted("r", "w", "loop", 9, 1, "h", "0", ("c",), hooks=tuple(Point))
BEGUN = RunState(started=HOOKED, hooks=HookState(hooks_begun=True))
ABORT = HookFinished(Point.NEXT_ITERATION, "hooks/next_iteration", "project", 2, Meaning.ABORT, 1)
SKIP = HookFinished(Point.NEXT_ITERATION, "hooks/next_iteration", "project", 1, Meaning.SKIP, 1)

BOTH: dict[tuple[Between, Between], tuple[RunState, Facts]] = {
    (between.proof_is_under_way, between.workspace_is_gone): (
        RunState(claim=Claim(verification=Verification(VerificationStarted(1)))),
        replace(facts(0, workspace_gone="/w"), inspection=Inspection("")),
    ),
    (between.workspace_is_gone, between.one_off_call): (RunState(), facts(0, workspace_gone="/w", purpose="setup")),
    (between.one_off_call, plan.plan_is_unread): (
        RunState(),
        replace(facts(0, purpose="setup"), plan=PlanRead()),
    ),
    (plan.plan_is_unread, between.work_is_unmeasured): (
        RunState(iterations=1),
        replace(facts(0), plan=PlanRead(), measures=True),
    ),
    (between.work_is_unmeasured, hooks.iteration_finished_is_due): (
        RunState(started=HOOKED, iterations=1, hooks=HookState(hook_owed=1)),
        replace(facts(0), measures=True),
    ),
    (hooks.iteration_finished_is_due, hooks.hook_aborts): (
        RunState(started=HOOKED, hooks=HookState(hook_owed=1, last_hook=ABORT)),
        facts(0),
    ),
    (hooks.hook_aborts, proof.claim_is_outdated): (
        RunState(last_status=DONE, claim=Claim(task="a+0"), hooks=HookState(last_hook=ABORT)),
        replace(facts(0), task="b+0"),
    ),
    (proof.claim_is_outdated, proof.claim_was_withdrawn): (
        RunState(last_status=DONE, claim=Claim(task="a+0")),
        replace(facts(0), task="b+0", withdrawn=True),
    ),
    (proof.claim_was_withdrawn, proof.claim_was_cut_off): (
        RunState(last_status=DONE, claim=Claim(sound=False)),
        replace(facts(0), withdrawn=True),
    ),
    (proof.claim_was_cut_off, plan.claim_is_without_plan): (
        RunState(last_status=DONE, claim=Claim(sound=False), plans=Plans(PlanRead())),
        replace(facts(0), mode=MODES["plan"]),
    ),
    (between.completion, steering.stop): (RunState(last_status=DONE, requests=STOP), facts(0)),
    (steering.stop, breaker.time_is_up): (RunState(requests=STOP), facts(9, max_duration=5)),
    (breaker.time_is_up, hooks.started_is_due): (RunState(started=HOOKED), facts(9, max_duration=5)),
    (hooks.started_is_due, hooks.iteration_is_skipped): (
        RunState(started=HOOKED, hooks=HookState(last_hook=SKIP)),
        facts(0),
    ),
    (hooks.iteration_is_skipped, proof.claim_must_be_proven): (
        RunState(last_status=DONE, hooks=HookState(last_hook=SKIP)),
        facts(0, checks=("true",)),
    ),
    (proof.proof_failed, breaker.agent_is_blocked): (
        RunState(last_status=Status(False, blocked="help"), claim=Claim(1, VerificationFinished(1, False))),
        facts(0, max_attempts=1),
    ),
    (breaker.agent_is_blocked, plan.plan_is_lost): (
        RunState(last_status=Status(False, blocked="help"), plans=Plans(PlanRead())),
        replace(facts(0), mode=MODES["build"]),
    ),
    (plan.plan_is_lost, breaker.failure_ends_the_run): (
        RunState(last_outcome=AUTH, plans=Plans(PlanRead())),
        replace(facts(0), mode=MODES["build"]),
    ),
    (breaker.failure_ends_the_run, breaker.repeated_denials): (RunState(last_outcome=AUTH, streaks=DENIED), facts(0)),
    (breaker.repeated_denials, breaker.too_many_failures): (
        RunState(last_outcome=CRASH, streaks=DENIED, breaker=Breaker(failures=3)),
        facts(0, failures=3),
    ),
    (breaker.too_many_failures, breaker.same_error): (
        RunState(last_outcome=CRASH, iterations=3, breaker=Breaker(failures=3, errors=3)),
        facts(0, failures=3, same_error=3),
    ),
    (breaker.same_error, breaker.no_progress): (
        RunState(iterations=3, breaker=Breaker(unmoved=3, errors=3)),
        facts(0, no_progress=3, same_error=3),
    ),
    (breaker.no_progress, breaker.failing_tests): (
        RunState(iterations=3, breaker=Breaker(unmoved=3, red=3)),
        facts(0, no_progress=3, test_failures=3),
    ),
    (breaker.failing_tests, breaker.stop_pattern): (
        RunState(iterations=3, breaker=Breaker(red=3, pattern=SEEN)),
        facts(0, test_failures=3),
    ),
    (breaker.stop_pattern, breaker.run_stop_scripts): (
        RunState(iterations=3, breaker=Breaker(pattern=SEEN)),
        replace(facts(0), settings=SCRIPTS),
    ),
    (breaker.stop_script, breaker.failed_trial): (
        RunState(iterations=1, breaker=Breaker(trip=TRIP, scripts=SAID)),
        facts(0),
    ),
    (breaker.failed_trial, breaker.stagnation): (
        RunState(iterations=1, breaker=Breaker(trip=TRIP), streaks=Streaks(idle_iterations=2)),
        facts(0, stagnates=True, stagnation_threshold=2),
    ),
    (breaker.stagnation, breaker.money_is_spent): (
        RunState(streaks=Streaks(idle_iterations=2), cost_usd=2.0),
        facts(0, stagnates=True, stagnation_threshold=2, max_cost_usd=1.0),
    ),
    (breaker.money_is_spent, breaker.iterations_are_used_up): (
        RunState(cost_usd=2.0, iterations=3),
        facts(0, max_cost_usd=1.0, max_iterations=3),
    ),
    (breaker.iterations_are_used_up, waits.wait_is_on): (
        RunState(iterations=3, waiting=Waiting(WAIT, ends=1000.0)),
        facts(0, max_iterations=3),
    ),
    (waits.wait_is_on, waits.another_run_met_the_limit): (
        RunState(waiting=Waiting(WAIT, ends=1000.0, held=HeldBack("other", 5000.0))),
        facts(0),
    ),
    (waits.another_run_met_the_limit, waits.limit_is_reached): (
        RunState(last_outcome=LIMIT, waiting=Waiting(held=HeldBack("other", 5000.0))),
        facts(0),
    ),
    (waits.claude_is_away, waits.reserve_is_reached): (
        RunState(last_outcome=Outcome(Kind.AWAY), waiting=Waiting(windows=LITTLE)),
        facts(0, wall=1000, reserve=KEPT),
    ),
    (waits.reserve_is_reached, waits.pace_is_reached): (
        RunState(waiting=Waiting(windows=LITTLE, calls=(999.0,))),
        facts(0, wall=1000, reserve=KEPT, calls_per_hour=1),
    ),
    (waits.pace_is_reached, waits.outside_hours): (
        RunState(waiting=Waiting(calls=(999.0,))),
        facts(0, wall=1000, calls_per_hour=1, hours=("22:00-23:00",)),
    ),
    (waits.outside_hours, waits.pause_after_failure): (
        RunState(last_outcome=CRASH),
        facts(0, wall=1000, hours=("22:00-23:00",), delay=2.0),
    ),
    (waits.pause_after_failure, steering.pause): (
        RunState(last_outcome=CRASH, requests=PAUSE),
        facts(0, wall=1000, delay=2.0),
    ),
    (steering.pause, waits.pause_between_iterations): (RunState(last_ended=1.0, requests=PAUSE), facts(2, delay=9.0)),
    (waits.pause_between_iterations, steering.ask_user): (
        RunState(last_ended=1.0),
        facts(2, delay=9.0, attended=True),
    ),
    (steering.ask_user, hooks.next_iteration_is_due): (BEGUN, facts(0, attended=True)),
    (hooks.next_iteration_is_due, between.begin_next_iteration): (BEGUN, facts(0)),
}

NEVER_BOTH = {
    (plan.plan_is_done, between.completion): "one needs a claim, the other that there is none",
    (plan.claim_is_without_plan, plan.plan_is_done): "one needs a claim, the other that there is none",
    (proof.claim_must_be_proven, proof.proof_failed): "one needs a claim without a proof, the other the proof",
    (breaker.run_stop_scripts, breaker.stop_script): "one needs scripts that have not run, the other their results",
    (waits.limit_is_reached, waits.api_is_in_trouble): "the last outcome is one or the other",
    (waits.api_is_in_trouble, waits.claude_is_away): "the last outcome is one or the other",
}


def test_every_pair_of_neighbours_is_here() -> None:
    """A new rule, or another order, has to be thought of."""
    assert {*BOTH, *NEVER_BOTH} == set(pairwise(BETWEEN_RULES))


@pytest.mark.parametrize("pair", BOTH, ids=lambda pair: f"{pair[0].__name__}-{pair[1].__name__}")
def test_the_first_of_two_neighbours_wins(pair: tuple[Between, Between]) -> None:
    """Both have an opinion, and they differ."""
    state, known = BOTH[pair]
    first, second = (rule(state, known) for rule in pair)
    assert first is not None
    assert second is not None
    assert first != second
    assert decide(state, known) == first


def test_the_explanation_names_the_rules_in_their_order() -> None:
    """docs/explanation/how-a-run-decides.md cannot disagree with the rules about what comes first."""
    page = Path(__file__).parents[2] / "docs" / "explanation" / "how-a-run-decides.md"
    text = page.read_text(encoding="utf-8").split("## Between iterations")[1].split("\n## ")[0]
    known = {rule.__name__ for rule in BETWEEN_RULES}
    named = [name for name in re.findall(r"`(\w+)`", text) if name in known]
    assert named == [rule.__name__ for rule in BETWEEN_RULES]
