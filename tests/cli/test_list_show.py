"""Looking at workspaces: of every condition; a run under way; where evidence is found."""

from __future__ import annotations

import json
import os
import re
import shlex
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from freezegun import freeze_time

from claude_iterate.cli.command_table import COMMANDS
from claude_iterate.core.events import (
    AssistantText,
    Carried,
    CheckFinished,
    Event,
    IterationFinished,
    IterationStarted,
    Outcome,
    Requested,
    ResultReported,
    Resumed,
    ReviewFinished,
    ReviewStarted,
    RunFinished,
    ToolCalled,
    ToolResult,
    VerificationFinished,
    VerificationStarted,
    WaitStarted,
)
from claude_iterate.core.events.enums import Kind, Purpose, Reason, Verb, Why
from claude_iterate.core.reports.status import Status
from claude_iterate.views.workspace_lines import ACTIONS, CONTINUE
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project
from claude_iterate.workspace.run_folder import run_lock
from tests.cli.conftest import Answer, Type
from tests.cli.journals import RUN, beginning, journal, record, write


def fail_run(project: Project, layout: Layout, running: bool) -> None:
    end = () if running else (RunFinished("agent_failed", "exit code 3", "Look at the log."),)
    failed = IterationFinished(1, Outcome(Kind.CRASH, "it fell over"), cost_usd=0.25)
    journal(layout, IterationStarted(1), failed, *end)


def test_the_sum_of_money_counts_every_purpose(typed: Type, project: Project) -> None:
    """What `verify` cost after the last run is spent as well; a dry run after it costs nothing; a call that was
    killed counts with what it reported. The story of the last run stays its own."""
    project.create("task")
    layout = project.layout("task")
    fail_run(project, layout, running=False)

    def later(run: str, *events: Event, **more: Any) -> float:
        write(layout, run, [beginning(run, "task", **more), *events])
        shown = typed("show", "task", "--json").document
        assert shown["lastRun"]["id"] == RUN or more["purpose"] == "run"
        return float(shown["counters"]["costUsd"])

    review: list[Event] = [ReviewStarted("quick"), ReviewFinished("verified", cost_usd=0.5), RunFinished("completed")]
    assert later("30000000-a", *review, purpose="verify", carried=Carried(1, 0.25, 1)) == 0.75
    assert "$0.75 in all" in typed("show", "task").out
    killed: list[Event] = [ReviewStarted("quick"), ResultReported(cost_usd=1.0)]
    assert later("30000000-b", *killed, purpose="verify", carried=Carried(1, 0.75, 2)) == 1.75
    dry: list[Event] = [
        IterationStarted(1),
        IterationFinished(1, Outcome(Kind.OK), cost_usd=9.0),
        RunFinished("completed"),
    ]
    assert later("30000000-c", *dry, purpose="run", dry_run=True, carried=Carried(1, 1.75, 3)) == 1.75


def statuses(answer: Answer) -> dict[str, str]:
    return {row["name"]: row["status"] for row in answer.document["workspaces"]}


def test_every_condition_is_told_apart(typed: Type, project: Project) -> None:
    """running needs a lock holder; without one it was a crash; torn metadata is not invisible (defect 4)."""
    for name in ("fresh", "failed", "killed", "busy", "torn", "empty"):
        project.create(name)
    fail_run(project, project.layout("failed"), running=False)
    fail_run(project, project.layout("killed"), running=True)
    fail_run(project, project.layout("busy"), running=True)
    project.layout("torn").metadata.write_text('{"name"')
    project.layout("empty").metadata.unlink()
    with run_lock.hold(project.layout("busy").lock, "busy", RUN):
        answer = typed("list", "--json")
        assert "running now" in typed("show", "busy").out
    assert statuses(answer) == {
        "fresh": "in_progress",
        "failed": "error",
        "killed": "interrupted",
        "busy": "running",
        "torn": "damaged",
        "empty": "damaged",
    }
    assert statuses(typed("ls", "--status", "error", "--json")) == {"failed": "error"}
    assert typed("list", "--status", "nonsense").code == 2
    text = typed("list")
    assert " killed " in text.out
    assert "See how to repair what is damaged: claude-iterate doctor\n" in text.err


