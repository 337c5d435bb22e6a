"""What changed between two looks: in a repository, in a store of our own, and without git."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from claude_iterate.project import project_work, scan
from claude_iterate.project.project_work import Work
from claude_iterate.project.snapshots import Place
from tests.project.repository import Repository, clean_environment

Making = Callable[..., Work]


@pytest.fixture(params=["git", "store", "files"])
def work(request: pytest.FixtureRequest, tmp_path: Path) -> Work:
    """The same project in each way to look at it."""
    root = tmp_path / "project"
    root.mkdir()
    how: str = request.param
    if how != "files" and not any(os.access(f"{folder}/git", os.X_OK) for folder in os.environ["PATH"].split(":")):
        pytest.skip("there is no git: install it (on Debian and Ubuntu: apt install git)")
    if how == "git":
        Repository(root)
    (root / "src" / "deep").mkdir(parents=True)
    (root / "src" / "deep" / "a").write_text("1234\n")
    (root / "b").write_text("b\n")
    (root / ".gitignore").write_text("*.tmp\n")
    made = of(root, "files" if how == "files" else "auto")
    made.look(0)
    return made


def of(root: Path, wanted: str, **more: object) -> Work:
    values = {"root": root, "workspace": "t", "run": "000001-x", "own": ("claude-iterate/",)} | more
    environ = clean_environment(root.parent)
    return Work(Place(**values), environ, wanted, root / "claude-iterate" / "snapshots.git")  # type: ignore[arg-type]


def root_of(work: Work) -> Path:
    return work._place.root


def test_the_first_look_compares_with_nothing(tmp_path: Path) -> None:
    """What changed is not known, which is another thing than nothing."""
    assert of(tmp_path, "files").look(0).changes is None


def test_nothing_changed(work: Work) -> None:
    """Neither by touching a file, nor by a change that is taken back, nor in our own folder or an ignored file."""
    root = root_of(work)
    os.utime(root / "b", (1, 1))
    (root / "src" / "deep" / "a").write_text("12345\n")
    (root / "src" / "deep" / "a").write_text("1234\n")
    (root / "claude-iterate").mkdir(exist_ok=True)
    (root / "claude-iterate" / "log").write_text("log")
    (root / "x.tmp").write_text("x")
    assert work.look(1).changes == {}


def test_created_modified_deleted(work: Work) -> None:
    """Each file by what happened to it; the next look begins from there."""
    root = root_of(work)
    (root / "new").write_text("n")
    (root / "b").unlink()
    (root / "src" / "deep" / "a").write_text("other\n")
    assert work.look(1).changes == {"new": "A", "b": "D", "src/deep/a": "M"}
    assert work.look(2).changes == {}


def test_an_edit_of_the_same_size_and_time(work: Work) -> None:
    """Deep in a folder, with its old time put back."""
    path = root_of(work) / "src" / "deep" / "a"
    before = path.stat()
    path.write_text("4321\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert work.look(1).changes == {"src/deep/a": "M"}


def test_mode_and_kind(work: Work) -> None:
    """A file that becomes executable, and one that becomes a link, changed."""
    root = root_of(work)
    (root / "src" / "deep" / "a").chmod(0o755)
    (root / "b").unlink()
    (root / "b").symlink_to("src/deep/a")
    assert work.look(1).changes == {"src/deep/a": "M", "b": "M"}


@pytest.mark.needs_git
def test_a_commit_counts_although_the_tree_is_clean(tmp_path: Path) -> None:
    """And the look says on which branch."""
    repository = Repository(tmp_path / "project")
    repository.write(a="1")
    repository.commit()
    work = of(repository.root, "auto")
    work.look(0)
    repository.write(a="2")
    repository.commit()
    look = work.look(1)
    assert (look.how, look.changes, look.commits, look.branch) == ("git", {"a": "M"}, 1, "main")
    assert look.head == repository.git("rev-parse", "HEAD")


@pytest.mark.needs_git
def test_files_that_are_left_out_are_seen_by_their_marks(tmp_path: Path) -> None:
    """A secret is not stored, and its change is one all the same."""
    repository = Repository(tmp_path / "project")
    repository.commit()
    work = of(repository.root, "auto")
    work.look(0)
    repository.write(**{".env": "A=1"})
    first = work.look(1)
    assert (first.changes, first.left_out) == ({".env": "A"}, ((".env", "looks secret"),))
    repository.write(**{".env": "A=22"})
    assert work.look(2).changes == {".env": "M"}
    (repository.root / ".env").unlink()
    assert work.look(3).changes == {".env": "D"}


@pytest.mark.needs_git
def test_the_store_hides_itself(tmp_path: Path) -> None:
    """A repository that is made later does not see it, and is used from the next run on."""
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "a").write_text("1")
    work = of(tmp_path / "project", "auto")
    assert work.look(0).how == "store"
    repository = Repository(tmp_path / "project")
    assert repository.git("status", "--porcelain") == "?? a"
    assert of(tmp_path / "project", "auto").look(0).how == "git"


def test_more_files_than_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not known, instead of half of the truth."""
    monkeypatch.setattr(scan, "MOST_FILES", 2)
    for name in "abc":
        (tmp_path / name).write_text(name)
    work = of(tmp_path, "files")
    work.look(0)
    look = work.look(1)
    assert look.changes is None
    assert "files" in look.problem


