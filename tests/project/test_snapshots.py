"""Snapshots of real repositories: right content, nothing of the user's touched. `Repository.take` checks the latter."""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path

import pytest

from claude_iterate.project import snapshots
from claude_iterate.project.git import GitProblem
from claude_iterate.project.snapshots import Snapshots, ref_name
from tests.project.repository import Repository

pytestmark = pytest.mark.needs_git


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "project")
    made.write(a="one\n", b="two\n")
    (made.root / "deep" / "er").mkdir(parents=True)
    (made.root / "deep" / "er" / "c").write_text("three\n")
    made.commit()
    return made


def test_every_kind_of_change_is_in_the_tree(repository: Repository) -> None:
    """Edited, staged, untracked, deleted, executable, link, broken link; and the differences name each."""
    before = repository.take()
    root = repository.root
    (root / "a").write_text("edited\n")
    (root / "deep" / "er" / "c").write_text("staged\n")
    repository.git("add", "deep")
    (root / "b").unlink()
    (root / "new").write_text("new\n")
    (root / "new").chmod(0o755)
    (root / "link").symlink_to("a")
    (root / "broken").symlink_to("nowhere")
    after = repository.take()
    assert repository.files(after.tree) == {
        "a": "edited", "deep/er/c": "staged", "new": "new", "link": "a", "broken": "nowhere"
    }  # fmt: skip
    assert repository.snapshots.differences(before.tree, after.tree) == {
        "a": "M", "b": "D", "broken": "A", "deep/er/c": "M", "link": "A", "new": "A"
    }  # fmt: skip
    assert repository.git("ls-tree", after.tree, "new").startswith("100755")


def test_a_ref_holds_each_snapshot(repository: Repository) -> None:
    """It names workspace, run and number, points at a tree, and survives the collection of garbage."""
    (repository.root / "a").write_text("only in the snapshot\n")
    taken = repository.take()
    assert taken.ref == "refs/claude-iterate/t/000001-x/0001"
    (repository.root / "a").write_text("one\n")
    repository.git("gc", "-q", "--prune=now")
    assert repository.git("cat-file", "-t", taken.ref) == "tree"
    assert repository.files(taken.tree)["a"] == "only in the snapshot"
    assert "claude-iterate" not in repository.git("log", "--all", "--oneline", "--decorate")


def test_commits_are_counted(repository: Repository) -> None:
    """The tree is as clean as before, and the commits between two snapshots are known; an amended one counts once."""
    before = repository.take()
    for text in ("1", "2"):
        repository.write(a=text)
        repository.commit(text)
    after = repository.take()
    assert after.branch == "main"
    assert repository.snapshots.count_commits(before.head, after.head) == 2
    repository.git("commit", "-q", "--amend", "--allow-empty", "-m", "other")
    assert repository.snapshots.count_commits(after.head, repository.take().head) == 1


def test_commits_of_our_own_files_do_not_count(repository: Repository) -> None:
    """An agent that commits all it finds in each iteration commits the summary that the run keeps."""
    before = repository.take()
    ours = repository.root / "claude-iterate" / ".metadata.json"
    ours.parent.mkdir(exist_ok=True)
    for text in ("1", "2"):
        ours.write_text(text)
        repository.commit()
    after = repository.take()
    assert repository.snapshots.count_commits(before.head, after.head) == 0
    ours.write_text("3")
    repository.write(a="work")
    repository.commit("both")
    assert repository.snapshots.count_commits(before.head, repository.take().head) == 1


def test_a_merge_counts_if_it_brings_work_from_either_side(repository: Repository) -> None:
    """Git lists its files once for each parent; that only our own files differ from one of them says nothing."""
    ours = repository.root / "claude-iterate" / ".metadata.json"
    ours.parent.mkdir(exist_ok=True)
    repository.git("checkout", "-q", "-b", "side")
    repository.write(a="work")
    repository.commit()
    repository.git("checkout", "-q", "main")
    ours.write_text("1")
    repository.commit()
    before = repository.take()
    repository.git("merge", "-q", "--no-ff", "-m", "merge", "side")
    after = repository.take()
    assert repository.snapshots.count_commits(before.head, after.head) == 2