def states(answer: Answer) -> dict[str, str]:
    return {row["name"]: row["state"] for row in answer.document["workspaces"]}


@pytest.mark.parametrize(
    "state", ["completed", "stagnation", "stopped", "interrupted", "max_iterations", "budget", "agent_failed"]
)
def test_the_state_says_how_the_last_run_left_it(typed: Type, project: Project, state: Any) -> None:
    """By the reason. `in_progress` would read as if it worked now; the old word stays in JSON for scripts."""
    project.create("w")
    assert states(typed("list", "--json")) == {"w": "new"}
    assert "Status: new" in typed("show", "w").out
    journal(project.layout("w"), RunFinished(state))
    assert states(typed("list", "--json")) == {"w": state}
    assert f"Status: {state.replace('_', ' ')}" in typed("show", "w").out
    assert states(typed("list", "--status", state, "--json")) == {"w": state}
    assert state.replace("_", " ") in typed("list").out


def test_a_workspace_that_is_held_up_says_so(typed: Type, project: Project) -> None:
    """Paused, or waiting and until when in local time; the old word is `running`."""
    until = 1_767_225_600.0 + 3600
    for name, event in (("pausing", Requested(Verb.PAUSE)), ("limited", WaitStarted(Why.USAGE_LIMIT, until))):
        layout = project.create(name)
        journal(layout, event)
    with (
        run_lock.hold(project.layout("pausing").lock, "pausing", RUN),
        run_lock.hold(project.layout("limited").lock, "limited", RUN),
    ):
        answer, text = typed("list", "--json"), typed("list").out
        shown = typed("show", "limited").out
    assert states(answer) == {"pausing": "paused", "limited": "waiting"}
    assert set(statuses(answer).values()) == {"running"}
    clock = datetime.fromtimestamp(until, UTC).astimezone().strftime("%H:%M")
    assert re.search(rf"waiting until .*{clock}", text)
    assert "Now: waiting until " in shown
    assert f" {clock}: Usage limit reached" in shown


def test_empty_project_is_an_empty_list(typed: Type) -> None:
    """Nothing on stdout but an answer; advice on stderr."""
    answer = typed("list")
    assert (answer.code, answer.out) == (0, "")
    assert "claude-iterate setup NAME" in answer.err
    assert typed("list", "--json").document["workspaces"] == []


def test_show_tells_the_last_runs_story(typed: Type, project: Project) -> None:
    """Reason, evidence, advice, cost and files, for people and for programs."""
    layout = project.create("w", instructions=b"do it")
    fail_run(project, layout, running=False)
    layout.status.write_text('{"complete": false, "progress": {"completed": 3, "total": 2}, "summary": 5}')
    answer = typed("show", "w")
    for words in ("agent_failed", "exit code 3", "Look at the log.", "it fell over", "$0.25", "Files: INSTRUCTIONS.md"):
        assert words in answer.out
    assert "(not there: .status.json" not in answer.out
    assert "⚠ .status.json: " in answer.out
    view = typed("show", "w", "--json").document
    assert view["lastRun"]["reason"] == "agent_failed"
    assert view["counters"]["execution"] == 1
    assert len(view["report"]["problems"]) == 2


def test_a_bare_number_is_no_sentence(typed: Type, project: Project) -> None:
    """What ended a run at its limit is told by the figures, not by a lone number."""
    layout = project.create("w")
    journal(layout, RunFinished("max_iterations", "1"))
    answer = typed("show", "w")
    assert "Ended: max_iterations." in answer.out
    assert "1" not in [line.strip() for line in answer.out.splitlines()]


def test_missing_files_are_marked(typed: Type, project: Project) -> None:
    """Instructions that are not there are not ticked off (defect 18)."""
    project.create("w")
    answer = typed("show", "w")
    assert "  INSTRUCTIONS.md is missing\n" in answer.out
    assert "(not there: .status.json)" in answer.out
    assert "You can:\n  claude-iterate setup w  write the instructions\n" in answer.out


