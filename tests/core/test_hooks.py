"""Hooks: when one is due, what its exit code means, what it gets to know; and that a kill loses none."""

from __future__ import annotations

import json

import msgspec
import pytest
from msgspec.structs import replace

from claude_iterate.core.events import (
    Changes,
    Event,
    HookFinished,
    HookStarted,
    IterationFinished,
    IterationStarted,
    Outcome,
    Resumed,
    RunStarted,
    SnapshotTaken,
    StopRequested,
    WorkMeasured,
)
from claude_iterate.core.events.enums import Cause, Kind, Meaning, Point
from claude_iterate.core.reports.status import Status
from claude_iterate.core.rules import hooks
from claude_iterate.core.rules.between import decide
from claude_iterate.core.rules.during import HOOK_RULES, decide_running
from claude_iterate.core.rules.hooks import MOST_SKIPS, meaning
from claude_iterate.core.rules.verdicts import Begin, Cut, Finish, RunHook, Wait
from claude_iterate.core.settings.declared import HookSettings, build, catalogue
from claude_iterate.core.settings.layers import layer_from_environment, unknown_variables
from claude_iterate.core.state.carry_over import resume_from
from claude_iterate.core.state.run_state import RunState
from tests.core.building import after, facts

ALL = (Point.STARTED, Point.NEXT_ITERATION, Point.ITERATION_FINISHED, Point.FINISHED)


def started(*hooks: Point) -> RunStarted:
    return RunStarted("r", "w", "loop", 9, 1, "h", "0", ("c",), hooks=hooks)


def ended(point: Point, number: int, means: Meaning = Meaning.GO_ON, code: int = 0, left: int = 0) -> HookFinished:
    return HookFinished(point, "hooks/x", "project", code, means, number, left=left)


def worked(number: int) -> list[Event]:
    return [IterationStarted(number), IterationFinished(number, Outcome(Kind.OK))]


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("point", ALL)
def test_what_an_exit_code_means(point: Point, fails: bool) -> None:
    """0 go on; 1 skip, of `next_iteration` alone; 2 abort; anything else a failure, or with `fail_on_error` an abort.
    The answer of `finished` changes nothing, and a hook that was stopped has no say."""
    settings = HookSettings(fail_on_error=fails)
    bad = Meaning.ABORT if fails and point != Point.FINISHED else Meaning.FAILED
    assert meaning(point, 0, "", settings) == Meaning.GO_ON
    assert meaning(point, 1, "", settings) == (Meaning.SKIP if point == Point.NEXT_ITERATION else bad)
    assert meaning(point, 2, "", settings) == (Meaning.FAILED if point == Point.FINISHED else Meaning.ABORT)
    assert meaning(point, 3, "", settings) == bad
    assert meaning(point, None, Cause.TIMEOUT, settings) == bad
    assert meaning(point, None, Cause.STOPPED, settings) == Meaning.STOPPED


def test_a_run_with_all_hooks() -> None:
    """started, next_iteration, the iteration, iteration_finished, next_iteration ...: each once for its number."""
    told: list[Event] = [started(*ALL)]
    seen = []
    for _ in range(7):
        verdict = decide(after(*told), facts(99.0, stagnation_threshold=0))
        seen.append(verdict)
        told += worked(verdict.number) if isinstance(verdict, Begin) else []
        if isinstance(verdict, RunHook):
            told.append(ended(verdict.point, verdict.number))
    assert seen == [
        RunHook(Point.STARTED, 0),
        RunHook(Point.NEXT_ITERATION, 1),
        Begin(1),
        RunHook(Point.ITERATION_FINISHED, 1),
        RunHook(Point.NEXT_ITERATION, 2),
        Begin(2),
        RunHook(Point.ITERATION_FINISHED, 2),
    ]


def test_a_repeated_try_calls_no_hook_again() -> None:
    """A usage limit is no iteration: the hook has run for this number, and nothing has finished."""
    limited = IterationFinished(1, Outcome(Kind.TRANSIENT))
    state = after(started(*ALL[1:]), ended(Point.NEXT_ITERATION, 1), IterationStarted(1), limited)
    assert state.hooks.hook_owed == 0
    assert decide(replace(state, last_outcome=None), facts(99.0)) == Begin(1)


def test_two_hooks_of_a_point() -> None:
    """The point is done when the second has ended."""
    first, second = ended(Point.NEXT_ITERATION, 1, left=1), ended(Point.NEXT_ITERATION, 1)
    assert decide(after(started(*ALL[1:]), first), facts(9.0)) == RunHook(Point.NEXT_ITERATION, 1)
    assert after(started(*ALL[1:]), first).hooks.hooks_ran == ("project",)
    assert decide(after(started(*ALL[1:]), first, second), facts(9.0)) == Begin(1)


