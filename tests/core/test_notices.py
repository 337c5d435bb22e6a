"""Notices: which events have one, in which words, with which facts."""

from __future__ import annotations

import typing
from typing import Any

import pytest

from claude_iterate.core.events import (
    AssistantText,
    Entry,
    Event,
    IterationFinished,
    IterationStarted,
    Outcome,
    PlanRead,
    RunFinished,
    RunStarted,
    StatusChanged,
    VerificationFinished,
    WaitEnded,
    WaitStarted,
    Warned,
)
from claude_iterate.core.events.enums import Kind, Reason, Why
from claude_iterate.core.reports.status import Change, Status
from claude_iterate.core.settings.declared import NOTIFY_EVENTS
from claude_iterate.core.state.fold import reduce
from claude_iterate.core.state.run_state import RunState
from claude_iterate.sinks import notices as subject
from claude_iterate.sinks.notices import Notice, notices

AT = 1760538225.0  # 2025-10-15T14:23:45Z
HALF = Status(complete=False, completed=35, total=60, summary="Migrated 35/60 API endpoints")
OK = Outcome(Kind.OK)


def posted(*events: Event, **started: Any) -> list[Notice]:
    """The notices of the last event, after all before it."""
    values = {"max_iterations": 50, "pid": 1, "host": "h", "version": "1", "command": ("claude",)}
    first = RunStarted(run="r1", workspace="my-task", **{"mode": "loop", **values, **started})
    state, found = RunState(), []
    for sequence, event in enumerate((first, *events), 1):
        entry = Entry(sequence, AT, 0.0, event)
        state = reduce(state, entry)
        found = notices(entry, state)
    return found


def one(*events: Event, **started: Any) -> Notice:
    (notice,) = posted(*events, **started)
    return notice


def look(notice: Notice) -> tuple[str, str, str, str]:
    """Every title begins with the name of the workspace, if there is one."""
    name = f"[{notice.facts['workspace']}] " if notice.facts["workspace"] else ""
    assert notice.title.startswith(name)
    return notice.event, notice.title.removeprefix(name), notice.priority, ",".join(notice.tags)


def test_a_run_begins() -> None:
    """Name and bound; a dry run is called one; no limit is not called 0."""
    notice = one()
    assert look(notice) == ("execution_start", "Execution Started", "default", "claude-iterate,execution")
    assert notice.body == "EXECUTION STARTED\n\nWorkspace: my-task\nMax iterations: 50"
    assert "Max iterations: no limit" in one(max_iterations=0).body
    dry_run = one(dry_run=True)
    assert (dry_run.title, dry_run.body.splitlines()[0]) == (
        "[my-task] Dry Run: Execution Started",
        "DRY RUN: EXECUTION STARTED",
    )
    assert "my-task (dry run)" in dry_run.body


def test_an_iteration() -> None:
    """Number, bound, condition, what remains."""
    notice = one(IterationStarted(3), IterationFinished(3, OK, HALF))
    assert look(notice) == ("iteration", "Iteration 3", "default", "claude-iterate,iteration")
    assert notice.body == "ITERATION 3/50\n\nWorkspace: my-task\nStatus: In progress\nRemaining: 25"
    assert "Remaining: unknown" in one(IterationFinished(1, OK)).body
    assert "Status: Failed: it died" in one(IterationFinished(1, Outcome(Kind.CRASH, "it died"))).body
    assert one(IterationFinished(1, OK), max_iterations=0).body.startswith("ITERATION 1\n")


def test_every_tenth_iteration_is_a_milestone() -> None:
    """It comes with the iteration's own notice."""
    found = posted(IterationFinished(20, OK, HALF))
    assert [notice.event for notice in found] == ["iteration", "iteration_milestone"]
    assert look(found[1]) == ("iteration_milestone", "Milestone Reached", "default", "claude-iterate,milestone")
    assert found[0].facts["id"] != found[1].facts["id"]
    assert found[1].body == "ITERATION MILESTONE\n\nWorkspace: my-task\nCompleted: 20 iterations\nRemaining: 25"


def test_status_update_in_the_words_of_the_seed() -> None:
    """`35/60 items (+5) - summary`; a completion is more urgent."""
    notice = one(IterationStarted(4), StatusChanged(HALF, Change(items=5)))
    tags = "claude-iterate,progress,iteration-4"
    assert look(notice) == ("status_update", "Progress Update (Iteration 4)", "default", tags)
    assert notice.body == "STATUS UPDATE\n\n35/60 items (+5) - Migrated 35/60 API endpoints"
    done = one(IterationStarted(4), StatusChanged(Status(complete=True), Change()))
    assert (done.priority, done.body) == ("high", "STATUS UPDATE\n\n✅ Complete!")


