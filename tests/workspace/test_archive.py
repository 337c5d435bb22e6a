"""An archive is there whole or not at all, and the workspace is only read."""

from __future__ import annotations

import json
import re
import tarfile
from pathlib import Path

import pytest

from claude_iterate.errors import WorkspaceProblem
from claude_iterate.workspace import archive
from claude_iterate.workspace.repository import Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, {"HOME": str(tmp_path / "home")})


def test_everything_is_inside(project: Project, tmp_path: Path) -> None:
    """One top folder, a manifest, symlinks as symlinks (defect 39), no lock."""
    layout = project.create("w", instructions=b"do it")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "secret").write_text("not ours")
    (layout.working / "link").symlink_to(elsewhere, target_is_directory=True)
    (layout.working / "dangling").symlink_to("nowhere")
    layout.lock.touch()
    path = archive.save(layout, project.archive_folder)
    assert re.fullmatch(r"w-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.tar\.gz", path.name)
    with tarfile.open(path) as opened:
        members = {member.name: member for member in opened.getmembers()}
        manifest = opened.extractfile("w/.archived.json")
        assert manifest is not None
        told = json.load(manifest)
    assert told["originalName"] == "w"
    assert told["archiveName"] == path.name
    assert members["w/working/link"].issym()
    assert members["w/working/dangling"].issym()
    assert "w/INSTRUCTIONS.md" in members
    assert "w/.lock" not in members
    assert not any("secret" in name for name in members)
    assert [entry.name for entry in project.archive_folder.iterdir()] == [path.name]


def test_two_in_one_second_are_two(project: Project) -> None:
    """A second archive never replaces the first."""
    layout = project.create("w")
    paths = {archive.save(layout, project.archive_folder) for _ in range(3)}
    assert len(paths) == 3
    assert all(path.is_file() for path in paths)


def test_failure_leaves_no_half_archive(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """When packing fails in the middle, the workspace is as it was and the archive folder empty."""
    layout = project.create("w", instructions=b"do it")
    before = sorted(path.name for path in layout.folder.rglob("*"))

    def full(*_arguments: object, **_more: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tarfile.TarFile, "addfile", full)
    with pytest.raises(WorkspaceProblem, match="No space left"):
        archive.save(layout, project.archive_folder)
    assert list(project.archive_folder.iterdir()) == []
    assert sorted(path.name for path in layout.folder.rglob("*")) == before