@pytest.mark.parametrize(
    ("ending", "first"),
    [(None, "run w"), ("max_iterations", "run w"), ("agent_failed", "run w"), ("completed", "report w")],
)
def test_show_names_what_can_be_done(typed: Type, project: Project, ending: Any, first: str) -> None:
    """As commands that work, the likeliest first; and what the next run would be."""
    layout = project.create("w", instructions=b"do it", settings={"max_iterations": 7})
    if ending is not None:
        journal(layout, RunFinished(ending))
    shown = typed("show", "w").out
    below = shown.partition("You can:\n")[2].splitlines()
    actions = [line for line in below if line.startswith("  claude-iterate ")]
    steps = [line.removeprefix("  Next: ") for line in shown.splitlines() if line.startswith("  Next: ")]
    assert [*steps, actions[0].split("  ")[1]][0] == f"claude-iterate {first}"
    known = {row.name for row in COMMANDS}
    assert all(line.split()[1] in known and line.split()[-1] != "w" for line in actions)
    assert "Next run: loop mode, at most 7 iterations, 2s between them\n" in shown


def test_every_action_is_a_command() -> None:
    """Of the table of commands, with the workspace's name in it."""
    known = {row.name for row in COMMANDS}
    for command, what in (action for actions in (*ACTIONS.values(), CONTINUE) for action in actions):
        words = shlex.split(command.format(name="w"))
        assert (words[0] in known, "w" in words, bool(what)) == (True, True, True)


def test_progress_without_a_report_is_that_of_the_last_run(typed: Type, project: Project) -> None:
    """`show` says what `list` says, how many items remain, and what was reported last."""
    layout = project.create("w")
    status = Status(False, 3, 5)
    events = (IterationStarted(1), IterationFinished(1, Outcome(Kind.OK), status), RunFinished("stopped"))
    journal(layout, *events)
    assert "3/5" in typed("list").out
    assert "Progress: 3/5 items\n  2 items remaining\n" in typed("show", "w").out
    layout.status.write_text('{"complete": false, "progress": {"completed": 4, "total": 5}}')
    assert "Last report: 4/5 items\n" in typed("show", "w").out


def test_settings_are_shown_with_origin_and_without_secrets(typed: Type, project: Project, folder: Path) -> None:
    """User, password and query of the URL, and secret-looking variables, stay covered."""
    (folder / ".claude-iterate.toml").write_text(
        '[notify]\nurl = "https://me:hunter2@ntfy.sh/t?auth=tk_1"\n[claude.env]\nMY_API_TOKEN = "tk_2"\nEDITOR = "vi"\n'
    )
    project.create("w", settings={"delay": 0.0})
    for answer in (
        typed("show", "w"),
        typed("show", "w", "--json"),
        typed("config", "--list"),
        typed("config", "-k"),
    ):
        assert answer.code == 0
        for secret in ("hunter2", "tk_1", "tk_2"):
            assert secret not in answer.out
        assert "ntfy.sh/***" in answer.out
    shown = {item["key"]: item for item in typed("show", "w", "--json").document["settings"]}
    assert shown["delay"] == {"key": "delay", "value": 0, "origin": "workspace"}
    assert shown["claude.env"]["value"] == {"MY_API_TOKEN": "***", "EDITOR": "vi"}
    assert shown["notify.url"]["origin"].startswith("project: ")


def test_unlistable_folder_is_told(typed: Type, folder: Path) -> None:
    """A file where the workspaces should be is one clear line, not a bug."""
    (folder / "claude-iterate").mkdir()
    (folder / "claude-iterate" / "workspaces").write_text("")
    for words in (["list"], ["show", "w"]):
        answer = typed(*words)
        assert answer.code == 1
        assert "cannot be listed" in answer.err


@freeze_time("2027-01-01 00:00:40")
def test_a_live_run_is_told_from_its_journal(typed: Type, project: Project) -> None:
    """What Claude does and for how long, when it was last heard of, time and cost so far."""
    layout = project.create("w")
    events = (
        IterationStarted(3),
        ToolCalled("t1", "Read", {"file_path": "/x"}),
        ToolResult("t1", "Read"),
        ResultReported(cost_usd=0.5),
        ToolCalled("t2", "Bash", {"command": "pytest -q"}),
        AssistantText("x"),
    )
    journal(layout, *events, began=time.time() - 100)
    assert "Now:" not in typed("show", "w").out
    with run_lock.hold(layout.lock, "w", RUN):
        text = typed("show", "w").out
        view = typed("show", "w", "--json").document
    found = re.search(r"Now: iteration 3, Bash pytest -q for (.+), last sign of life (.+) ago", text)
    assert found is not None
    assert f"This run: {RUN}" in text
    assert "$0.50 so far" in text
    live = view["runningRun"]
    assert live == view["lastRun"] | {key: live[key] for key in ("now", "duration", "totals")}
    assert (live["now"]["iteration"], live["now"]["tool"]) == (3, "Bash pytest -q")
    assert (live["now"]["toolDuration"], live["now"]["silence"], live["duration"]) == (94.0, 93.0, 100.0)