@pytest.mark.parametrize("point", ALL[:3])
def test_an_abort_ends_the_run(point: Point) -> None:
    """With a claim of completion, too: the user's own program objects."""
    claimed = after(started(*ALL), ended(point, 1, Meaning.ABORT, 2))
    verdict = decide(claimed, facts(9.0))
    assert isinstance(verdict, Finish)
    assert verdict.reason == "hook_abort"
    assert "hooks/x" in verdict.detail
    assert "exit code 2" in verdict.detail


@pytest.mark.parametrize("bound", [0, 3])
def test_a_skip_uses_the_number_and_is_bounded(bound: int) -> None:
    """Claude is not called, `iteration_finished` neither; `stop.no_progress` in a row end the run, ten if that is 0."""
    most, now = bound or MOST_SKIPS, facts(99.0, no_progress=bound)
    told: list[Event] = [started(*ALL[1:])]
    for number in range(1, most + 1):
        told.append(ended(Point.NEXT_ITERATION, number, Meaning.SKIP, 1))
        skipped = decide(after(*told), now)
        assert isinstance(skipped, IterationFinished)
        assert (skipped.number, skipped.outcome.kind) == (number, Kind.SKIPPED)
        told.append(skipped)
        if number < most:
            assert decide(after(*told), now) == RunHook(Point.NEXT_ITERATION, number + 1)
    last = decide(after(*told), now)
    assert isinstance(last, Finish)
    assert last.reason == "hook_abort"
    assert f"{most} iterations in a row" in last.detail
    again = after(*told, *worked(most + 1))
    assert again.hooks.hook_skips == 0


def resumed(*events: Event) -> RunState:
    """The state of the run that goes on after a kill right after these events."""
    taken = resume_from("r", after(*events), 9.0)
    return after(RunStarted("s", "w", "loop", 9, 1, "h", "0", ("c",), hooks=ALL[1:], resumed=taken))


def test_a_kill_never_skips_iteration_finished() -> None:
    """Before it began, and while it ran: it is due first of all. After it has ended, it is not repeated."""
    done: list[Event] = [started(*ALL[1:]), ended(Point.NEXT_ITERATION, 1), *worked(1)]
    due = RunHook(Point.ITERATION_FINISHED, 1)
    running = HookStarted(Point.ITERATION_FINISHED, "hooks/x", "project", 1)
    assert decide(resumed(*done), facts(0.0)) == due
    assert decide(resumed(*done, running), facts(0.0)) == due
    assert resumed(*done, running).hooks.hook_running == "project"
    over = ended(Point.ITERATION_FINISHED, 1)
    assert decide(resumed(*done, running, over), facts(0.0)) == RunHook(Point.NEXT_ITERATION, 2)


def test_a_kill_between_a_skip_and_its_record_asks_again() -> None:
    """Neither a call that the hook did not want, nor a skip that it did not ask for."""
    state = resumed(started(*ALL[1:]), ended(Point.NEXT_ITERATION, 1, Meaning.SKIP, 1))
    assert decide(state, facts(0.0)) == RunHook(Point.NEXT_ITERATION, 1)


def test_a_hook_that_was_added_later_hears_of_nothing_old() -> None:
    """An iteration from before the hook was there is not told to it."""
    taken = resume_from("r", after(started(), *worked(1)), 9.0)
    state = after(RunStarted("s", "w", "loop", 9, 1, "h", "0", ("c",), hooks=ALL[1:], resumed=taken))
    assert decide(state, facts(0.0)) == RunHook(Point.NEXT_ITERATION, 2)


@pytest.mark.setting("hooks.timeout")
@pytest.mark.parametrize(
    ("point", "before", "signals", "cut"),
    [
        (Point.NEXT_ITERATION, 0, 0, False),
        (Point.NEXT_ITERATION, 0, 1, True),
        (Point.ITERATION_FINISHED, 0, 1, False),
        (Point.ITERATION_FINISHED, 0, 2, True),
        (Point.ITERATION_FINISHED, 1, 0, False),
        (Point.ITERATION_FINISHED, 1, 1, True),
        (Point.FINISHED, 1, 0, False),
        (Point.FINISHED, 1, 1, True),
    ],
)
def test_signals_while_a_hook_runs(point: Point, before: int, signals: int, cut: bool) -> None:
    """What came before it began does not end it. The first one lets `iteration_finished` end. Its time-out does."""
    told: list[Event] = [started(*ALL), *[StopRequested("SIGINT")] * before]
    told += [HookStarted(point, "x", "project", 1), *[StopRequested("SIGINT", now=True)] * signals]
    now = replace(facts(10.0, program_began=8.0), settings=build({"hooks.timeout": 7.0}))
    assert decide_running(after(*told), now, HOOK_RULES) == (Cut(Cause.STOPPED) if cut else Wait(15.0))
    if not cut:
        assert decide_running(after(*told), replace(now, now=15.0), HOOK_RULES) == Cut(Cause.TIMEOUT, 7.0)


