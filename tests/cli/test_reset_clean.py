"""Starting over and cleaning up: never while running, never without being asked, never half."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path

import pytest

from claude_iterate.workspace.project import Project
from claude_iterate.workspace.run_folder import run_lock
from tests.cli.conftest import Type

ORIGINAL = Path(__file__).parents[1] / "fixtures" / "original" / "archive"
ARCHIVE = "old-task-2025-10-01T08-30-00"


def test_reset_says_what_it_did(typed: Type, project: Project) -> None:
    """A stale claim of completion is set aside (defect 14)."""
    layout = project.create("w")
    layout.status.write_text('{"complete": true}')
    answer = typed("reset", "w", "--json")
    assert answer.code == 0
    assert len(answer.document["done"]) == 2
    assert not layout.status.exists()
    assert typed("reset", "w").code == 0


@pytest.mark.parametrize(
    "words",
    [
        *(["reset", "w"], ["clean", "w", "--force"], ["archive", "save", "w"]),
        *(["config", "delay", "1", "-w", "w"], ["setup", "w", "--from", "text", "--force"]),
    ],
    ids=" ".join,
)
def test_refused_while_running(typed: Type, project: Project, words: list[str]) -> None:
    """The holder is named, the workspace untouched: its counters have one writer."""
    layout = project.create("w", instructions=b"old")
    (project.root / "text").write_text("new")
    before = {path: path.read_bytes() for path in layout.folder.rglob("*") if path.is_file()}
    with run_lock.hold(layout.lock, "w", "run"):
        answer = typed(*words)
    assert (answer.code, "already running: pid" in answer.err) == (1, True)
    assert {path: path.read_bytes() for path in before} == before
    assert not project.archive_folder.exists()


@pytest.mark.parametrize(
    "words", [["clean", "w"], ["archive", "delete", ARCHIVE], ["template", "delete", "t"]], ids=" ".join
)
def test_deleting_needs_a_yes(typed: Type, project: Project, words: list[str]) -> None:
    """Without a terminal and without --force nothing is deleted."""
    project.create("w", instructions=b"do it")
    assert typed("template", "save", "w", "t").code == 0
    shutil.copytree(ORIGINAL, project.archive_folder)
    before = sorted(project.root.rglob("*"))
    answer = typed(*words)
    assert (answer.code, "--force" in answer.err) == (2, True)
    assert sorted(project.root.rglob("*")) == before


@pytest.mark.parametrize("words", [["clean", "w", "--force"], ["archive", "save", "w"]], ids=" ".join)
def test_a_failed_archive_deletes_nothing(typed: Type, project: Project, words: list[str]) -> None:
    """No archive, no deletion."""
    layout = project.create("w")
    (project.root / "claude-iterate" / "archive").write_text("a file in the way")
    answer = typed(*words)
    assert (answer.code, "could not be archived" in answer.err) == (1, True)
    assert layout.metadata.exists()


def test_clean_archives_then_deletes(typed: Type, project: Project) -> None:
    """What is gone is in the archive."""
    layout = project.create("w", instructions=b"do it")
    answer = typed("clean", "w", "--force", "--json")
    assert answer.code == 0
    assert not layout.folder.exists()
    assert list(project.workspaces_folder.iterdir()) == []
    with tarfile.open(answer.document["archive"]) as archive:
        assert "w/INSTRUCTIONS.md" in archive.getnames()


def test_clean_takes_damaged_workspaces_too(typed: Type, project: Project) -> None:
    """What cannot be read can still be cleaned away (defect 33)."""
    project.create("w").metadata.write_text("{torn")
    answer = typed("clean", "w", "--force", "--no-archive", "--json")
    assert answer.code == 0
    assert answer.document["archive"] is None
    assert project.workspaces() == []


def test_symlinked_workspace_loses_the_link_only(typed: Type, project: Project, tmp_path: Path) -> None:
    """What lies outside our folder is never deleted."""
    real = project.create("w").folder.rename(tmp_path / "real")
    (project.workspaces_folder / "w").symlink_to(real)
    assert typed("clean", "w", "--force").code == 0
    assert (real / ".metadata.json").exists()
    assert project.workspaces() == []


def test_reset_all(typed: Type, project: Project) -> None:
    """Every workspace is reset but the one that runs, which is named; the exit code says so."""
    for name in ("a", "b", "c"):
        project.create(name).status.write_text('{"complete": true}')
    with run_lock.hold(project.layout("b").lock, "b", "run"):
        answer = typed("reset", "--all", "--json")
    assert answer.code == 1
    assert "b was not reset" in answer.err
    assert [row["name"] for row in answer.document["workspaces"] if row["problem"] is None] == ["a", "c"]
    assert [project.layout(name).status.exists() for name in ("a", "b", "c")] == [False, True, False]
    assert typed("reset", "--all").code == 0


@pytest.mark.parametrize("words", [[], ["w", "--all"]])
def test_reset_wants_one_thing(typed: Type, project: Project, words: list[str]) -> None:
    """Without a name nothing is reset by accident, and a name beside --all is a mistake."""
    layout = project.create("w")
    layout.status.write_text("{}")
    answer = typed("reset", *words)
    assert answer.code == 2
    assert "--all" in answer.err
    assert layout.status.exists()