@freeze_time("2027-01-01 00:00:40")
def test_a_request_is_not_a_sign_of_life_of_claude(typed: Type, project: Project) -> None:
    """The silence is Claude's, whatever the user asks for meanwhile."""
    layout = project.create("w")
    events = (IterationStarted(1), ToolCalled("t", "Bash", {"command": "make"}), Requested(Verb.PAUSE))
    journal(layout, *events, began=time.time() - 100)
    with run_lock.hold(layout.lock, "w", RUN):
        now = typed("show", "w", "--json").document["runningRun"]["now"]
    assert now["silence"] == now["toolDuration"] == 97.0


def test_a_tool_before_a_long_answer_is_still_seen(typed: Type, project: Project) -> None:
    """Of a huge journal only the milestones and the last part are read; both tell of the call under way."""
    layout = project.create("w")
    said = [AssistantText("x" * 290) for _ in range(3000)]
    journal(layout, IterationStarted(7), *said, ToolCalled("t", "Bash", {"command": "make"}))
    assert layout.journal(RUN).stat().st_size > 3 * 256 * 1024
    with run_lock.hold(layout.lock, "w", RUN):
        assert re.search(r"Now: iteration 7, Bash make for .* ago", typed("show", "w").out)


def verified(run: str, passed: bool, **more: Any) -> list[Event]:
    return [
        beginning(run, purpose=Purpose.VERIFY, **more),
        VerificationStarted(1, 1),
        CheckFinished("make check", 0 if passed else 2, 1.5, "the end of it"),
        VerificationFinished(1, passed, "", "0123456789abcdef"),
        RunFinished("completed" if passed else "verification_failed"),
    ]


def test_the_evidence_of_an_older_run_is_found(typed: Type, project: Project) -> None:
    """The metadata names the run that verified last, however many came after it."""
    layout = project.create("w")
    record(layout, "000001-x", verified("000001-x", passed=True))
    for number in range(2, 12):
        later = f"{number:06d}-x"
        write(layout, later, [beginning(later), RunFinished("stopped")])
    assert typed("show", "w", "--json").document["proof"]["run"] == "000001-x"
    assert "Proof: the task is done (run 000001-x, tree 0123456789ab)" in typed("show", "w").out


def test_the_evidence_that_a_run_took_over_from_a_killed_one_is_found(typed: Type, project: Project) -> None:
    """The proof had passed, and the run that continues has only to say so."""
    layout = project.create("w")
    write(layout, "000001-x", [beginning("000001-x"), *verified("000001-x", passed=True)[1:-1]])
    begun = beginning("000002-x", resumed=Resumed("000001-x"))
    record(layout, "000002-x", [begun, RunFinished("completed", known_by="checks")])
    assert "Proof: the claim holds (run 000001-x, claim 1, tree 0123456789ab)" in typed("show", "w").out


def test_a_holder_that_cannot_be_named_is_busy(typed: Type, project: Project) -> None:
    """Of a run whose lock file was damaged nothing is known until its iteration ends."""
    layout = project.create("w")
    with run_lock.hold(layout.lock, "w", RUN):
        layout.lock.write_text("")
        done = typed("stop", "w")
    assert done.code == 1
    assert "A run works there that cannot be named; it can be asked when its iteration ends" in done.err


