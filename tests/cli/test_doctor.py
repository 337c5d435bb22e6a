"""`doctor` finds what is wrong and says how to fix it; it never prints a secret."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from claude_iterate.core.events import RunFinished
from claude_iterate.workspace.project import Project
from tests.cli.conftest import Answer, Type
from tests.cli.journals import journal

RUN = "20260101-000000-aaaaaa"


def findings(answer: Answer) -> dict[str, dict[str, str]]:
    return {finding["check"]: finding for finding in answer.document["checks"]}


def test_all_is_well(claude: Path, typed: Type, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 0, the version shown, the credential named but not printed."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-very-secret")
    project.create("w")
    answer = typed("doctor", "--json")
    assert answer.code == 0
    assert answer.document["ok"] is True
    assert "9.9.9" in findings(answer)["claude"]["message"]
    assert findings(answer)["login"]["state"] == "ok"
    assert (Path(findings(answer)["prompts"]["message"].rpartition(" in ")[2]) / "loop" / "iteration.md").is_file()
    text = typed("doctor")
    assert text.code == 0
    assert "sk-very-secret" not in answer.out + text.out + text.err


def test_lost_instructions_are_found(claude: Path, typed: Type, project: Project) -> None:
    """Of a workspace that has run; a new one has none yet."""
    layout = project.create("w")
    layout.instructions.unlink(missing_ok=True)
    assert "workspace w" not in findings(typed("doctor", "--json"))
    journal(layout, RunFinished("blocked", "because"), running=False)
    found = findings(typed("doctor", "--json"))["workspace w"]
    assert (found["state"], "claude-iterate setup w" in found["fix"]) == ("problem", True)


def test_an_older_summary_is_found_and_repaired(claude: Path, typed: Type, project: Project) -> None:
    """Git put it back; the journal knows more."""
    layout = project.create("w")
    layout.instructions.write_text("- one")
    before = layout.metadata.read_bytes()
    journal(layout, RunFinished("completed", "because"), running=False)
    layout.metadata.write_bytes(before)
    assert "older one" in findings(typed("doctor", "--json"))["workspace w"]["message"]
    typed("doctor", "--fix")
    assert json.loads(layout.metadata.read_bytes())["status"] == "completed"


def test_missing_claude_counts(typed: Type) -> None:
    """Exit 1 and how to get it."""
    answer = typed("doctor")
    assert answer.code == 1
    assert "❌ claude: Claude CLI not found." in answer.out
    assert "npm install" in answer.out


def test_unknown_variables_are_told(claude: Path, typed: Type, monkeypatch: pytest.MonkeyPatch) -> None:
    """A misspelt variable would otherwise do nothing, silently."""
    monkeypatch.setenv("CLAUDE_ITERATE_DELLAY", "3")
    answer = typed("doctor", "--json")
    assert answer.code == 0
    assert "CLAUDE_ITERATE_DELLAY" in findings(answer)["environment"]["message"]


def test_sick_workspaces_are_found(claude: Path, typed: Type, project: Project) -> None:
    """Torn metadata, a killed run, bad settings, an unusable name: each with its remedy."""
    for name in ("torn", "killed", "odd"):
        project.create(name)
    project.layout("torn").metadata.write_text("{")
    killed = project.layout("killed").metadata
    killed.write_text(json.dumps(json.loads(killed.read_text()) | {"run": {"id": RUN, "state": "running"}}))
    odd = project.layout("odd").metadata
    odd.write_text(json.dumps(json.loads(odd.read_text()) | {"config": {"delay": "soon"}}))
    project.create("x").folder.rename(project.workspaces_folder / "_x")
    answer = typed("doctor", "--json")
    assert answer.code == 1
    found = findings(answer)
    assert "doctor --fix" in found["workspace torn"]["fix"]
    assert "claude-iterate run killed" in found["workspace killed"]["fix"]
    assert "delay" in found["workspace odd"]["message"]
    assert "_x" in found["workspaces"]["message"]


def test_a_full_disk_is_found(claude: Path, typed: Type, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Permissions do not tell of it: something is written, and nothing of it stays."""
    before = sorted(project.root.rglob("*"))
    assert findings(typed("doctor", "--json"))["workspaces"]["state"] == "ok"
    assert sorted(project.root.rglob("*")) == before

    def full(_handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    answer = typed("doctor", "--json")
    assert (answer.code, answer.document["ok"]) == (1, False)
    assert "No space left on device" in findings(answer)["workspaces"]["message"]


def test_the_last_line_counts_problems_and_warnings(
    claude: Path, typed: Type, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Warnings are not called errors, and are not hidden by a good word."""
    (folder / ".git").mkdir()
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x")
    assert typed("doctor").err.strip() in {"No errors.", "No errors, 1 warning."}  # the second where git is missing
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.setenv("CLAUDE_ITERATE_DELLAY", "3")
    assert typed("doctor").err.strip() in {"No errors, 2 warnings.", "No errors, 3 warnings."}
    (folder / ".claude-iterate.toml").write_text("delay =")
    assert typed("doctor").err.strip() == "1 problem to fix."


@pytest.mark.parametrize(
    ("version", "state", "words"),
    [
        ("2.1.196 (Claude Code)", "warning", "is older than"),
        ("2.1.197 (Claude Code)", "ok", ""),
        ("10.0.0 (Claude Code)", "ok", "is newer than"),
        ("dev", "ok", ""),
        ("0.1 of a script", "ok", ""),
    ],
)
def test_a_claude_that_was_not_tested_is_told(claude: Path, typed: Type, version: str, state: str, words: str) -> None:
    """An old one with the way to update it; what does not call itself Claude Code is left alone."""
    claude.write_text(f"#!/bin/sh\necho '{version}'\n")
    found = findings(typed("doctor", "--json"))["claude"]
    assert (found["state"], version in found["message"]) == (state, True)
    assert words in found["message"]
    assert (" than " in found["message"]) == bool(words)
    assert found["fix"] == ("Update it: claude update" if state == "warning" else "")