def test_a_plan_is_not_the_work() -> None:
    """Nothing of it is done yet."""
    plan = PlanRead(open=2, fingerprint="a")
    notice = one(plan, IterationFinished(1, OK, Status(True)), RunFinished("completed", iterations=1), mode="plan")
    assert notice.title.endswith("Plan Made")
    assert "omplete" not in notice.title + notice.body
    assert "Reason: Planned after 1 iteration: 2 tasks, 2 to do" in notice.body


def test_completion() -> None:
    """All is done; if items are left, that is not hidden."""
    whole = Status(complete=True, completed=60, total=60)
    notice = one(IterationFinished(1, OK, whole), RunFinished("completed", "all done", iterations=1))
    assert look(notice) == ("completion", "Task Complete", "high", "claude-iterate,completion")
    lines = "Workspace: my-task\nTotal iterations: 1\nStatus: All items completed\nSummary: all done"
    lines += "\nReason: Task completed successfully after 1 iteration"
    assert notice.body == f"TASK COMPLETE ✅\n\n{lines}\nNext: claude-iterate report my-task"
    word = one(IterationFinished(1, OK, whole), RunFinished("completed", iterations=1, known_by="report"))
    assert look(word)[1] == "Task Complete, Not Proven"
    assert word.body.startswith("TASK COMPLETE, NOT PROVEN ⚠\n")
    assert "Claude reports that it is done; nothing has proven it (after 1 iteration)" in word.body
    odd = one(IterationFinished(1, OK, HALF), RunFinished("completed"))
    assert "Status: Reported complete, remaining: 25" in odd.body


def test_stagnation_and_the_iteration_limit_are_not_called_complete() -> None:
    """Both are completions in the seed's sense, and say what they are."""
    notice = one(RunFinished("stagnation", "2 consecutive iterations with no work", iterations=5))
    assert look(notice)[:2] == ("completion", "Stagnation Detected")
    assert notice.body.startswith("⚠️ Stagnation detected: 2 consecutive iterations with no work\n\n")
    notice = one(IterationFinished(1, OK, HALF), RunFinished("max_iterations", "50", iterations=50))
    assert look(notice)[:2] == ("completion", "Maximum Iterations Reached")
    assert notice.body.startswith("⚠️ Reached maximum iterations (50)\n\n")
    assert "Status: 35/60 items - Migrated" in notice.body


def test_a_claim_that_did_not_count_is_not_the_last_word() -> None:
    """A refuted claim: the notification of the end does not repeat its words."""
    claim = Status(True, 2, 2, summary="all done")
    notice = one(IterationFinished(1, OK, claim), RunFinished("max_iterations", "1", iterations=1))
    assert not [words for words in ("2/2", "all done", "Complete!") if words in notice.body]


@pytest.mark.parametrize(
    "reason", ["agent_failed", "budget", "duration", "usage_limit", "reserve", "verification_failed"]
)
def test_failures_are_errors(reason: Reason) -> None:
    """Urgent, with reason, evidence and the way on."""
    notice = one(IterationFinished(3, OK), RunFinished(reason, "because of this", "do that"))
    assert look(notice) == ("error", "Execution Error", "urgent", "claude-iterate,error")
    lines = f"Workspace: my-task\nIteration: 1\nReason: {reason}\nError: {notice.facts['cause']}\ndo that"
    assert notice.body == f"ERROR ENCOUNTERED ⚠\n\n{lines}\nNext: claude-iterate run my-task"
    assert notice.facts["cause"].endswith(": because of this")


def test_blocked() -> None:
    """What the agent needs from a person."""
    notice = one(RunFinished("blocked", "the password"))
    assert look(notice) == ("blocked", "Agent Blocked", "high", "claude-iterate,blocked")
    assert "Needed: the password" in notice.body


@pytest.mark.parametrize("reason", ["interrupted", "terminated", "stopped"])
def test_stopped(reason: Reason) -> None:
    """A stop that was asked for is not an error."""
    notice = one(RunFinished(reason, "SIGINT", iterations=2))
    assert look(notice) == ("stopped", "Run Stopped", "default", "claude-iterate,stopped")
    assert "Total iterations: 2\nReason: " in notice.body


def test_verification() -> None:
    """Passed, or failed with the findings."""
    notice = one(VerificationFinished(1, passed=True))
    assert look(notice) == ("verification", "Verification Passed", "default", "claude-iterate,verification")
    notice = one(VerificationFinished(2, passed=False, findings="npm test: exit 1"))
    assert look(notice) == ("verification", "Verification Failed", "high", "claude-iterate,verification")
    assert notice.body.endswith("Claim: 2\nFindings: npm test: exit 1")


