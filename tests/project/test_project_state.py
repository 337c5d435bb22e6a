"""Two looks at a project: the same, or which files differ."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from claude_iterate.project import project_state, scan
from claude_iterate.project.project_state import ProjectState


@pytest.fixture(params=[pytest.param(True, marks=pytest.mark.needs_git), False], ids=["git", "no-git"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A project with one file and a workspace."""
    folder = tmp_path / "project"
    (folder / "own" / "task").mkdir(parents=True)
    (folder / "own" / "task" / "INSTRUCTIONS.md").write_text("do\n")
    (folder / "work.txt").write_text("done\n")
    if request.param:
        subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


def look(root: Path) -> ProjectState:
    own = root / "own"
    return project_state.look(
        root, [own, root / "report.md", Path("/elsewhere")], [own / "task" / "INSTRUCTIONS.md"], own / "scratch"
    )


def changed(root: Path, before: ProjectState) -> tuple[str, ...]:
    return look(root).changes_since(before)


def test_what_differs_is_named(root: Path) -> None:
    """A new file, a changed one, one that is gone; nothing when nothing happened."""
    before = look(root)
    assert before.files is not None
    assert changed(root, before) == ()
    (root / "work.txt").write_text("undone\n")
    (root / "sub").mkdir()
    (root / "sub" / "new").write_text("sneaked\n")
    assert changed(root, before) == ("sub/new", "work.txt")
    (root / "work.txt").unlink()
    assert changed(root, before) == ("sub/new", "work.txt")


def test_the_same_content_is_the_same_whatever_its_time(root: Path) -> None:
    """A file that was only touched is no change."""
    before = look(root)
    (root / "work.txt").write_text("done\n")
    (root / "work.txt").touch()
    assert changed(root, before) == ()


def test_our_own_files_do_not_count_but_the_instructions_do(root: Path) -> None:
    """Journals and logs are written all the time. A reviewer that cuts the instructions has changed what is proven."""
    before = look(root)
    (root / "own" / "other").mkdir()
    (root / "own" / "other" / "iterate.log").write_text("busy\n")
    (root / "report.md").write_text("a report\n")
    assert changed(root, before) == ()
    (root / "own" / "task" / "INSTRUCTIONS.md").write_text("do less\n")
    assert changed(root, before) == ("own/task/INSTRUCTIONS.md",)


def test_a_project_with_too_many_files_and_no_git_is_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says so, and never that nothing changed."""
    monkeypatch.setattr(scan, "MOST_FILES", 3)
    for number in range(5):
        (tmp_path / str(number)).touch()
    state = project_state.look(tmp_path, [], [], tmp_path / "scratch")
    assert (state.files, state.tree) == (None, "")


def test_a_large_file_is_known_by_size_and_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the bound it is not read."""
    monkeypatch.setattr(scan, "LARGEST_READ", 10)
    (tmp_path / "large").write_bytes(b"x" * 20)
    before = look(tmp_path)
    assert changed(tmp_path, before) == ()
    (tmp_path / "large").write_bytes(b"x" * 21)
    assert changed(tmp_path, before) == ("large",)


def test_links_and_folders_that_cannot_be_read_are_survived(tmp_path: Path) -> None:
    """A link counts by where it leads; it is not followed, so a loop is none."""
    (tmp_path / "loop").symlink_to(tmp_path)
    before = look(tmp_path)
    assert before.files is not None
    assert list(before.files) == ["loop"]
    (tmp_path / "loop").unlink()
    (tmp_path / "loop").symlink_to("elsewhere")
    assert changed(tmp_path, before) == ("loop",)


@pytest.mark.needs_git
def test_a_repository_that_comes_or_goes_is_a_change(tmp_path: Path) -> None:
    """Nothing else can be compared then."""
    (tmp_path / "a").touch()
    before = look(tmp_path)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    assert changed(tmp_path, before) == (".git",)
