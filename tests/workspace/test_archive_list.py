"""Archives are found by name, listed by age, and what they say of themselves is not trusted."""

from __future__ import annotations

import io
import json
import shutil
import tarfile
from pathlib import Path

import pytest
from freezegun import freeze_time

from claude_iterate.errors import ArchiveProblem, UsageProblem
from claude_iterate.workspace.archives import archive_creation, archive_list, restoration
from claude_iterate.workspace.project import Project

ORIGINAL = Path(__file__).parents[1] / "fixtures" / "original" / "archive" / "old-task-2025-10-01T08-30-00"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, {"HOME": f"{tmp_path}-home"})


def test_a_hostile_name_in_the_manifest(project: Project) -> None:
    """The name comes from outside, so it is judged like one that is typed."""
    project.archive_folder.mkdir(parents=True)
    with tarfile.open(project.archive_folder / "a.tar.gz", "w:gz") as tar:
        data = json.dumps({"originalName": "../../x"}).encode()
        member = tarfile.TarInfo("w/.archived.json")
        member.size = len(data)
        tar.addfile(member, io.BytesIO(data))
    found = archive_list.find(project.archive_folder, "a")
    with pytest.raises(ArchiveProblem, match="cannot be a name"):
        restoration.target_name(found, None)
    with pytest.raises(UsageProblem):
        restoration.target_name(found, "../x")


@freeze_time("2025-10-01 08:30:01")
def test_newest_first(project: Project) -> None:
    """By manifest, else by name; strangers in the folder are not archives."""
    shutil.copytree(ORIGINAL, project.archive_folder / ORIGINAL.name)
    archive_creation.save(project.create("w"), project.archive_folder)
    (project.archive_folder / "x-2024-01-02T03-04-05.tar.gz").write_bytes(b"")
    (project.archive_folder / "README.md").write_text("mine")
    (project.archive_folder / ".hidden").mkdir()
    found = [entry.name for entry in archive_list.archives(project.archive_folder)]
    assert found == ["w-2025-10-01T08-30-01", ORIGINAL.name, "x-2024-01-02T03-04-05"]
