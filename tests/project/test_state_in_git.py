"""What git says is in a project, and nothing left behind by asking for it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from claude_iterate.project import scan
from claude_iterate.project.project_state import ProjectState, state_in_git

pytestmark = pytest.mark.needs_git


def said(root: Path, *words: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "advice.addEmbeddedRepo=false")
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


def look(root: Path, scratch: Path | None = None) -> ProjectState | None:
    return state_in_git(root, lambda name: not name.startswith("own/"), scratch or root / "own" / "scratch", os.environ)


def found(root: Path) -> ProjectState:
    state = look(root)
    assert state is not None
    return state


def files(root: Path) -> dict[str, str]:
    return dict(found(root).files or {})


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_the_repository_stays_as_it_is(root: Path) -> None:
    """Neither its index nor its objects: a proof adds nothing to them, however often it is held."""
    (root / "a").write_text("two\n")
    (root / "untracked").write_text("new\n" * 1000)
    before = contents(root)
    assert found(root)
    assert contents(root) == before


def test_nothing_is_left_aside(root: Path) -> None:
    """The folder for new objects is gone, whether git could tell or not."""
    scratch = root / "own" / "runs" / "r" / "scratch"
    (root / "untracked").write_text("new\n")
    assert look(root, scratch)
    assert not scratch.exists()
    scratch.parent.rmdir()
    scratch.parent.write_text("no folder")
    assert look(root, scratch) is None


def test_the_name_is_that_of_the_whole_content(root: Path) -> None:
    """It is what git itself would call it: untracked files count, our own folder and what is ignored do not."""
    (root / "a").write_text("two\n")
    (root / "ignored").write_text("nobody's\n")
    (root / "untracked").write_text("new\n")
    (root / "own" / "journal").write_text("busy\n")
    before = found(root)
    said(root, "add", "a", "untracked")
    assert before.tree == said(root, "write-tree")
    assert sorted(files(root)) == [".gitignore", "a", "ignored-and-tracked", "untracked"]


def test_our_own_files_do_not_count_even_if_they_are_tracked(root: Path) -> None:
    """Nor if a `.gitignore` names the folder that they are in."""
    before = found(root)
    (root / "own" / "journal").write_text("busy\n")
    said(root, "add", "own")
    assert found(root) == before
    (root / "own" / "journal").write_text("busier\n")
    assert found(root) == before
    said(root, "rm", "-qf", "--cached", "own/journal")
    (root / ".gitignore").write_text("ignored*\nown/\n")
    (root / "new").write_text("seen\n")
    assert found(root).tree != before.tree
    assert "new" in files(root)


@pytest.mark.parametrize("tracked", [True, False])
def test_a_project_may_be_a_folder_of_a_repository(root: Path, tracked: bool) -> None:
    """Then its tree is that of the folder alone: what changes beside it is another's."""
    inner = root / "inner"
    inner.mkdir()
    if tracked:
        (inner / "work").write_text("done\n")
        said(root, "add", "inner")
    before = found(inner)
    assert list(files(inner)) == (["work"] if tracked else [])
    (root / "a").write_text("another's\n")
    (inner / "own").mkdir(exist_ok=True)
    (inner / "own" / "journal").write_text("busy\n")
    assert found(inner) == before
    (inner / "new").write_text("ours\n")
    said(root, "add", "inner/new")
    assert found(inner).tree == said(root, "write-tree", "--prefix=inner/")


def test_a_project_that_the_repository_around_it_ignores_is_not_gits(root: Path) -> None:
    """Git would see an empty folder and call any change none."""
    (root / "ignored-project").mkdir()
    (root / "ignored-project" / "work").write_text("done\n")
    assert look(root / "ignored-project", root / "scratch") is None


def hide(root: Path, flag: str) -> None:
    said(root, "update-index", flag, "a")
    (root / "a").write_text("hidden\n")


