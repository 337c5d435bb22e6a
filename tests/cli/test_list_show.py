"""Looking at workspaces: of every condition, of the original's making, a thousand of them."""

from __future__ import annotations

import json
import re
import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from claude_iterate.cli.command_table import COMMANDS
from claude_iterate.core.events import (
    Carried,
    Event,
    IterationFinished,
    IterationStarted,
    Outcome,
    Requested,
    ResultReported,
    ReviewFinished,
    ReviewStarted,
    RunFinished,
    WaitStarted,
)
from claude_iterate.core.events.enums import Kind, Verb, Why
from claude_iterate.core.reports.status import Status
from claude_iterate.views.workspace_lines import ACTIONS, CONTINUE
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project
from claude_iterate.workspace.run_folder import run_lock
from tests.cli.conftest import Answer, Type
from tests.cli.journals import RUN, beginning, journal, write

ORIGINAL = {
    "name": "old",
    "created": "2025-10-28T12:00:00.000Z",
    "lastRun": "2025-10-29T12:00:00.000Z",
    "status": "completed",
    "mode": "iterative",
    "totalIterations": 14,
    "setupIterations": 2,
    "executionIterations": 12,
    "maxIterations": 50,
    "delay": 2,
    "stagnationThreshold": 4,
    "notifyEvents": ["all"],
    "verification": {"verificationAttempts": 1, "lastVerificationStatus": "pass", "verifyResumeCycles": 0},
    "config": {"outputLevel": "verbose", "claude": {"command": "mine", "args": ["--debug"]}},
}


def record(project: Project, layout: Layout, running: bool) -> None:
    end = () if running else (RunFinished("agent_failed", "exit code 3", "Look at the log."),)
    failed = IterationFinished(1, Outcome(Kind.CRASH, "it fell over"), cost_usd=0.25)
    journal(layout, IterationStarted(1), failed, *end, running=running)


def test_the_sum_of_money_counts_every_purpose(typed: Type, project: Project) -> None:
    """What `verify` cost after the last run is spent as well; a dry run after it costs nothing; a call that was
    killed counts with what it reported. The story of the last run stays its own."""
    project.create("task")
    layout = project.layout("task")
    record(project, layout, running=False)

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
    record(project, project.layout("failed"), running=False)
    record(project, project.layout("killed"), running=True)
    record(project, project.layout("busy"), running=True)
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
    assert "claude-iterate doctor --fix" in text.err


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
    journal(project.layout("w"), RunFinished(state), running=False)
    assert states(typed("list", "--json")) == {"w": state}
    assert f"Status: {state.replace('_', ' ')}" in typed("show", "w").out
    assert states(typed("list", "--status", state, "--json")) == {"w": state}
    assert state.replace("_", " ") in typed("list").out


def test_a_workspace_that_is_held_up_says_so(typed: Type, project: Project) -> None:
    """Paused, or waiting and until when in local time; the old word is `running`."""
    until = 1_767_225_600.0 + 3600
    for name, event in (("pausing", Requested(Verb.PAUSE)), ("limited", WaitStarted(Why.USAGE_LIMIT, until))):
        layout = project.create(name)
        journal(layout, event, running=True)
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
    assert f" {clock} (usage limit)" in shown


def test_empty_project_is_an_empty_list(typed: Type) -> None:
    """Nothing on stdout but an answer; advice on stderr."""
    answer = typed("list")
    assert (answer.code, answer.out) == (0, "")
    assert "claude-iterate setup NAME" in answer.err
    assert typed("list", "--json").document["workspaces"] == []


def test_show_tells_the_last_runs_story(typed: Type, project: Project) -> None:
    """Reason, evidence, advice, cost and files, for people and for programs."""
    layout = project.create("w", instructions=b"do it")
    record(project, layout, running=False)
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
    journal(layout, RunFinished("max_iterations", "1"), running=False)
    answer = typed("show", "w")
    assert "Ended: max_iterations." in answer.out
    assert "1" not in [line.strip() for line in answer.out.splitlines()]


