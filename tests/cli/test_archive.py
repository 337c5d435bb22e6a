"""Starting over, cleaning up, archives: never while running, never without being asked, never half."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path

import pytest

from claude_iterate.workspace.project import Project
from claude_iterate.workspace.run_folder import run_lock
from tests.cli.conftest import Type

ORIGINAL = Path(__file__).parents[1] / "fixtures" / "original" / "archive"
OLD = "old-task-2025-10-01T08-30-00"


def test_away_and_back(typed: Type, project: Project) -> None:
    """All commands, in words and in JSON; the name goes with or without its ending."""
    layout = project.create("w", instructions=b"do it")
    kept = typed("archive", "save", "w", "--keep", "--json").document
    assert (kept["workspace"], kept["kept"], layout.folder.is_dir()) == ("w", True, True)
    assert "the workspace is deleted" in typed("archive", "save", "w").out
    assert project.workspaces() == []
    rows = typed("archive", "ls", "--json").document["archives"]
    assert len(rows) == 2
    name = rows[0]["name"]
    assert name in typed("archive", "list").out
    for spelled in (name, f"{name}.tar.gz"):
        shown = typed("archive", "show", spelled, "--json").document
        assert (shown["workspace"], shown["mode"], shown["files"]) == ("w", "loop", 4)
    assert "Holds: 4 files" in typed("archive", "show", name).out
    assert typed("archive", "restore", name, "--json").document["name"] == "w"
    assert layout.instructions.read_bytes() == b"do it"
    assert "Restored the workspace other" in typed("archive", "restore", f"{name}.tar.gz", "other").out
    assert typed("show", "other", "--json").document["name"] == "other"
    again = typed("archive", "restore", name)
    assert (again.code, "already exists" in again.err) == (1, True)
    for row in rows:
        assert typed("archive", "rm", row["name"], "-f").code == 0
    assert list(project.archive_folder.iterdir()) == []


def test_links_that_lead_outside_are_told(typed: Type, project: Project) -> None:
    """At saving, at showing, and when restoring is refused; with the flag they come back."""
    layout = project.create("w")
    (layout.working / "python").symlink_to("/usr/bin/python3")
    assert "--outside-links" in typed("archive", "save", "w").err
    name = typed("archive", "list", "--json").document["archives"][0]["name"]
    assert typed("archive", "show", name, "--json").document["outsideLinks"] == ["working/python"]
    assert "--outside-links" in typed("archive", "show", name).err
    refused = typed("archive", "restore", name)
    assert (refused.code, "--outside-links" in refused.err) == (1, True)
    assert project.workspaces() == []
    assert typed("archive", "restore", name, "--outside-links").code == 0
    assert (layout.working / "python").is_symlink()


def test_what_is_no_archive(typed: Type, project: Project) -> None:
    """Listed as damaged, refused when shown or restored, and one bad one does not hide the others."""
    shutil.copytree(ORIGINAL, project.archive_folder)
    (project.archive_folder / "bad.tar.gz").write_text("no archive")
    listed = typed("archive", "list")
    assert (listed.code, OLD in listed.out, "damaged" in listed.err) == (0, True, True)
    for words in (["show", "bad"], ["restore", "bad", "w"]):
        answer = typed("archive", *words)
        assert (answer.code, len(answer.err.splitlines())) == (1, 2)
        assert "damaged or not an archive" in answer.err
    assert project.workspaces() == []


def test_a_hostile_name_in_the_manifest(typed: Type, project: Project) -> None:
    """The name comes from outside, so it is judged like one that is typed."""
    layout = project.create("w")
    (layout.folder / ".archived.json").write_text('{"originalName": "../../x"}')
    project.archive_folder.mkdir()
    layout.folder.rename(project.archive_folder / "a")
    for words in (["a"], ["a", "../x"]):
        answer = typed("archive", "restore", *words)
        assert (answer.code, "cannot be the name of a workspace" in answer.err) == (2, True)
    assert typed("archive", "restore", "a", "x").code == 0


def test_a_missing_archive_is_told(typed: Type, project: Project) -> None:
    """The names that may have been meant are named."""
    shutil.copytree(ORIGINAL, project.archive_folder)
    assert f"Did you mean {OLD}" in typed("archive", "delete", "old-task", "--force").err
    assert f"Did you mean {OLD}" in typed("archive", "show", OLD[:-1]).err
    assert typed("archive", "show", "nothing").code == 1


def test_the_name_of_a_workspace_means_its_newest_archive(typed: Type, project: Project) -> None:
    """For `restore` and `show`; `delete` takes the exact name only."""
    for text in (b"first", b"second"):
        project.create("w", instructions=text)
        typed("archive", "save", "w")
    newest = typed("archive", "list", "--json").document["archives"][0]["name"]
    assert typed("archive", "show", "w", "--json").document["name"] == newest
    answer = typed("archive", "restore", "w")
    assert (answer.code, f"Restored the workspace w from {newest}: " in answer.out) == (0, True)
    assert project.layout("w").instructions.read_bytes() == b"second"
    assert typed("archive", "restore", "w", "other").code == 0
    assert typed("archive", "delete", "w", "--force").code == 1
    assert len(typed("archive", "list", "--json").document["archives"]) == 2


@pytest.mark.parametrize("words", [["archive"], ["archive", "list"], ["template", "list"]])
def test_an_empty_project(typed: Type, folder: Path, words: list[str]) -> None:
    """Says what to do, and makes nothing."""
    assert typed(*words).code == 0
    assert list(folder.iterdir()) == []


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
    "words", [["clean", "w"], ["archive", "delete", OLD], ["template", "delete", "t"]], ids=" ".join
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


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("archive_folder", ["archive", "delete", "w"]),
        ("templates_folder", ["template", "delete", "w"]),
    ],
)
def test_a_link_is_deleted_and_not_what_it_leads_to(
    typed: Type, project: Project, tmp_path: Path, place: str, words: list[str]
) -> None:
    """What lies outside our folder is never deleted."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "TODO.md").touch()
    folder = getattr(project, place)
    folder.mkdir(parents=True)
    (folder / "w").symlink_to(tmp_path / "real")
    assert typed(*words, "--force").code == 0
    assert list(folder.iterdir()) == []
    assert (tmp_path / "real" / "TODO.md").exists()