@pytest.mark.parametrize(("passed", "reason"), [(False, "completed"), (True, "verification_failed")])
def test_what_verify_found_since_is_the_truth(typed: Type, project: Project, passed: bool, reason: Reason) -> None:
    """The end of the run before it says the opposite, and does not stand beside the status as if it were so. What the
    original noted goes."""
    layout = project.create("w")
    about = json.loads(layout.metadata.read_text()) | {"verification": {"lastVerificationStatus": "pass"}}
    layout.metadata.write_text(json.dumps(about))
    claim = Status(complete=True, completed=2, total=2)
    worked = IterationFinished(1, Outcome(Kind.OK), claim)
    layout.status.write_text('{"complete": true, "progress": {"completed": 2, "total": 2}}')
    run: list[Event] = [beginning("000001-x"), IterationStarted(1), worked]
    told: list[list[Event]] = [[*run, RunFinished(reason, cause="What the run knew.")], verified("000002-x", passed)]
    for name, events in zip(("000001-x", "000002-x"), told, strict=True):
        record(layout, name, events)
    assert "verification" not in json.loads(layout.metadata.read_text())
    text, (row,) = typed("show", "w").out, typed("list", "--json").document["workspaces"]
    found = "the task is done" if passed else "the task is not done"
    assert f"  The last run ended as {reason}; verify has found since: {found}\n" in text
    assert "What the run knew." not in text
    assert ("Progress: 2/2" in text, row["progress"] is not None) == (passed, passed)


@pytest.mark.parametrize("settled_by", ["nothing", "a good verify", "a failed verify", "a reset"])
def test_what_a_run_advised_is_not_repeated_once_it_is_settled(typed: Type, project: Project, settled_by: str) -> None:
    """A claim that Ctrl-C left open: after a `verify` or a reset nothing says that it is unchecked; also where git put
    back the summary from before that."""
    layout = project.create("w", instructions=b"- one\n")
    advice = "Claude reported completion; it was not checked: claude-iterate verify w"
    claim = IterationFinished(1, Outcome(Kind.OK), Status(True))
    ended = RunFinished("interrupted", "SIGINT", about_claim=advice, next="claude-iterate run w")
    record(layout, "000001-x", [beginning("000001-x"), IterationStarted(1), claim, ended])
    before = layout.metadata.read_bytes()
    if settled_by.endswith("verify"):
        record(layout, "000002-x", verified("000002-x", passed="good" in settled_by))
    elif settled_by == "a reset":
        assert typed("reset", "w").code == 0
    for document in (layout.metadata.read_bytes(), before) if settled_by == "a good verify" else ():
        layout.metadata.write_bytes(document)
        assert "Status: completed" in typed("show", "w").out
        assert typed("show", "w", "--json").document["lastRun"]["next"] == ""
    assert (advice in typed("show", "w").out) == (settled_by == "nothing")


def test_older_journals_are_not_read(typed: Type, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """`show` opens as many journals after fifty runs as after five."""
    layout = project.create("w")
    opened: list[str] = []
    really = os.open

    def counting(path: Any, *how: Any, **more: Any) -> int:
        opened.append(path)
        return really(path, *how, **more)

    monkeypatch.setattr(os, "open", counting)
    counts = []
    worked = IterationFinished(1, Outcome(Kind.OK))
    for number in range(1, 51):
        run = f"{number:06d}-x"
        write(layout, run, [beginning(run), worked, RunFinished("stopped")])
        if number in {5, 50}:
            opened.clear()
            assert typed("show", "w").code == 0
            counts.append(opened.count("events.ndjson"))
    assert counts[0] == counts[1] > 0


def test_a_dry_run_is_no_proof(typed: Type, project: Project) -> None:
    """Neither alone, nor before or after a real verification, whatever the metadata of earlier versions name."""
    layout = project.create("w")
    write(layout, "000001-x", verified("000001-x", passed=True, dry_run=True))
    assert "Proof" not in typed("show", "w").out
    assert typed("show", "w", "--json").document["proof"] is None
    write(layout, "000002-x", [beginning("000002-x")])
    about = json.loads(layout.metadata.read_text())
    about["verifiedBy"] = "000001-x"
    layout.metadata.write_text(json.dumps(about))
    assert typed("show", "w", "--json").document["proof"] is None
    write(layout, "000003-x", verified("000003-x", passed=False))
    write(layout, "000004-x", verified("000004-x", passed=True, dry_run=True))
    assert "Proof: the task is not done (run 000003-x" in typed("show", "w").out
