"""A project finds, makes and names its workspaces; nothing is ever half-made."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from claude_iterate.errors import UsageProblem, WorkspaceProblem
from claude_iterate.workspace import metadata
from claude_iterate.workspace.layout import project_root
from claude_iterate.workspace.project import Project

BAD_NAMES = ["..", ".", "a/b", "-x", "", "a" * 300, "a\\b", "a b", "a\n", ".hidden", "/etc"]


def test_new_workspace_holds_only_what_was_given(project: Project) -> None:
    """Settings that the user did not give are not written, so that user and project settings reach the workspace."""
    layout = project.create("w", "iterative", {"delay": 0.0, "notify.events": ("all",)})
    document = json.loads(layout.metadata.read_text())
    assert document["config"] == {"delay": 0, "notify": {"events": ["all"]}}
    assert document["format"] == 3
    assert document["mode"] == "iterative"
    assert document["created"].endswith("Z")
    assert (document["totalIterations"], document["setupIterations"], document["executionIterations"]) == (0, 0, 0)
    assert layout.todo.is_file()
    assert layout.working.is_dir()
    assert not layout.status.exists()
    assert sorted(path.name for path in project.workspaces_folder.iterdir()) == ["w"]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_bad_names_are_refused(project: Project, name: str) -> None:
    """No name leads out of the workspaces folder."""
    with pytest.raises(UsageProblem):
        project.layout(name)
    with pytest.raises(UsageProblem):
        project.create(name)
    assert not project.workspaces_folder.exists()


def test_missing_workspace_names_near_ones(project: Project) -> None:
    """A typo is answered with what was probably meant."""
    project.create("my-task")
    with pytest.raises(WorkspaceProblem) as raised:
        project.layout("my-tsak")
    assert raised.value.message == "Workspace not found: my-tsak"
    assert "my-task" in raised.value.hint
    assert "claude-iterate setup my-tsak" in raised.value.hint


def test_an_empty_project_is_told_from_none(project: Project) -> None:
    """A folder with settings is a project; any other may be the wrong folder."""
    with pytest.raises(WorkspaceProblem) as raised:
        project.layout("w")
    assert f"{project.root} is not a project." in raised.value.hint
    (project.root / ".claude-iterate.toml").write_text("delay = 3\n")
    with pytest.raises(WorkspaceProblem) as raised:
        Project(project.root, project.environ).layout("w")
    assert f"{project.root} has no workspaces." in raised.value.hint


def test_failure_leaves_nothing(project: Project) -> None:
    """When the disk says no in the middle, no folder stays behind."""
    project.workspaces_folder.mkdir(parents=True)
    (project.workspaces_folder / "w").write_text("a file in the way")
    with pytest.raises(WorkspaceProblem):
        project.create("w", force=True)
    assert [path.name for path in project.workspaces_folder.iterdir()] == ["w"]


def test_force_mends_damaged_metadata_and_keeps_the_files(project: Project) -> None:
    """The torn file is kept beside the new one."""
    layout = project.create("w", instructions=b"do it")
    layout.metadata.write_text('{"name": "w", ')
    with pytest.raises(WorkspaceProblem) as raised:
        metadata.read(layout.metadata)
    assert "--force" in raised.value.hint
    project.create("w", force=True)
    assert metadata.read(layout.metadata).status == "in_progress"
    assert layout.instructions.read_bytes() == b"do it"
    assert (layout.folder / ".metadata.json.bak").read_text() == '{"name": "w", '


def test_force_on_a_healthy_workspace_loses_nothing(project: Project) -> None:
    """Counters, unknown keys and settings survive a needless repair."""
    layout = project.create("w", "iterative", {"delay": 1.0})
    document = json.loads(layout.metadata.read_text()) | {"executionIterations": 4, "mine": True}
    layout.metadata.write_text(json.dumps(document))
    project.create("w", settings={"max_iterations": 3}, force=True)
    assert json.loads(layout.metadata.read_text()) == document | {"config": {"delay": 1, "max_iterations": 3}}


def test_names_are_sorted_folders_only(project: Project) -> None:
    """Files, hidden folders and unusable names are no workspaces."""
    for name in ("b", "a", "c.d"):
        project.create(name)
    (project.workspaces_folder / "file").touch()
    (project.workspaces_folder / ".hidden").mkdir()
    (project.workspaces_folder / "_odd").mkdir()
    assert project.workspaces() == ["a", "b", "c.d"]


@pytest.mark.setting("paths.workspaces_dir", "paths.archive_dir")
def test_folders_follow_the_settings(tmp_path: Path) -> None:
    """workspaces_dir is relative to the root, and `~` is the user's home."""
    (tmp_path / ".claude-iterate.toml").write_text('[paths]\nworkspaces_dir = "tasks"\narchive_dir = "~/attic"\n')
    project = Project(tmp_path, {"HOME": "/somewhere"})
    assert project.workspaces_folder == tmp_path / "tasks"
    assert project.archive_folder == Path("/somewhere/attic")


@pytest.mark.parametrize("inner", ["workspaces", "templates", "archive", "hooks"])
def test_root_is_found_from_below(tmp_path: Path, inner: str) -> None:
    """Every command works from a sub-directory (defect 37)."""
    (tmp_path / "claude-iterate" / inner).mkdir(parents=True)
    deep = tmp_path / "src" / "deep"
    deep.mkdir(parents=True)
    assert project_root(deep) == tmp_path


def test_checkout_of_the_tool_is_no_project(tmp_path: Path) -> None:
    """A folder called claude-iterate that holds this tool's sources does not mark its parent as a project."""
    checkout = tmp_path / "claude-iterate"
    (checkout / "templates").mkdir(parents=True)
    (checkout / "pyproject.toml").touch()
    assert project_root(checkout) == checkout
