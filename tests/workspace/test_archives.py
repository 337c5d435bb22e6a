"""Archives are saved whole or not at all, found by name, listed by age; what they say of themselves is not trusted."""

from __future__ import annotations

import json
import os
import shutil
import socket
import tarfile
from pathlib import Path

import pytest
from freezegun import freeze_time

from claude_iterate.errors import ArchiveProblem
from claude_iterate.workspace import archive_contents, archives
from claude_iterate.workspace.project import Project

ORIGINAL = Path(__file__).parents[1] / "fixtures" / "original" / "archive" / "old-task-2025-10-01T08-30-00"


@freeze_time("2025-10-01 08:30:01")
def test_newest_first(project: Project) -> None:
    """By manifest, else by file; strangers in the folder are not archives."""
    shutil.copytree(ORIGINAL, project.archive_folder / ORIGINAL.name)
    archives.save(project.create("w"), project.archive_folder)
    damaged = project.archive_folder / "x-2024-01-02T03-04-05.tar.gz"
    damaged.write_bytes(b"")
    os.utime(damaged, (1e9, 1e9))
    (project.archive_folder / "README.md").write_text("mine")
    (project.archive_folder / ".hidden").mkdir()
    found = [entry.name for entry in archives.list_archives(project.archive_folder)]
    assert found == ["w-2025-10-01T08-30-01", ORIGINAL.name, "x-2024-01-02T03-04-05"]


@freeze_time("2026-02-28 23:59:59")
def test_everything_is_inside(project: Project, tmp_path: Path) -> None:
    """One top folder, the manifest first, symlinks as symlinks (defect 39), no lock."""
    layout = project.create("w", instructions=b"do it")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "secret").write_text("not ours")
    (layout.working / "link").symlink_to(elsewhere, target_is_directory=True)
    (layout.working / "dangling").symlink_to("nowhere")
    layout.lock.touch()
    saved = archives.save(layout, project.archive_folder)
    path = saved.path
    assert path.name == "w-2026-02-28T23-59-59.tar.gz"
    with tarfile.open(path) as opened:
        members = {member.name: member for member in opened.getmembers()}
        manifest = opened.extractfile("w/.archived.json")
        assert manifest is not None
        written = json.load(manifest)
    assert written["originalName"] == "w"
    assert written["archiveName"] == path.name
    assert next(iter(members)) == "w/.archived.json"
    assert members["w/working/link"].issym()
    assert members["w/working/dangling"].issym()
    assert "w/INSTRUCTIONS.md" in members
    assert "w/.lock" not in members
    assert not any("secret" in name for name in members)
    assert saved.outside_links == ["working/link"]
    assert [entry.name for entry in project.archive_folder.iterdir()] == [path.name]


@freeze_time("2026-02-28 23:59:59")
def test_two_in_one_second_are_two(project: Project) -> None:
    """A second archive never replaces the first."""
    layout = project.create("w")
    paths = {archives.save(layout, project.archive_folder).path for _ in range(3)}
    assert len(paths) == 3
    assert all(path.is_file() for path in paths)


def test_what_has_no_content_is_left_out(project: Project) -> None:
    """A pipe and a socket: they could not be restored."""
    layout = project.create("w")
    os.mkfifo(layout.working / "pipe")
    here = os.open(layout.working, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"/proc/self/fd/{here}/socket")  # the path itself may be too long for one
    os.close(here)
    with tarfile.open(archives.save(layout, project.archive_folder).path) as opened:
        assert "w/working" in opened.getnames()
        assert not any(name.startswith("w/working/") for name in opened.getnames())


def test_long_names_stay_names(project: Project) -> None:
    """The archive of a workspace with the longest name can be named in every command."""
    layout = project.create("n" * 100)
    for _ in range(2):
        archives.find(project.archive_folder, archives.save(layout, project.archive_folder).path.name)
    assert [found.workspace for found in archives.list_archives(project.archive_folder)] == ["n" * 100] * 2


def test_not_into_the_workspace_itself(tmp_path: Path) -> None:
    """An archive within the workspace would be deleted with it."""
    inside = "claude-iterate/workspaces/w/working/archive"
    project = Project(tmp_path, {"HOME": f"{tmp_path}-home", "CLAUDE_ITERATE_PATHS__ARCHIVE_DIR": inside})
    layout = project.create("w")
    with pytest.raises(ArchiveProblem, match="lies within the workspace"):
        archives.save(layout, project.archive_folder)
    assert list(layout.working.iterdir()) == []


def test_failure_leaves_no_half_archive(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """When packing fails in the middle, the workspace is as it was and the archive folder empty."""
    layout = project.create("w", instructions=b"do it")
    before = sorted(path.name for path in layout.folder.rglob("*"))

    def full(*_arguments: object, **_more: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tarfile.TarFile, "addfile", full)
    with pytest.raises(ArchiveProblem, match="No space left"):
        archives.save(layout, project.archive_folder)
    assert list(project.archive_folder.iterdir()) == []
    assert sorted(path.name for path in layout.folder.rglob("*")) == before


def test_an_archive_that_lacks_something_is_none(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that swallows what is written is noticed, because the archive is read back."""
    layout = project.create("w", instructions=b"do it")
    whole = tarfile.TarFile.addfile

    def swallowing(self: tarfile.TarFile, member: tarfile.TarInfo, file: object = None) -> None:
        if not member.name.endswith("INSTRUCTIONS.md"):
            whole(self, member, file)  # type: ignore[arg-type]

    monkeypatch.setattr(tarfile.TarFile, "addfile", swallowing)
    with pytest.raises(ArchiveProblem, match=r"does not hold INSTRUCTIONS\.md"):
        archives.save(layout, project.archive_folder)
    assert list(project.archive_folder.iterdir()) == []


def test_too_many_to_restore_are_too_many_to_save(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """What could not be brought back is not put away."""
    layout = project.create("w", instructions=b"do it")
    monkeypatch.setattr(archive_contents, "MOST_ENTRIES", 3)
    with pytest.raises(ArchiveProblem, match="more than 3 files"):
        archives.save(layout, project.archive_folder)
    assert layout.instructions.exists()
