"""A project of the TypeScript original: listed, shown, run, used and restored as it is."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.e2e.conftest import Loop

ORIGINAL = Path(__file__).parents[1] / "fixtures" / "original"


@pytest.fixture
def old(loop: Loop) -> Loop:
    """What the original leaves in a project: settings, a workspace with its defaults, templates, archives."""
    folder = loop.root / "claude-iterate"
    for name in ("templates", "archive"):
        shutil.copytree(ORIGINAL / name, folder / name)
    loop.workspace.mkdir(parents=True)
    (loop.workspace / "working").mkdir()
    (loop.workspace / "INSTRUCTIONS.md").write_text("- one\n- two\n")
    (loop.workspace / "TODO.md").write_text("# TODO\n")
    metadata = {
        "name": "my-task",
        "created": "2025-10-15T14:23:45.000Z",
        "lastRun": "2025-10-16T14:23:45.000Z",
        "status": "in_progress",
        "mode": "loop",
        "totalIterations": 7,
        "setupIterations": 1,
        "executionIterations": 6,
        "maxIterations": 50,
        "delay": 2,
        "stagnationThreshold": 2,
        "notifyEvents": ["all"],
        "config": {"outputLevel": "progress", "verification": {"depth": "quick", "maxAttempts": 3}},
    }
    (loop.workspace / ".metadata.json").write_text(json.dumps(metadata, indent=2) + "\n")
    settings = {
        "workspacesDir": "./claude-iterate/workspaces",
        "templatesDir": "./claude-iterate/templates",
        "archiveDir": "./claude-iterate/archive",
        "defaultMaxIterations": 9,
        "defaultDelay": 0,
        "outputLevel": "progress",
        "notifyEvents": ["completion", "error"],
        "notification": {"statusWatch": {"enabled": True, "debounceMs": 2000, "notifyOnlyMeaningful": True}},
        "claude": {"command": "claude", "args": []},
        "verification": {"autoVerify": False, "resumeOnFail": True, "maxAttempts": 2, "depth": "standard"},
    }
    (loop.root / ".claude-iterate.json").write_text(json.dumps(settings, indent=2) + "\n")
    del loop.env["CLAUDE_ITERATE_DELAY"]
    return loop


def test_it_is_listed_and_shown(old: Loop) -> None:
    """With its counters; nothing is written by looking."""
    before = (old.workspace / ".metadata.json").read_bytes()
    (row,) = old.document("list")["workspaces"]
    assert (row["name"], row["iterations"], row["status"]) == ("my-task", 6, "in_progress")
    shown = old.call("show", "my-task").out
    assert "6 in runs" in shown
    assert "verification.depth = quick" in shown
    assert (old.workspace / ".metadata.json").read_bytes() == before


def test_it_is_run_and_counted_on(old: Loop) -> None:
    """Project settings reach it although the original wrote its defaults there; counters go on; unknown keys stay."""
    about = json.loads((old.workspace / ".metadata.json").read_text()) | {"mine": True}
    (old.workspace / ".metadata.json").write_text(json.dumps(about))
    done = old.run()
    assert done.code == 0
    assert "at most 9 iterations" in done.err
    after = json.loads((old.workspace / ".metadata.json").read_text())
    assert (after["executionIterations"], after["status"], after["mine"]) == (8, "completed", True)


def test_its_templates_are_used(old: Loop) -> None:
    """Listed, and good for a new workspace."""
    assert "port-tests" in old.call("template", "list").out
    assert old.call("template", "use", "port-tests", "ported").code == 0
    text = (ORIGINAL / "templates" / "port-tests" / "INSTRUCTIONS.md").read_bytes()
    assert (old.workspace.parent / "ported" / "INSTRUCTIONS.md").read_bytes() == text


def test_its_archives_are_restored(old: Loop) -> None:
    """A folder of the original comes back as a workspace, byte for byte, and can be run."""
    name = "old-task-2025-10-01T08-30-00"
    assert name in old.call("archive", "list").out
    assert old.call("archive", "restore", name, "again").code == 0
    restored = old.workspace.parent / "again"
    for file in ("INSTRUCTIONS.md", "TODO.md", "working/notes.txt"):
        assert (restored / file).read_bytes() == (ORIGINAL / "archive" / name / file).read_bytes()
    assert old.call("run", "again", "--dry-run", "--no-delay").code == 0