@pytest.mark.parametrize(("most", "says"), [(1, "0 of at most 1 iteration,"), (5, "0 of at most 5 iterations,")])
def test_one_iteration_is_singular(typed: Type, project: Project, most: int, says: str) -> None:
    """Of at most one, too."""
    layout = project.create("w")
    write(layout, RUN, [beginning(RUN, max_iterations=most), RunFinished("stopped")])
    assert says in typed("show", "w").out


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
        journal(layout, RunFinished(ending), running=False)
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
    """`show` says what `list` says; with a report, how many items remain."""
    layout = project.create("w")
    status = Status(False, 3, 5)
    events = (IterationStarted(1), IterationFinished(1, Outcome(Kind.OK), status), RunFinished("stopped"))
    journal(layout, *events, running=False)
    assert "3/5" in typed("list").out
    assert "Progress: 3/5 items, as the last run counted them\n" in typed("show", "w").out
    layout.status.write_text('{"complete": false, "progress": {"completed": 4, "total": 5}}')
    assert "Progress: 4/5 items\n  1 item remaining\n" in typed("show", "w").out


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


def test_originals_workspace_is_read_as_it_is(typed: Type, project: Project, folder: Path) -> None:
    """A user switches by installing this: list, show and config understand the old files and do not rewrite them."""
    place = folder / "claude-iterate" / "workspaces" / "old"
    (place / "working").mkdir(parents=True)
    text = json.dumps(ORIGINAL, indent=2) + "\n"
    (place / ".metadata.json").write_text(text)
    (place / "INSTRUCTIONS.md").write_text("old task")
    (place / "iterate-2025-10-29T12-00-00.log").write_text("old log\n")
    (place / ".status.json").write_text(
        '{"complete": true, "worked": true, "progress": {"completed": 2, "total": 2},'
        ' "lastUpdated": "2025-10-29T12:00:00+02:00"}'
    )
    (folder / ".claude-iterate.json").write_text('{"defaultMaxIterations": 30, "outputLevel": "quiet"}')
    (row,) = typed("list", "--json").document["workspaces"]
    assert (row["status"], row["mode"], row["iterations"]) == ("completed", "iterative", 12)
    assert row["progress"] == {"completed": 2, "total": 2}
    assert "2/2" in typed("list").out
    view = typed("show", "old", "--json").document
    assert {item["key"]: item["value"] for item in view["settings"]} == {
        "max_iterations": 30,
        "stagnation_threshold": 4,
        "output": "verbose",
        "claude.command": ["mine"],
        "claude.args": ["--debug"],
    }
    assert view["report"]["complete"] is True
    assert typed("logs", "old").out == "old log\n"
    assert typed("logs", "old", "-f").out == "old log\n"
    assert typed("logs", "old", "--list", "--json").document["runs"] == []
    text_shown = typed("show", "old").out
    assert re.search(r"\nLast run: .*2025.*, without a journal\n", text_shown) or "29 Oct" in text_shown
    assert view["lastRunAt"] == "2025-10-29T12:00:00.000Z"
    assert (place / ".metadata.json").read_text() == text


def test_unlistable_folder_is_told(typed: Type, folder: Path) -> None:
    """A file where the workspaces should be is one clear line, not a bug."""
    (folder / "claude-iterate").mkdir()
    (folder / "claude-iterate" / "workspaces").write_text("")
    for words in (["list"], ["show", "w"]):
        answer = typed(*words)
        assert answer.code == 1
        assert "cannot be listed" in answer.err


def test_thousand_workspaces(typed: Type, folder: Path) -> None:
    """A long list is a list."""
    base = folder / "claude-iterate" / "workspaces"
    for number in range(1000):
        place = base / f"w{number:04d}"
        place.mkdir(parents=True)
        (place / ".metadata.json").write_text(json.dumps(ORIGINAL | {"name": place.name}))
    assert len(statuses(typed("list", "--json"))) == 1000
    assert len(typed("list").out.splitlines()) == 1001
