"""What `show` tells of a run under way, and where it finds evidence."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from freezegun import freeze_time

from claude_iterate.core.events import (
    CheckFinished,
    Event,
    IterationFinished,
    IterationStarted,
    Outcome,
    Requested,
    ResultReported,
    RunFinished,
    Said,
    ToolAnswered,
    ToolCalled,
    VerificationFinished,
    VerificationStarted,
)
from claude_iterate.core.events.enums import Kind, Purpose, Reason, Verb
from claude_iterate.core.reports.status import Status
from claude_iterate.workspace.project import Project
from claude_iterate.workspace.run_folder import run_lock
from tests.cli.conftest import Type
from tests.cli.journals import RUN, beginning, journal, record, write


@freeze_time("2027-01-01 00:00:40")
def test_a_live_run_is_told_from_its_journal(typed: Type, project: Project) -> None:
    """What Claude does and for how long, when it was last heard of, time and cost so far."""
    layout = project.create("w")
    events = (
        IterationStarted(3),
        ToolCalled("t1", "Read", {"file_path": "/x"}),
        ToolAnswered("t1", "Read"),
        ResultReported(cost_usd=0.5),
        ToolCalled("t2", "Bash", {"command": "pytest -q"}),
        Said("x"),
    )
    journal(layout, *events, running=True, began=time.time() - 100)
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
    assert (live["now"]["toolDuration"], live["now"]["silence"], live["duration"]) == (94.0, 93.0, 99.0)


@freeze_time("2027-01-01 00:00:40")
def test_a_request_is_not_a_sign_of_life_of_claude(typed: Type, project: Project) -> None:
    """The silence is Claude's, whatever the user asks for meanwhile."""
    layout = project.create("w")
    events = (IterationStarted(1), ToolCalled("t", "Bash", {"command": "make"}), Requested(Verb.PAUSE))
    journal(layout, *events, running=True, began=time.time() - 100)
    with run_lock.hold(layout.lock, "w", RUN):
        now = typed("show", "w", "--json").document["runningRun"]["now"]
    assert now["silence"] == now["toolDuration"] == 97.0


def test_a_tool_before_a_long_answer_is_still_seen(typed: Type, project: Project) -> None:
    """Of a huge journal only the milestones and the last part are read; both tell of the call under way."""
    layout = project.create("w")
    said = [Said("x" * 290) for _ in range(3000)]
    journal(layout, IterationStarted(7), *said, ToolCalled("t", "Bash", {"command": "make"}), running=True)
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


@pytest.mark.parametrize(("passed", "reason"), [(False, "completed"), (True, "verification_failed")])
def test_what_verify_found_since_is_the_truth(typed: Type, project: Project, passed: bool, reason: Reason) -> None:
    """The end of the run before it says the opposite, and does not stand beside the status as if it were so."""
    layout = project.create("w")
    claim = Status(complete=True, completed=2, total=2)
    worked = IterationFinished(1, Outcome(Kind.OK), claim)
    layout.status.write_text('{"complete": true, "progress": {"completed": 2, "total": 2}}')
    run: list[Event] = [beginning("000001-x"), IterationStarted(1), worked]
    told: list[list[Event]] = [[*run, RunFinished(reason, cause="What the run knew.")], verified("000002-x", passed)]
    for name, events in zip(("000001-x", "000002-x"), told, strict=True):
        record(layout, name, events)
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
    really = Path.open

    def counting(path: Path, *how: Any, **more: Any) -> Any:
        opened.append(path.name)
        return really(path, *how, **more)

    monkeypatch.setattr(Path, "open", counting)
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
    about["verification"] = {"lastVerificationStatus": "pass", "lastVerificationRun": "000001-x"}
    layout.metadata.write_text(json.dumps(about))
    assert typed("show", "w", "--json").document["proof"] is None
    write(layout, "000003-x", verified("000003-x", passed=False))
    write(layout, "000004-x", verified("000004-x", passed=True, dry_run=True))
    assert "Proof: the task is not done (run 000003-x" in typed("show", "w").out
