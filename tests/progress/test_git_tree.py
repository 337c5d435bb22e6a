"""The name of what is in a project, and nothing left behind by asking for it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from claude_iterate.progress import git_tree


def said(root: Path, *words: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    return subprocess.run(
        ["git", *identity, *words], cwd=root, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture(params=["plain", 'od:d "name\\'])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A repository with a commit; git's list of object folders has a notation of its own for odd paths."""
    folder = tmp_path / str(request.param)
    folder.mkdir()
    said(folder, "init", "-q")
    (folder / "a").write_text("one\n")
    (folder / "own").mkdir()
    (folder / ".gitignore").write_text("ignored*\n")
    (folder / "ignored-and-tracked").write_text("x\n")
    said(folder, "add", "--force", ".")
    said(folder, "commit", "-qm", "one")
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.needs_git
def test_the_repository_stays_as_it_is(root: Path) -> None:
    """Neither its index nor its objects: a proof adds nothing to them, however often it is held."""
    (root / "a").write_text("two\n")
    (root / "untracked").write_text("new\n" * 1000)
    before = contents(root)
    assert git_tree.tree_of(root, root / "own", root / "own" / "scratch")
    assert contents(root) == before


@pytest.mark.needs_git
def test_nothing_is_left_aside(root: Path) -> None:
    """The folder for new objects is gone, whether git could tell or not."""
    scratch = root / "own" / "runs" / "r" / "scratch"
    (root / "untracked").write_text("new\n")
    assert git_tree.tree_of(root, root / "own", scratch)
    assert not scratch.exists()
    scratch.parent.rmdir()
    scratch.parent.write_text("no folder")
    assert git_tree.tree_of(root, root / "own", scratch) == ""


@pytest.mark.needs_git
def test_the_name_is_that_of_the_whole_content(root: Path) -> None:
    """It is what git itself would call it: untracked files count, our own folder and what is ignored do not."""
    (root / "a").write_text("two\n")
    (root / "ignored").write_text("nobody's\n")
    (root / "untracked").write_text("new\n")
    (root / "own" / "journal").write_text("busy\n")
    found = git_tree.tree_of(root, root / "own", root / "own" / "scratch")
    said(root, "add", "a", "untracked")
    assert found == said(root, "write-tree")


def test_where_there_is_no_repository_there_is_no_name(tmp_path: Path) -> None:
    """And no error."""
    assert git_tree.tree_of(tmp_path, tmp_path / "own", tmp_path / "scratch") == ""
