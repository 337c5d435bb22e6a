"""Archives at the keyboard: save, list, show, restore, delete."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path

import pytest

from claude_iterate.workspace.project import Project
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


def test_the_originals_archive(typed: Type, project: Project) -> None:
    """Listed, shown, restored, deleted."""
    shutil.copytree(ORIGINAL, project.archive_folder)
    row = typed("archive", "list", "--json").document["archives"][0]
    assert (row["name"], row["kind"], row["archivedAt"]) == (OLD, "folder", "2025-10-01T08:30:00Z")
    shown = typed("archive", "show", OLD, "--json").document
    assert (shown["status"], shown["iterations"], shown["problem"]) == ("completed", 8, None)
    assert typed("archive", "restore", OLD).code == 0
    before = (ORIGINAL / OLD / ".metadata.json").read_bytes()
    assert project.layout("old-task").metadata.read_bytes() == before
    assert typed("archive", "restore", OLD, "renamed").code == 0
    assert typed("show", "renamed", "--json").document["counters"]["total"] == 9
    assert typed("archive", "delete", OLD, "--force", "--json").document["deleted"].endswith(OLD)
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


def test_a_linked_archive_loses_the_link_only(typed: Type, project: Project, tmp_path: Path) -> None:
    """Folder, tarball or dead link: what lies outside our folder is never deleted."""
    shutil.copytree(ORIGINAL / OLD, tmp_path / "real")
    with tarfile.open(tmp_path / "real.tar.gz", "w:gz") as tar:
        tar.add(tmp_path / "real", arcname="w")
    project.archive_folder.mkdir(parents=True)
    targets = {"a": "real", "b.tar.gz": "real.tar.gz", "c.tar.gz": "nothing"}
    for name, target in targets.items():
        (project.archive_folder / name).symlink_to(tmp_path / target)
        assert typed("archive", "delete", name, "--force").code == 0
    assert (tmp_path / "real" / "TODO.md").exists()
    assert (tmp_path / "real.tar.gz").exists()
    assert list(project.archive_folder.iterdir()) == []


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