def test_ignored_files_are_never_captured(repository: Repository) -> None:
    """Neither `.env` nor node_modules; what is tracked although it is ignored is, also if it was forced later."""
    repository.write(**{".gitignore": ".env\nnode_modules/\n*.dat\n", ".env": "KEY=1", "kept.dat": "1"})
    (repository.root / "node_modules").mkdir()
    (repository.root / "node_modules" / "x").write_text("x")
    repository.git("add", "--force", "kept.dat", ".gitignore")
    first = repository.files(repository.take().tree)
    assert {"kept.dat", ".gitignore"} <= first.keys()
    assert not {".env", "node_modules/x"} & first.keys()
    repository.write(**{"late.dat": "2", "kept.dat": "3"})
    repository.git("add", "--force", "late.dat")
    second = repository.files(repository.take().tree)
    assert (second["late.dat"], second["kept.dat"]) == ("2", "3")


def test_what_becomes_ignored_leaves(repository: Repository) -> None:
    """A file that was captured and is ignored by now is not in later snapshots."""
    repository.write(output="1")
    assert "output" in repository.files(repository.take().tree)
    repository.write(**{".gitignore": "output\n", "output": "2"})
    repository.git("add", ".gitignore")
    assert "output" not in repository.files(repository.take().tree)


def test_hooks_and_signatures_are_not_asked_for(repository: Repository, tmp_path: Path) -> None:
    """No hook, no fsmonitor, no gpg, no identity."""
    marker = tmp_path / "fired"
    hooks = repository.git_folder / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-index-change", "reference-transaction", "pre-commit"):
        (hooks / name).write_text(f"#!/bin/sh\necho {name} >> {marker}\n")
        (hooks / name).chmod(0o755)
    (tmp_path / "monitor").write_text(f"#!/bin/sh\necho monitor >> {marker}\n")
    (tmp_path / "monitor").chmod(0o755)
    repository.git("config", "core.fsmonitor", str(tmp_path / "monitor"))
    repository.git("config", "commit.gpgsign", "true")
    repository.git("config", "gpg.program", "/bin/false")
    marker.unlink(missing_ok=True)
    repository.write(a="changed")
    repository.take()
    assert not marker.exists()


def test_a_branch_without_commits(tmp_path: Path) -> None:
    """There is no HEAD, and maybe no index; untracked files are captured, and so is what is staged."""
    repository = Repository(tmp_path / "project")
    repository.write(a="1")
    first = repository.take()
    assert (first.head, first.branch, repository.files(first.tree)) == ("", "main", {"a": "1"})
    repository.git("add", "a")
    repository.write(b="2")
    assert repository.files(repository.take().tree) == {"a": "1", "b": "2"}
    repository.commit()
    after = repository.take()
    assert repository.snapshots.count_commits("", after.head) == 1


def test_a_detached_head(repository: Repository) -> None:
    """There is no branch."""
    repository.git("checkout", "-q", "--detach")
    taken = repository.take()
    assert (taken.head, taken.branch) == (repository.git("rev-parse", "HEAD"), "")


def test_in_the_middle_of_a_merge(repository: Repository) -> None:
    """What is on disk is captured, with its marks of conflict; the merge stays under way."""
    repository.git("checkout", "-q", "-b", "other")
    repository.write(a="theirs\n")
    repository.commit()
    repository.git("checkout", "-q", "main")
    repository.write(a="ours\n")
    repository.commit()
    repository.git("merge", "-q", "other", ok=False)
    assert "<<<<<<<" in repository.files(repository.take().tree)["a"]
    assert repository.git("status", "--porcelain") == "UU a"
    (repository.root / "a").unlink()
    assert "a" not in repository.files(repository.take().tree)