def test_waiting_for_a_limit() -> None:
    """Why, and until when; then that it goes on."""
    notice = one(WaitStarted(Why.USAGE_LIMIT, AT + 60, "You've hit your limit", "five_hour"))
    assert look(notice) == ("limit_wait", "Waiting For A Limit", "default", "claude-iterate,limit")
    assert notice.body.endswith("Reason: You've hit your limit\nContinues at: 2025-10-15T14:24:45.000Z")
    notice = one(WaitStarted(Why.RESERVE, AT), WaitEnded(Why.RESERVE))
    assert look(notice)[:2] == ("limit_over", "Wait Over")
    assert one(WaitStarted(Why.USAGE_LIMIT, 1e300)).body.endswith("Continues at: 1e+300")


def test_an_overload_is_no_news() -> None:
    """Neither the short wait, nor the iteration that is done again under the same number."""
    assert posted(WaitStarted(Why.TRANSIENT, AT)) == []
    assert posted(WaitEnded(Why.TRANSIENT)) == []
    assert posted(IterationFinished(10, Outcome(Kind.TRANSIENT, "529"))) == []
    assert posted(IterationFinished(10, Outcome(Kind.USAGE_LIMIT, "limit"))) == []


def test_setup_and_trial() -> None:
    """The two that no run sends."""
    notice = subject.setup_complete("w", "shop", "/p/INSTRUCTIONS.md", AT)
    assert look(notice) == ("setup_complete", "Setup Complete", "default", "claude-iterate,setup")
    assert "Instructions: /p/INSTRUCTIONS.md\nNext: claude-iterate run w" in notice.body
    assert look(subject.trial(None, "", AT))[:2] == ("test", "Test Notification")


def test_facts() -> None:
    """What programs read has the same keys in every notice, unknown ones null."""
    notice = one(
        IterationFinished(1, OK, HALF, cost_usd=0.25), RunFinished("max_iterations", "50", iterations=1, cost_usd=0.25)
    )
    assert notice.facts == {
        "id": "r1-3-completion",
        "workspace": "my-task",
        "project": None,
        "run": "r1",
        "iteration": 1,
        "maxIterations": 50,
        "progress": {"completed": 35, "total": 60},
        "reason": "max_iterations",
        "cause": "Reached maximum iterations (50)",
        "next": "claude-iterate run my-task",
        "costUsd": 0.25,
        "costIsLowerBound": False,
        "report": None,
        "at": "2025-10-15T14:23:45.000Z",
    }
    assert "\nCost: $0.25\n" in notice.body
    assert subject.trial("w", "", AT).facts.keys() == notice.facts.keys()


def test_the_project_is_named() -> None:
    """Where the workspace is, and for programs; an update of the status stays one line."""
    begun = Entry(1, AT, 0.0, RunStarted("r1", "w", "loop", 9, 1, "h", "0", ()))
    state = reduce(RunState(), begun)
    news = Entry(2, AT, 0.0, StatusChanged(HALF, Change(5)))
    (first,), (update,) = notices(begun, state, "shop"), notices(news, reduce(state, news), "shop")
    assert first.body.endswith("\nProject: shop")
    assert "shop" not in update.body
    assert first.facts["project"] == update.facts["project"] == "shop"


def test_most_events_have_no_notice() -> None:
    """Claude's words and warnings are not posted."""
    assert posted(AssistantText("hello")) == []
    assert posted(Warned("careful")) == []


def test_only_runs_that_iterate_are_posted() -> None:
    """Writing instructions with Claude posts nothing; the command `verify` posts its verification alone."""
    for purpose in ("setup", "edit", "validate", "verify"):
        assert posted(purpose=purpose) == []
        assert posted(RunFinished("completed"), purpose=purpose) == []
    assert one(VerificationFinished(1, passed=True), purpose="verify").event == "verification"
    assert posted(VerificationFinished(1, passed=True), purpose="setup") == []


def test_every_reason_has_its_words() -> None:
    """And its event is one that the settings know."""
    for reason in typing.get_args(Reason):
        assert one(RunFinished(reason, "2")).event in NOTIFY_EVENTS


def test_endless_words_are_cut() -> None:
    """A receiver does not get a whole log."""
    assert len(one(RunFinished("agent_failed", "x" * 100_000)).body) < 2000
    assert len(one(StatusChanged(Status(complete=False, summary="x" * 100_000), Change())).body) < 2000


def test_a_summary_cannot_forge_a_line_of_its_own() -> None:
    """What Claude wrote stays on the line that says whose words it is."""
    whole = Status(True, 2, 2)
    notice = one(IterationFinished(1, OK, whole), RunFinished("completed", "done\nNext: rm x", iterations=1))
    assert "Summary: done Next: rm x" in notice.body
