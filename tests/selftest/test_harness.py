"""The harness of the self-test and the end-to-end tests notices what it must not miss."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from claude_iterate.selftest.harness.fault import Expected, Fault, FaultProject
from claude_iterate.selftest.harness.fault_runner import run_fault
from claude_iterate.selftest.harness.script_steps import finish
from claude_iterate.selftest.harness.scripted_project import Done, ScriptedProject, TooSlow, until

ENTRY = {"seq": 1, "at": 1.0, "elapsed": 0.0, "event": {"event": "RunStarted", "run": "r"}}
END = {"seq": 2, "at": 2.0, "elapsed": 1.0, "event": {"event": "RunFinished", "reason": "completed"}}


def with_journal(folder: Path, *entries: dict[str, Any], torn: bytes = b"") -> ScriptedProject:
    """A project with one run whose journal has these lines."""
    project = ScriptedProject(folder)
    project.make()
    path = project.layout.journal("000001-20260101-000000-abcdef")
    path.parent.mkdir(parents=True)
    path.write_bytes(b"".join(json.dumps(entry).encode() + b"\n" for entry in entries) + torn)
    return project


def test_only_a_run_that_goes_on_may_have_a_torn_last_line(tmp_path: Path) -> None:
    """The line that is being written is left out; a complete one without its line end counts. Nothing but whole entries
    may follow the end of a run, or stand before another."""
    assert with_journal(tmp_path / "torn", ENTRY, torn=b'{"seq":2,').journal() == [ENTRY]
    assert with_journal(tmp_path / "whole", ENTRY, torn=json.dumps(END).encode()).journal() == [ENTRY, END]
    bad = with_journal(tmp_path / "after", ENTRY, END, torn=b'{"seq":3,')
    worse = with_journal(tmp_path / "middle", ENTRY, torn=b"junk\n" + json.dumps(END).encode() + b"\n")
    for project in (bad, worse):
        with pytest.raises(ValueError, match="Expecting"):
            project.journal()


def test_waiting_ends_with_the_value_or_with_an_error() -> None:
    """What comes is returned; what does not come is named; an abandoned project waits no longer."""
    assert until(lambda: "here", 5.0) == "here"
    with pytest.raises(TooSlow, match="the bus did not come within 0 s"):
        until(lambda: None, 0.0, "the bus")
    with pytest.raises(TooSlow):
        until(lambda: None, 3600.0, abandoned=lambda: True)


def test_nothing_of_the_user_reaches_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No login, setting or proxy of the environment in which the tests run."""
    for name in ("ANTHROPIC_API_KEY", "CLAUDE_ITERATE_DELAY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "7")
    env = ScriptedProject(tmp_path).env
    assert [name for name in ("ANTHROPIC_API_KEY", "HTTPS_PROXY") if name in env] == []
    assert env["CLAUDE_ITERATE_DELAY"] == "0"


def complaining(_project: FaultProject, _done: Done) -> str:
    return "it does not hold"


def stumbling(project: FaultProject, _done: Done) -> str:
    return str(project.events("RunFinished")[7])


def test_a_fault_fails_for_every_check_that_does_not_hold(tmp_path: Path) -> None:
    """An unexpected end, a complaint, and a check that finds nothing to inspect: each is a problem of its own."""
    fault = Fault("what", "danger", (finish(),), Expected("blocked", 1, ("ok",)), checks=(complaining, stumbling))
    result = run_fault("f", fault, FaultProject(tmp_path / "fault", {}))
    assert result.state == "failed"
    assert result.problems == (
        "expected blocked (1): ok, got completed (0): ok",
        "it does not hold",
        "stumbling found nothing to inspect: IndexError('list index out of range')",
    )
    assert result.folder == tmp_path / "fault"


def test_a_fault_that_cannot_be_run_here_is_skipped(tmp_path: Path) -> None:
    """With the reason."""
    fault = Fault("what", "danger", (), impossible=lambda: "not on this computer")
    result = run_fault("f", fault, FaultProject(tmp_path / "fault", {}))
    assert (result.state, result.problems) == ("skipped", ("not on this computer",))