def test_a_submodule_is_its_commit(repository: Repository, tmp_path: Path) -> None:
    """Files inside do not count; another commit does."""
    inner = Repository(tmp_path / "inner")
    inner.write(x="1")
    inner.commit()
    repository.git("submodule", "-q", "add", str(inner.top), "module")
    repository.commit()
    before = repository.take()
    (repository.root / "module" / "x").write_text("dirty")
    assert repository.take().tree == before.tree
    repository.git("commit", "-qam", "y", where=repository.root / "module")
    after = repository.take()
    assert repository.snapshots.differences(before.tree, after.tree) == {"module": "M"}


@pytest.mark.parametrize("committed", [True, False])
def test_a_repository_inside_is_left_alone(repository: Repository, committed: bool) -> None:
    """It is named and left out, with or without commits."""
    nested = Repository(repository.root / "nested")
    nested.write(x="1")
    if committed:
        nested.commit()
    taken = repository.take()
    assert taken.left_out == {"nested/": "a repository of its own"}
    assert not any(path.startswith("nested") for path in repository.files(taken.tree))
    assert (repository.root / "nested" / ".git").is_dir()


NAMES = [
    b"new\nline", b'quo"te', b"-dash", b"\xff\xfe broken", b"trailing ", b"x" * 255, b"glob*[a]?", b":(exclude)a",
    b":(top)", "umläut".encode(), b"back\\slash", b"\t",
]  # fmt: skip


def test_any_name_is_captured(repository: Repository) -> None:
    """Newlines, quotes, dashes, broken UTF-8, patterns of git."""
    before = repository.take()
    for number, name in enumerate(NAMES):
        Path(os.fsdecode(os.path.join(os.fsencode(repository.root), name))).write_text(str(number))
    after = repository.take()
    found = repository.snapshots.differences(before.tree, after.tree)
    assert {os.fsencode(path): how for path, how in found.items()} == dict.fromkeys(NAMES, "A")


def test_files_become_folders_and_back(repository: Repository) -> None:
    """A file in the place of a folder, a folder in the place of a file, a link in the place of both."""
    repository.take()
    (repository.root / "a").unlink()
    (repository.root / "a").mkdir()
    (repository.root / "a" / "inside").write_text("1")
    shutil.rmtree(repository.root / "deep")
    (repository.root / "deep").write_text("2")
    assert repository.files(repository.take().tree) == {"a/inside": "1", "b": "two", "deep": "2"}
    shutil.rmtree(repository.root / "a")
    (repository.root / "a").symlink_to("b")
    assert repository.files(repository.take().tree) == {"a": "b", "b": "two", "deep": "2"}