def test_a_request_to_stop_does_not_end_the_hook_that_made_it() -> None:
    """A hook may call `claude-iterate stop`."""
    told: list[Event] = [started(*ALL), HookStarted(Point.ITERATION_FINISHED, "x", "project", 1)]
    told.append(StopRequested("command", now=True))
    assert isinstance(decide_running(after(*told), facts(10.0, program_began=8.0), HOOK_RULES), Wait)


def test_variables_and_document_say_the_same() -> None:
    """One table makes both. No variable is a setting, and none is warned of when the hook calls us."""
    state = after(started(*ALL), *worked(1))
    here = hooks.Situation(state, Point.FINISHED, 1, "/p", "/p/w", 1.5, "completed", "all done", again=True)
    told, document = hooks.variables(here), json.loads(hooks.document(here))
    for fact in hooks.FACTS:
        value, text = document[fact.key], told[hooks.PREFIX + fact.name]
        assert text == ("1" if value is True else "" if value is None or value is False else str(value)), fact.name
    assert told["CLAUDE_ITERATE_HOOK_LAST_OUTCOME"] == "ok"
    assert told["CLAUDE_ITERATE_HOOK_COMMITS"] == "", "the iteration is not measured"
    assert (document["reason"], document["again"], document["lastIteration"]["number"]) == ("completed", True, 1)
    assert layer_from_environment(told).values == {}
    assert unknown_variables(told) == {}
    assert not {setting.variable for setting in catalogue().values()} & set(told)


def test_what_a_hook_learns_of_the_report_and_of_a_killed_run() -> None:
    """Where nothing is known of an iteration yet, the variables are empty."""
    begun = msgspec.structs.replace(started(*ALL), resumed=Resumed("q"))
    claim = IterationFinished(1, Outcome(Kind.OK), Status(True, summary="all done"))
    states = after(started(*ALL)), after(begun, IterationStarted(1), claim, WorkMeasured(1, None))
    names = "RESUMED", "LAST_OUTCOME", "COMPLETE", "SUMMARY", "COMMITS"
    found = []
    for state in states:
        here = hooks.Situation(state, Point.FINISHED, 1, "/p", "/p/w")
        told, document = hooks.variables(here), json.loads(hooks.document(here))
        found.append([*(told[hooks.PREFIX + name] for name in names), (document["status"] or {}).get("complete")])
    assert found == [["", "", "", "", "", None], ["1", "ok", "1", "all done", "", True]]


@pytest.mark.parametrize(
    ("mode", "plan"), [("loop", ""), ("plan", "/w/IMPLEMENTATION_PLAN.md"), ("build", "/w/IMPLEMENTATION_PLAN.md")]
)
def test_what_a_hook_learns_of_the_work(mode: str, plan: str) -> None:
    """The commits of the last iteration and of the run, the commit that the project is at, Claude's exit code, and the
    plan where there is one."""
    begun = msgspec.structs.replace(started(*ALL), mode=mode)
    measured: list[Event] = [SnapshotTaken(1, "t", head="abc"), WorkMeasured(1, Changes(commits=2))]
    second = IterationFinished(2, Outcome(Kind.CRASH), exit_code=7)
    told = hooks.variables(
        hooks.Situation(
            after(begun, *worked(1), *measured, second, WorkMeasured(2, Changes(commits=1))),
            Point.FINISHED,
            2,
            "/p",
            "/w",
        )
    )
    found = {
        name: told[f"CLAUDE_ITERATE_HOOK_{name}"]
        for name in ("COMMITS", "TOTAL_COMMITS", "LAST_COMMIT_SHA", "LAST_EXIT_CODE", "PLAN")
    }
    assert found == {
        "COMMITS": "1",
        "TOTAL_COMMITS": "3",
        "LAST_COMMIT_SHA": "abc",
        "LAST_EXIT_CODE": "7",
        "PLAN": plan,
    }
