"""The breaker: each condition alone trips at its threshold and not one before; what clears it; what stays; hints."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from claude_iterate.core.events import (
    Breaker,
    BreakerReset,
    Carried,
    Changes,
    Event,
    Hints,
    IterationFinished,
    IterationStarted,
    Outcome,
    PatternSeen,
    RunFinished,
    RunStarted,
    ScriptResult,
    StopScriptsRun,
    TestCounts,
    Tokens,
    Trip,
    WaitStarted,
    WorkMeasured,
)
from claude_iterate.core.events.enums import Kind, Why
from claude_iterate.core.reports.fallbacks import from_block
from claude_iterate.core.reports.status import Status
from claude_iterate.core.rules import breaker
from claude_iterate.core.rules.between import decide
from claude_iterate.core.rules.breaker import new_hint_warnings, says_done
from claude_iterate.core.rules.facts import Facts
from claude_iterate.core.rules.verdicts import Begin, Finish, RunStopScripts, Verdict
from claude_iterate.core.settings.declared import build
from claude_iterate.core.state.carry_over import carry_over
from claude_iterate.core.state.fold import fold
from claude_iterate.core.state.run_state import RunState
from tests.core.building import entries, facts

NOTHING = Changes(how="git")
RED, GREEN = TestCounts(1, 2, red=("a", "b")), TestCounts(3)
TRIP = Trip("no_progress", "after 3 iterations without progress", "000012-x", 100.0)


def started(carried: Carried | None = None, dry_run: bool = False, measures: bool = True) -> RunStarted:
    who = ("000013-x", "my-task", "loop", 9, 1, "h", "0", ("c",))
    return RunStarted(*who, carried=carried or Carried(), dry_run=dry_run, measures=measures)


def iteration(
    number: int,
    kind: Kind = Kind.OK,
    *,
    moved: bool = False,
    error: str = "",
    tests: TestCounts | None = None,
    status: Status | None = None,
    known: bool = True,
) -> list[Event]:
    finished = IterationFinished(
        number, Outcome(kind, "words"), status or Status(False), error=error, error_said=f"said {error}"
    )
    progress = ("files",) if moved else ()
    return [IterationStarted(number), finished, WorkMeasured(number, NOTHING if known else None, tests, progress)]


def after(*rows: list[Event], first: RunStarted | None = None) -> RunState:
    return fold(entries(first or started(), *(event for row in rows for event in row)))


def verdict(state: RunState, **settings: Any) -> Verdict:
    return decide(state, facts(1000, **settings))


def ends(state: RunState, **settings: Any) -> str:
    """The reason, or nothing when the run goes on."""
    found = verdict(state, **settings)
    assert isinstance(found, Finish | Begin), found
    return found.reason if isinstance(found, Finish) else ""


@pytest.mark.setting("stop.no_progress")
@pytest.mark.parametrize(
    ("times", "most", "reason"), [(2, 3, ""), (3, 3, "no_progress"), (1, 1, "no_progress"), (9, 0, "")]
)
def test_iterations_without_progress_end_a_run(times: int, most: int, reason: str) -> None:
    """At the threshold and not one before; 0 never."""
    state = after(*(iteration(number) for number in range(1, times + 1)))
    assert ends(state, no_progress=most) == reason


def test_progress_in_between_begins_the_count_again() -> None:
    """Two, progress, two: four without progress, but never three in a row."""
    rows = [iteration(1), iteration(2), iteration(3, moved=True), iteration(4), iteration(5)]
    assert ends(after(*rows), no_progress=3) == ""
    assert ends(after(*rows, iteration(6)), no_progress=3) == "no_progress"


@pytest.mark.setting("stop.no_progress", "stagnation_threshold")
@pytest.mark.parametrize(
    ("mode", "worked", "settings", "reason"),
    [
        ("iterative", False, {}, "stagnation"),
        ("iterative", False, {"stagnation_threshold": 9}, ""),
        ("iterative", False, {"stagnation_threshold": 9, "no_progress": 3}, ""),
        ("iterative", False, {"stagnation_threshold": 0}, ""),
        ("iterative", False, {"stagnation_threshold": 0, "no_progress": 3}, "no_progress"),
        ("iterative", False, {"stagnation_threshold": 0, "no_progress": 0}, ""),
        ("iterative", True, {}, "no_progress"),
        ("iterative", True, {"stagnation_threshold": 0}, ""),
        ("iterative", None, {}, "no_progress"),
        ("iterative", None, {"no_progress": 0}, ""),
        ("iterative", None, {"stagnation_threshold": 0}, ""),
        ("loop", False, {}, "no_progress"),
        ("loop", False, {"stagnation_threshold": 0}, "no_progress"),
        ("loop", False, {"stagnation_threshold": 1, "no_progress": 0}, ""),
        ("loop", None, {"stagnation_threshold": 1}, "no_progress"),
        ("loop", None, {"stagnation_threshold": 1, "no_progress": 0}, ""),
    ],
)
def test_which_of_the_two_thresholds_ends_three_iterations_without_a_change(
    mode: str, worked: bool | None, settings: dict[str, int], reason: str
) -> None:
    """In iterative mode `worked: false` is a matter of `stagnation_threshold`; 0 trusts Claude completely, unless
    `stop.no_progress` is set. Loop mode knows only the breaker, and 0 switches it off. `worked` None: no report."""
    rows = [iteration(number, status=Status(False, worked=worked)) for number in range(1, 4)]
    if worked is None:
        rows = [
            [IterationStarted(n), IterationFinished(n, Outcome(Kind.OK)), WorkMeasured(n, NOTHING)] for n in (1, 2, 3)
        ]
    assert ends(after(*rows), stagnates=mode == "iterative", **settings) == reason


def test_the_end_of_a_run_in_which_nothing_moves_is_a_sentence() -> None:
    """What was not seen, and the command for a task whose work is elsewhere if Claude reports some."""
    silent: list[list[Event]] = [
        [IterationStarted(n), IterationFinished(n, Outcome(Kind.OK)), WorkMeasured(n, NOTHING)] for n in (1, 2, 3)
    ]
    found = verdict(after(*silent))
    assert isinstance(found, Finish)
    assert found.cause == "No progress in 3 iterations in a row"
    assert found.next == "claude-iterate run t --reset"
    assert found.detail == "no commit, no changed file; the last iteration wrote no report"
    assert "outside of this project" not in found.advice
    counting = verdict(after(*(iteration(number, status=Status(False, number, 50)) for number in (1, 2, 3))))
    assert isinstance(counting, Finish)
    assert counting.detail == "no commit, no changed file"
    assert counting.advice.endswith("claude-iterate config stop.no_progress 0 --workspace t")


@pytest.mark.parametrize("kind", [Kind.SKIPPED, Kind.DENIED, Kind.INTERRUPTED])
def test_a_skip_or_a_denial_leaves_the_counts(kind: Kind) -> None:
    """It says nothing of the agent: neither one more nor a new beginning."""
    before = after(iteration(1, error="a"), iteration(2, Kind.CRASH, error="a"))
    state = after(iteration(1, error="a"), iteration(2, Kind.CRASH, error="a"), iteration(3, kind))
    assert state.breaker == before.breaker


def test_a_limit_changes_nothing() -> None:
    """The iteration is done again, so it has not happened."""
    state = after(iteration(1), iteration(2, Kind.CRASH, error="a")[:2], iteration(2, Kind.USAGE_LIMIT)[:2])
    assert (state.breaker.unmoved, state.breaker.failures, state.breaker.errors) == (1, 1, 1)


@pytest.mark.setting("stop.same_error")
@pytest.mark.parametrize(
    ("errors", "reason"),
    [("AAAA", "same_error"), ("AAA", ""), ("AABAAA", ""), ("AA-AAA", ""), ("BAAAA", "same_error")],
)
def test_the_same_error_in_a_row_ends_a_run(errors: str, reason: str) -> None:
    """Another error begins a new count, none ends it."""
    rows = [iteration(n, error=error.replace("-", "")) for n, error in enumerate(errors, 1)]
    assert ends(after(*rows), no_progress=0, same_error=4) == reason


@pytest.mark.parametrize("moved", [False, True])
def test_the_same_error_is_the_reason_although_files_change_or_nothing_moves(moved: bool) -> None:
    """At the default of five: the more telling reason wins, and edits that do not get over it do not clear it."""
    rows = [iteration(number, error="A", moved=moved) for number in range(1, 6)]
    assert ends(after(*rows[:4]), no_progress=5) == ""
    assert ends(after(*rows), no_progress=5) == "same_error"


@pytest.mark.setting("stop.test_failures")
@pytest.mark.parametrize(
    ("runs", "most", "reason"),
    [("RR", 3, ""), ("RRR", 3, "test_failures"), ("RGRR", 3, ""), ("R?RR", 3, "test_failures"), ("RRR", 0, "")],
)
def test_red_tests_in_a_row_end_a_run(runs: str, most: int, reason: str) -> None:
    """Green begins a new count; what is not known leaves it. Other progress does not make red tests green."""
    results = {"R": RED, "G": GREEN, "?": None}
    rows = [iteration(number, moved=True, tests=results[run]) for number, run in enumerate(runs, 1)]
    assert ends(after(*rows), test_failures=most) == reason


@pytest.mark.parametrize(
    ("tests", "detail"),
    [(RED, "2 failed, 1 passed: a, b"), (TestCounts(4, 1, 2), "3 failed, 4 passed"), (None, "")],
    ids=["names", "numbers", "unknown"],
)
def test_the_end_names_the_red_tests(tests: TestCounts | None, detail: str) -> None:
    """As far as they are known."""
    found = verdict(after(iteration(1, tests=RED), iteration(2, tests=tests)), test_failures=1)
    assert isinstance(found, Finish)
    assert (found.reason, found.detail) == ("test_failures", detail)


@pytest.mark.parametrize(
    ("outcomes", "reason"),
    [
        ("CC", ""),
        ("CCC", "agent_failed"),
        ("CC.C", "agent_failed"),
        ("CC+CC", ""),
        ("CCP", ""),
        ("CsCdC", "agent_failed"),
    ],
)
def test_only_progress_clears_failures(outcomes: str, reason: str) -> None:
    """A good iteration that moved nothing does not; a crash with progress is no failure; a skip and a denial leave the
    count."""
    kinds = {"C": Kind.CRASH, "P": Kind.TIMEOUT, "s": Kind.SKIPPED, "d": Kind.DENIED}
    rows = [iteration(n, kinds.get(sign, Kind.OK), moved=sign in "+P") for n, sign in enumerate(outcomes, 1)]
    assert ends(after(*rows), no_progress=0, failures=3) == reason


@pytest.mark.parametrize("measures", [True, False])
def test_where_work_is_not_known_a_good_iteration_clears_failures(measures: bool) -> None:
    """Nothing better is known then. The count of iterations without progress stays at 0."""
    rows = [
        iteration(number, kind, known=False)[: 3 if measures else 2]
        for number, kind in enumerate([Kind.CRASH, Kind.CRASH, Kind.OK, Kind.CRASH], 1)
    ]
    state = after(*rows, first=started(measures=measures))
    assert (state.breaker.failures, state.breaker.unmoved) == (1, 0)


@pytest.mark.setting("stop.patterns")
def test_a_pattern_ends_the_run_after_its_iteration() -> None:
    """With the pattern and the place; the next iteration begins without it."""
    first, finished, measured = iteration(1, moved=True)
    seen = PatternSeen("ST.CK", "I am STUCK here")
    found = verdict(after([first, seen, finished, measured]))
    assert isinstance(found, Finish)
    assert (found.reason, found.detail) == ("pattern", "`ST.CK` matches: I am STUCK here")
    assert ends(after([first, seen], iteration(1, moved=True))) == ""


def with_scripts(*lines: str) -> Facts:
    return replace(facts(1000), settings=build({"stop.scripts": lines, "delay": 0.0}))


def test_scripts_are_asked_once_after_each_iteration() -> None:
    """Exit code 0 says stop, any other goes on."""
    known = with_scripts("./a", "./b")
    assert decide(after(), known) == Begin(1)
    state = after(iteration(1, moved=True))
    assert decide(state, known) == RunStopScripts(1)
    answered = iteration(1, moved=True)
    asked = StopScriptsRun(1, (ScriptResult("./a", 1), ScriptResult("./b", None, cut="timeout")))
    assert decide(after([*answered, asked]), known) == Begin(2)
    said = StopScriptsRun(1, (ScriptResult("./a", 1), ScriptResult("./b", 0, output="enough\nfor today")))
    found = decide(after([*answered, said]), known)
    assert isinstance(found, Finish)
    assert (found.reason, found.detail) == ("script", "`./b` exited with 0: enough for today")


def carried_after(*rows: list[Event], ending: RunFinished) -> Carried:
    return carry_over(after(*rows, [ending]))


def test_counts_go_on_after_any_end() -> None:
    """Two before Ctrl-C and one after it are three. The first decision of a run trips nothing."""
    carried = carried_after(iteration(1), iteration(2), ending=RunFinished("interrupted", task="t+0"))
    assert (carried.breaker.unmoved, carried.breaker.task) == (2, "t+0")
    next_run = started(carried)
    assert ends(after(first=next_run), no_progress=2) == ""
    assert ends(after(iteration(1), first=next_run), no_progress=3) == "no_progress"
    assert ends(after(iteration(1, moved=True), first=next_run), no_progress=1) == ""


def test_a_completed_task_hands_on_no_counts() -> None:
    """What comes after it is another task."""
    carried = carried_after(iteration(1), iteration(2), ending=RunFinished("completed"))
    assert carried.breaker == Breaker()


def test_a_trip_is_handed_on_with_its_reason_run_and_time() -> None:
    """Also over a run that does no iteration, such as `verify`, and a dry run counts for itself."""
    ending = RunFinished("no_progress", tripped="after 3 iterations without progress", task="t+0")
    carried = carried_after(*(iteration(number) for number in (1, 2, 3)), ending=ending)
    trip = carried.breaker.trip
    assert trip == Trip("no_progress", "after 3 iterations without progress", "000013-x", 11.0)
    verified = carry_over(after([RunFinished("verification_failed")], first=started(carried)))
    assert verified.breaker == carried.breaker
    assert after(first=started(carried, dry_run=True)).breaker.unmoved == 0
    assert breaker.refusal("t", TRIP) == "t was stopped after 3 iterations without progress (run 12)."


def test_a_reset_clears_everything() -> None:
    """Counters, the trip, what was seen."""
    carried = Carried(breaker=Breaker(3, 2, 4, "a", "said a", 1, TRIP))
    state = after([BreakerReset("run")], first=started(carried))
    assert carry_over(state).breaker == Breaker()
    assert ends(after([BreakerReset("run")], iteration(1), first=started(carried)), no_progress=3) == ""


def test_a_trial_iteration_closes_the_breaker_or_trips_it_again() -> None:
    """After the cooldown. One that moves closes it, one that does not ends the run with the reason of then."""
    before = started(Carried(breaker=Breaker(trip=TRIP)))
    assert ends(after(first=before)) == ""
    assert ends(after(iteration(1), first=before)) == "no_progress"
    moved = after(iteration(1, moved=True), first=before)
    assert ends(moved) == ""
    assert carry_over(moved).breaker.trip is None
    pattern = started(Carried(breaker=Breaker(trip=Trip("pattern", "because", "000001-x", 1.0))))
    assert ends(after(iteration(1), first=pattern)) == "pattern"


def test_the_cooldown_is_counted_from_the_trip() -> None:
    """Without the setting a reset is needed."""
    assert breaker.cooldown_left(TRIP, None, 5000.0) is None
    assert breaker.cooldown_left(TRIP, 60.0, 150.0) == 10.0
    assert breaker.cooldown_left(TRIP, 60.0, 161.0) == -1.0


@pytest.mark.parametrize(("failures", "pause"), [(1, 5.0), (2, 10.0), (3, 20.0), (9, 300.0)])
def test_failures_in_a_row_make_the_pause_grow(failures: int, pause: float) -> None:
    """5 seconds, doubled, at most 5 minutes; with `delay = 0` and in a dry run none."""
    state = after(*(iteration(number, Kind.CRASH) for number in range(1, failures + 1)))
    settings: dict[str, Any] = {"failures": 0, "no_progress": 0}
    found = decide(state, facts(1000, wall=1000.0, delay=2.0, **settings))
    assert isinstance(found, WaitStarted)
    assert (found.why, found.until) == (Why.FAILURES, 1000.0 + pause)
    assert ends(state, delay=0.0, **settings) == ""
    dry = after(iteration(1, Kind.CRASH), first=started(dry_run=True))
    assert not isinstance(decide(dry, facts(1000, delay=2.0, **settings)), WaitStarted)


def test_the_pace_counts_calls_of_earlier_runs() -> None:
    """Those of the last hour, whatever ended the run."""
    state = after()
    state = replace(state, waiting=replace(state.waiting, calls=(1.0, 5000.0, 9000.0)), last_at=9100.0)
    carried = carry_over(state)
    assert carried.calls == (9000.0,)
    waits = decide(after(first=started(carried)), facts(0, wall=9200.0, calls_per_hour=1))
    assert isinstance(waits, WaitStarted)
    assert waits.why == Why.PACE


def hinted(
    output: int = 0, phase: str = "", done: bool = False, kind: Kind = Kind.OK, complete: bool = False
) -> IterationFinished:
    status = Status(complete, phase=phase or None)
    return IterationFinished(1, Outcome(kind), status, tokens=Tokens(output=output), says_done=done)


def warned(*finished: IterationFinished) -> list[str]:
    """All that is told over these iterations."""
    found, before, events = [], Hints(), list[Event]()
    for event in finished:
        events += [IterationStarted(1), event]
        now = fold(entries(*events)).hints
        found += [warning.text for warning in new_hint_warnings(before, now, "my-task")]
        before = now
    return found


@pytest.mark.parametrize(
    ("given", "times"),
    [
        *(((1000, 200, 50), 1), ((1000, 200, 190), 0), ((1000, 300, 90), 1), ((1000, 301, 90), 0)),
        *(((1000, 200, 50, 10), 1), ((0,) * 5, 0)),
        *(("TTT", 1), ("TT", 0), ("TTIT", 0), ("TTTT", 1), ("TTTITTT", 2)),
    ],
)
def test_signs_of_no_progress_warn_once_per_streak(given: tuple[int, ...] | str, times: int) -> None:
    """Output that shrinks by 70 % or more twice in a row, where its amount is known; three reports of only tests."""
    phases = {"T": "testing", "I": "implementation"}
    rows = [hinted(phase=phases[it]) if isinstance(it, str) else hinted(it) for it in given]
    assert len(warned(*rows)) == times


def test_words_of_completion_without_a_claim_are_told() -> None:
    """Three in a row; a claim ends the streak, a crash leaves it."""
    said = hinted(done=True)
    assert len(warned(said, said, said)) == 1
    assert warned(said, said, hinted(done=True, complete=True), said) == []
    assert len(warned(said, said, hinted(kind=Kind.CRASH), said)) == 1


@pytest.mark.parametrize(
    ("words", "done"),
    [
        ("All tasks are now complete.", True),
        ("I fixed the bug. The implementation is complete.", True),
        ("Everything is done!", True),
        ("There is nothing left to do.", True),
        ("Step 3 is complete, two are left.", False),
        ("I could not finish the work.", False),
        ("", False),
    ],
)
def test_which_words_say_that_all_is_done(words: str, done: bool) -> None:
    """The last words of a message."""
    assert says_done(words) is done


def test_the_work_type_of_a_block_counts() -> None:
    """So that agents with LOOP_STATUS are understood, too."""
    block = "---LOOP_STATUS---\nSTATUS: IN_PROGRESS\nWORK_TYPE: TESTING\n---END_LOOP_STATUS---"
    reading = from_block(block)
    assert reading is not None
    finished = IterationFinished(1, Outcome(Kind.OK), reading.status)
    assert len(warned(finished, finished, finished)) == 1