def test_pipes_and_sockets_are_passed_over(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading them would wait for ever."""
    before = repository.take()
    os.mkfifo(repository.root / "pipe")
    monkeypatch.chdir(repository.root)  # the name of a socket must be short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        assert repository.take().tree == before.tree


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything: run as a normal user")
def test_an_unreadable_file_is_named(repository: Repository) -> None:
    """The rest is captured."""
    repository.write(closed="1", open="2")
    (repository.root / "closed").chmod(0)
    taken = repository.take()
    assert list(taken.left_out) == ["closed"]
    assert "open" in repository.files(taken.tree)


def test_large_files_are_named_and_not_read(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """New ones over a bound, and known ones over a higher one. Their changes are seen by their marks."""
    monkeypatch.setattr(snapshots, "LARGEST_NEW", 100)
    monkeypatch.setattr(snapshots, "LARGEST_CHANGED", 200)
    repository.write(new="x" * 101, a="y" * 201, b="z" * 150)
    taken = repository.take()
    assert sorted(taken.left_out) == ["a", "new"]
    assert sorted(taken.marks) == ["a", "new"]
    found = repository.files(taken.tree)
    assert (found["a"], found["b"]) == ("one", "z" * 150)


def test_too_many_files_cost_their_folder_only(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fullest folder is left out and named; the rest is captured."""
    monkeypatch.setattr(snapshots, "MOST_NEW", 20)
    (repository.root / "out" / "deep").mkdir(parents=True)
    for number in range(30):
        (repository.root / "out" / "deep" / str(number)).write_text("")
    repository.write(new="1")
    taken = repository.take()
    assert taken.left_out == {"out/deep/": "30 new files"}
    assert "new" in repository.files(taken.tree)


def test_too_many_bytes_cost_their_folder_only(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the files stand at the top."""
    monkeypatch.setattr(snapshots, "MOST_BYTES", 1000)
    repository.write(large="x" * 900, other="x" * 200)
    taken = repository.take()
    assert "large" not in repository.files(taken.tree)
    assert taken.left_out


@pytest.mark.parametrize("name", [".env", ".env.local", "server.pem", "id_rsa", ".npmrc"])
def test_secrets_stay_out_of_the_repository(repository: Repository, name: str) -> None:
    """A new file with the name of a secret is named and left out; `.env.example` is none."""
    repository.write(**{name: "secret", ".env.example": "KEY="})
    taken = repository.take()
    assert taken.left_out == {name: "looks secret"}
    assert ".env.example" in repository.files(taken.tree)


def test_line_ends_are_no_obstacle(repository: Repository) -> None:
    """Neither `eol=crlf` nor `safecrlf`."""
    repository.git("config", "core.safecrlf", "true")
    repository.git("config", "core.autocrlf", "true")
    repository.write(**{".gitattributes": "*.txt text eol=crlf\n"})
    (repository.root / "x.txt").write_bytes(b"1\n2\n")
    (repository.root / "y").write_bytes(b"1\n2\r\n")
    assert {"x.txt", "y"} <= repository.files(repository.take().tree).keys()


def test_filters_are_applied_and_a_missing_one_costs_its_file(repository: Repository) -> None:
    """What git would store is stored, as with Git LFS; a required filter that fails names the file."""
    repository.git("config", "filter.upper.clean", "tr a-z A-Z")
    repository.git("config", "filter.gone.clean", "no-such-program")
    repository.git("config", "filter.gone.required", "true")
    repository.write(**{".gitattributes": "*.up filter=upper\n*.gone filter=gone\n", "x.up": "abc", "y.gone": "abc"})
    taken = repository.take()
    assert list(taken.left_out) == ["y.gone"]
    assert repository.files(taken.tree)["x.up"] == "ABC"


def test_absent_files_of_a_sparse_checkout_are_no_deletions(repository: Repository) -> None:
    """Also when the sparse set changes between two snapshots."""
    before = repository.take()
    repository.git("sparse-checkout", "set", "--no-cone", "/a")
    assert not (repository.root / "b").exists()
    assert repository.take().tree == before.tree
    repository.git("sparse-checkout", "disable")
    assert repository.take().tree == before.tree


def test_shallow_and_partial_clones(repository: Repository, tmp_path: Path) -> None:
    """Nothing has to be fetched, even if the origin is gone."""
    repository.write(a="2")
    repository.commit()
    repository.git("config", "uploadpack.allowFilter", "true")
    for number, flags in enumerate((["--depth", "1"], ["--filter=blob:none"])):
        target = tmp_path / f"clone{number}"
        repository.git("clone", "-q", *flags, f"file://{repository.top}", str(target))
        clone = Repository(target)
        clone.git("remote", "set-url", "origin", str(tmp_path / "gone"))
        clone.write(a="3", new="4")
        found = clone.take()
        assert clone.snapshots.differences(clone.git("rev-parse", "HEAD^{tree}"), found.tree) == {"a": "M", "new": "A"}


def test_linked_worktrees_have_an_index_each(repository: Repository, tmp_path: Path) -> None:
    """Two projects of one repository, on two branches, at the same time."""
    repository.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    side = Repository(tmp_path / "side")
    side.write(a="side\n")
    repository.write(b="main\n")
    mine, theirs = repository.take(), side.take()
    assert (mine.branch, theirs.branch) == ("main", "side")
    assert (repository.files(mine.tree)["a"], repository.files(mine.tree)["b"]) == ("one", "main")
    assert (side.files(theirs.tree)["a"], side.files(theirs.tree)["b"]) == ("side", "two")


def test_a_project_in_a_sub_folder(tmp_path: Path) -> None:
    """Work beside it does not count, and paths are relative to the project."""
    repository = Repository(tmp_path / "top", "packages/one")
    repository.write(a="1")
    (repository.top / "beside").write_text("1")
    repository.commit()
    before = repository.take()
    (repository.top / "beside").write_text("2")
    (repository.top / "new").write_text("2")
    repository.write(new="1")
    (repository.root / "claude-iterate").mkdir()
    (repository.root / "claude-iterate" / "log").write_text("ours")
    after = repository.take()
    assert repository.snapshots.differences(before.tree, after.tree) == {"new": "A"}
    repository.commit()
    assert repository.snapshots.differences(before.tree, repository.take().tree) == {"new": "A"}


def test_locks_and_torn_files_are_survived(repository: Repository) -> None:
    """A lock on the user's index, a lock and a torn index of a killed run of ours."""
    repository.write(a="2")
    (repository.git_folder / "index.lock").write_bytes(b"")
    first = repository.take()
    own = repository.git_folder / "claude-iterate" / "t.index"
    own.write_bytes(b"DIRC torn")
    own.with_name("t.index.lock").write_bytes(b"")
    repository.again()
    assert repository.take().tree == first.tree


def test_a_snapshot_does_not_fill_the_disk(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it would leave too little, nothing is written and it says so; with space again, nothing is missed."""
    before = repository.take()
    (repository.root / "b").unlink()
    (repository.root / "large").write_bytes(b"x" * 5_000_000)
    objects = repository.git("count-objects")
    about = os.statvfs(repository.root)
    monkeypatch.setattr(os, "statvfs", lambda _folder: about)  # other programs write and delete all the time
    free = about.f_bavail * about.f_frsize
    for least in (free * 2, free - 4_000_000):  # by itself, and with what is new
        monkeypatch.setattr(snapshots, "MIN_FREE", least)
        with pytest.raises(GitProblem, match="of the disk free"):
            repository.take()
    assert repository.git("count-objects") == objects
    monkeypatch.undo()
    after = repository.take()
    assert repository.snapshots.differences(before.tree, after.tree) == {"b": "D", "large": "A"}


def test_a_torn_index_of_our_own_store_is_made_again(repository: Repository, tmp_path: Path) -> None:
    """A crash of the computer may leave it: no later run could look at the project, or it would see too few files."""
    store = tmp_path / "snapshots.git"
    whole = Snapshots(repository.place(), dict(os.environ), store).take("0001").tree
    (index,) = store.glob("claude-iterate/*.index")
    index.write_bytes(index.read_bytes()[:-30])
    assert Snapshots(repository.place(), dict(os.environ), store).take("0002").tree == whole


def test_variables_of_a_git_around_us_do_not_count(repository: Repository, tmp_path: Path) -> None:
    """A run that is started from a hook finds its own project."""
    environ = repository.environ | {"GIT_DIR": str(tmp_path / "gone"), "GIT_INDEX_FILE": str(tmp_path / "index")}
    taken = Snapshots(repository.place(), environ).take("0001")
    assert taken.head == repository.git("rev-parse", "HEAD")


@pytest.mark.parametrize(("flag", "mark"), [("--assume-unchanged", "h"), ("--skip-worktree", "S")])
def test_files_that_git_was_told_not_to_look_at(repository: Repository, flag: str, mark: str) -> None:
    """They are looked at all the same, but for those that were skipped because they are not there; intended additions
    are captured."""
    repository.git("update-index", flag, "a")
    repository.git("update-index", "--skip-worktree", "b")
    (repository.root / "b").unlink()
    repository.write(a="changed", new="1")
    repository.git("add", "--intent-to-add", "new")
    found = repository.files(repository.take().tree)
    assert (found["a"], found["b"], found["new"]) == ("changed", "two", "1")
    assert repository.git("ls-files", "-v", "a") == f"{mark} a"


def test_a_split_index(repository: Repository) -> None:
    """The shared part is found."""
    repository.git("update-index", "--split-index")
    repository.write(a="2", new="1")
    found = repository.files(repository.take().tree)
    assert (found["a"], found["b"], found["new"]) == ("2", "two", "1")


def test_names_of_256_bits(tmp_path: Path) -> None:
    """A repository with SHA-256."""
    repository = Repository(tmp_path / "project", "", "--object-format=sha256")
    repository.write(a="1")
    repository.commit()
    assert len(repository.take().tree) == 64


def test_modes_are_ignored_where_git_ignores_them(repository: Repository) -> None:
    """`core.fileMode = false`."""
    repository.git("config", "core.fileMode", "false")
    before = repository.take()
    (repository.root / "a").chmod(0o755)
    assert repository.take().tree == before.tree


def test_uncommitted_work_outlives_what_an_agent_does(repository: Repository) -> None:
    """`reset --hard`, `clean -fdx` and `gc --prune=now` take nothing from a snapshot."""
    repository.write(a="work", new="more work")
    taken = repository.take()
    repository.git("reset", "-q", "--hard")
    repository.git("clean", "-qfdx")
    repository.git("reflog", "expire", "--expire=now", "--all")
    repository.git("gc", "-q", "--prune=now")
    found = repository.files(taken.tree)
    assert (found["a"], found["new"]) == ("work", "more work")


@pytest.mark.parametrize("name", ["a..b", "x.lock", "dot.", "a.b"])
def test_any_workspace_name_makes_a_ref(repository: Repository, name: str) -> None:
    """Some names of workspaces are no names of refs."""
    repository.again(workspace=name)
    taken = repository.take()
    assert repository.git("rev-parse", f"refs/claude-iterate/{ref_name(name)}/000001-x/0001") == taken.tree


def test_our_own_files(repository: Repository) -> None:
    """They are no work; those that a later look needs are in the tree, even if they are ignored."""
    workspace = repository.root / "claude-iterate" / "workspaces" / "t"
    workspace.mkdir(parents=True)
    repository.write(**{".gitignore": "claude-iterate/\n"})
    repository.again(kept=("claude-iterate/workspaces/t/TODO.md",))
    before = repository.take()
    (workspace / "TODO.md").write_text("- [x] one\n")
    (workspace / "iterate.log").write_text("log")
    after = repository.take()
    assert repository.files(after.tree)["claude-iterate/workspaces/t/TODO.md"] == "- [x] one"
    assert not any(path.endswith(".log") for path in repository.files(after.tree))
    assert repository.snapshots.differences(before.tree, after.tree) == {}


def test_what_the_user_does_not_want_to_count(repository: Repository) -> None:
    """Patterns as in .gitignore, for untracked and for tracked files."""
    repository.again(ignore=("*.out", "deep/"))
    before = repository.take()
    repository.write(a="2", **{"x.out": "1"})
    (repository.root / "deep" / "er" / "c").write_text("changed")
    assert repository.snapshots.differences(before.tree, repository.take().tree) == {"a": "M"}


def test_a_file_that_vanishes_meanwhile(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the list and the look at it, or between that and git's reading."""
    repository.write(new="1")
    judged = snapshots.choose

    def slow(top: str, new: list[str], changed: list[str]) -> snapshots.Choice:
        found = judged(top, new, changed)
        (repository.root / "new").unlink(missing_ok=True)
        return found

    monkeypatch.setattr("claude_iterate.project.snapshots.choose", slow)
    assert repository.files(repository.take().tree).keys() == {"a", "b", "deep/er/c"}


def test_no_work_tree_is_a_problem(tmp_path: Path) -> None:
    """A bare repository, or none at all, and a folder of git's that cannot be written."""
    with pytest.raises(GitProblem):
        Repository(tmp_path / "bare", "", "--bare").take()
    repository = Repository(tmp_path / "other")
    (repository.git_folder / "claude-iterate").write_text("in the way")
    with pytest.raises(GitProblem):
        repository.take()


def test_no_git_is_a_problem(repository: Repository) -> None:
    """With what the system says."""
    with pytest.raises(GitProblem, match="cannot be started"):
        Snapshots(repository.place(), {"PATH": "/nonexistent"})