@pytest.mark.needs_git
@pytest.mark.parametrize("kind", ["nested", "submodule"])
def test_work_in_a_repository_inside_is_seen(tmp_path: Path, kind: str) -> None:
    """Git does not look into it, but an agent may work there and nowhere else."""
    repository = Repository(tmp_path / "project")
    repository.commit()
    inner = Repository(tmp_path / "other") if kind == "submodule" else Repository(repository.root / "inner")
    inner.write(a="1")
    inner.commit()
    if kind == "submodule":
        repository.git("submodule", "add", "-q", str(inner.top), "inner")
        repository.commit()
    work = of(repository.root, "auto")
    work.look(0)
    assert work.look(1).changes == {}
    (repository.root / "inner" / "a").write_text("2")
    assert work.look(2).changes == {"inner/a": "M"}


@pytest.mark.needs_git
def test_a_project_that_the_repository_around_it_ignores_is_scanned(tmp_path: Path) -> None:
    """That repository knows nothing of its files, so by it no change would ever be seen."""
    repository = Repository(tmp_path / "home", "project")
    (repository.top / ".gitignore").write_text("/project/\n")
    repository.commit()
    work = of(repository.root, "auto")
    assert work.look(0).how == "store"
    repository.write(a="1")
    assert work.look(1).changes == {"a": "A"}


@pytest.mark.needs_git
def test_a_branch_that_was_only_switched_to_has_no_new_commits(tmp_path: Path) -> None:
    """Its commits were made long before; one that is made on it counts."""
    repository = Repository(tmp_path / "project")
    repository.commit()
    repository.git("checkout", "-q", "-b", "old")
    old = repository.environ
    repository.environ = old | {"GIT_COMMITTER_DATE": "2020-01-01T00:00:00Z"}
    for _ in range(3):
        repository.commit()
    repository.environ = old
    repository.git("checkout", "-q", "main")
    work = of(repository.root, "auto")
    work.look(0)
    repository.git("checkout", "-q", "old")
    assert work.look(1).commits == 0
    repository.commit()
    assert work.look(2).commits == 1


@pytest.mark.needs_git
def test_other_checkouts_count_their_runs_for_themselves(tmp_path: Path) -> None:
    """The oldest by time lose their snapshots, whatever their number; the run under way never does."""
    repository = Repository(tmp_path / "project")
    repository.commit()
    for number in range(10, 15):
        of(repository.root, "auto", run=f"0000{number}-20260{number - 9}01-x").look(0)
    work = of(repository.root, "auto", run="000001-20261101-x")
    work.begin(0, None)
    refs = repository.git("for-each-ref", "--format=%(refname)", "refs/claude-iterate").split("\n")
    assert [ref.split("/")[3][:6] for ref in refs] == ["000001", "000011", "000012", "000013", "000014"]


@pytest.mark.needs_git
def test_a_large_project_outside_git_is_not_stored_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is scanned, and its changes are known all the same."""
    monkeypatch.setattr(project_work, "MOST_STORED", 2)
    root = tmp_path / "project"
    root.mkdir()
    for name in "abc":
        (root / name).write_text(name)
    work = of(root, "auto")
    work.look(0)
    (root / "a").write_text("other")
    assert (work.look(1).changes, work.look(2).how) == ({"a": "M"}, "files")
    assert not (root / "claude-iterate").exists()


def test_an_empty_project_outside_git_costs_no_process(tmp_path: Path) -> None:
    """There is nothing to keep, so no store is made."""
    work = of(tmp_path, "auto")
    assert (work.look(0).tree, work.look(1).changes) == ("", {})
    assert list(tmp_path.iterdir()) == []