def file_for_folder(root: Path) -> None:
    (root / "a").unlink()
    (root / "a").mkdir()
    (root / "a" / "b").write_text("inside\n")


def odd_names(root: Path) -> None:
    for name in ("new\nline", " blank ", 'quo"te', "-dash", ":(exclude)a", "*", os.fsdecode(b"\xff")):
        (root / name).write_text("odd\n")


def unmerged(root: Path) -> None:
    said(root, "checkout", "-qb", "other")
    (root / "a").write_text("theirs\n")
    said(root, "commit", "-qam", "theirs")
    said(root, "checkout", "-q", "-")
    (root / "a").write_text("ours\n")
    said(root, "commit", "-qam", "ours")
    subprocess.run(["git", "merge", "-q", "other"], cwd=root, capture_output=True, check=False)


CHANGES: dict[str, Callable[[Path], object]] = {
    "assume-unchanged": lambda root: hide(root, "--assume-unchanged"),
    "skip-worktree": lambda root: hide(root, "--skip-worktree"),
    "folder-for-file": file_for_folder,
    "odd-names": odd_names,
    "unmerged": unmerged,
    "deleted": lambda root: (root / "a").unlink(),
    "mode": lambda root: (root / "a").chmod(0o755),
    "link": lambda root: (root / "link").symlink_to("nowhere"),
    "commit": lambda root: said(root, "commit", "-q", "--allow-empty", "-m", "x"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_is_seen_as_git_sees_it(root: Path, change: str) -> None:
    """The tree is that of the files on disk, whatever state the user's index is in; a commit alone changes nothing."""
    before = found(root)
    CHANGES[change](root)
    after = found(root)
    (root / ".git" / "index").unlink()
    said(root, "add", "--force", "ignored-and-tracked")
    said(root, "add", "--all")
    said(root, "rm", "-rq", "--cached", "--ignore-unmatch", "own")
    assert after.tree == said(root, "write-tree")
    assert (after.tree == before.tree) == (after.files == before.files)


def test_a_file_too_large_to_be_read_is_known_by_its_size_and_time(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of it is a change; git does not copy it."""
    monkeypatch.setattr(scan, "LARGEST_READ", 1000)
    (root / "large").write_bytes(b"x" * 2000)
    before = found(root)
    assert found(root) == before
    (root / "large").write_bytes(b"x" * 2001)
    assert files(root) != before.files
    assert found(root).tree == before.tree


@pytest.mark.parametrize("kind", ["without a commit", "with a commit", "submodule"])
def test_a_change_in_a_repository_inside_is_seen(root: Path, kind: str) -> None:
    """Git does not look into it, and `git add` fails at one without a commit. What is ignored there does not count."""
    inner = root / "nested"
    inner.mkdir()
    said(inner, "init", "-q")
    (inner / "x").write_text("x\n")
    if kind != "without a commit":
        said(inner, "add", "x")
        said(inner, "commit", "-qm", "one")
    if kind == "submodule":
        said(root, "add", "nested")
    before = found(root)
    assert {"a", "nested/x"} <= files(root).keys()
    (inner / ".git" / "info" / "exclude").write_text("log\n")
    (inner / "log").write_text("busy\n")
    assert found(root) == before
    (inner / "x").write_text("changed\n")
    assert found(root).changes_since(before) == ("nested/x",)


def test_variables_that_name_another_repository_do_not_mislead(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a hook of git, which has them set."""
    before = found(root)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    assert found(root) == before


def test_a_linked_worktree_is_a_project_like_any_other(root: Path, tmp_path: Path) -> None:
    """It has an index of its own, and shares the objects."""
    said(root, "worktree", "add", "-q", str(tmp_path / "linked"))
    assert found(tmp_path / "linked") == found(root)


def test_where_there_is_no_repository_there_is_no_tree(tmp_path: Path) -> None:
    """And no error."""
    assert look(tmp_path) is None
