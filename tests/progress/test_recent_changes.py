"""Whether the project changed since a moment."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from claude_iterate.progress import recent_changes
from claude_iterate.progress.project_state import counting
from claude_iterate.progress.recent_changes import changed_since


def git(root: Path, *arguments: str) -> None:
    who = [word for part in ("name", "email") for word in ("-c", f"user.{part}=t")]
    nothing = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    subprocess.run(["git", *who, *arguments], cwd=root, env=os.environ | nothing, check=True, capture_output=True)


def moment_after(root: Path) -> int:
    """A moment of the file system that is later than all that was written so far."""
    mark = root.parent / "mark"
    newest = max(path.lstat().st_ctime_ns for path in (root, *root.rglob("*")))
    while True:  # its clock is coarse
        mark.write_text("x")
        if (now := mark.stat().st_mtime_ns) > newest:
            return now


@pytest.fixture(params=["git", "below", "plain"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A project: a repository, a folder of one, or neither."""
    top = tmp_path / "top"
    project = top / "project" if request.param == "below" else top
    (project / "source" / "deep").mkdir(parents=True)
    (project / "source" / "a.txt").write_text("a")
    (project / "source" / "deep" / "b.txt").write_text("b")
    (project / "workspaces" / "t").mkdir(parents=True)
    (project / ".gitignore").write_text("*.log\n")
    if request.param != "plain":
        git(top, "init", "-q")
        git(top, "add", "-A")
        git(top, "commit", "-q", "-m", "begin")
    return project


def changed(root: Path, moment: int, *also: Path) -> bool:
    return changed_since(root, moment, counting(root, [root / "workspaces"]), also)


CHANGES: dict[str, Callable[[Path], object]] = {
    "written": lambda root: (root / "source" / "a.txt").write_text("c"),
    "made": lambda root: (root / "source" / "deep" / "new.txt").write_text("new"),
    "deleted": lambda root: (root / "source" / "a.txt").unlink(),
    "folder-deleted": lambda root: shutil.rmtree(root / "source"),
    "mode": lambda root: (root / "source" / "a.txt").chmod(0o755),
    "link": lambda root: (root / "link").symlink_to("nowhere"),
    "odd-name": lambda root: (root / 'o"d\nd').write_text("x"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_is_seen(root: Path, change: Callable[[Path], object]) -> None:
    """Of content, of names, of modes; and none is seen where there is none."""
    moment = moment_after(root)
    assert not changed(root, moment)
    change(root)
    assert changed(root, moment)


def test_our_own_files_and_caches_do_not_count(root: Path) -> None:
    """They change all the time; but the list of steps counts, and what Claude keeps in its folder."""
    moment = moment_after(root)
    own = root / "workspaces" / "t"
    (own / "journal").write_text("x")
    if (root / ".git").exists():  # without git, a new name in a folder is a change of the folder
        (root / "source" / "deep" / ".coverage").write_text("x")
    assert not changed(root, moment, own / "TODO.md", own / "working")
    (own / "TODO.md").write_text("- [x] one")
    assert changed(root, moment, own / "TODO.md")
    (own / "working").mkdir()
    moment = moment_after(root)
    assert not changed(root, moment, own / "TODO.md", own / "working")
    (own / "working" / "notes").write_text("x")
    assert changed(root, moment, own / "working")


def test_what_git_ignores_does_not_count_and_an_empty_commit_does(tmp_path: Path) -> None:
    """Logs are written by programs; a commit is work, also if no file changed with it."""
    root = tmp_path / "project"
    root.mkdir()
    git(root, "init", "-q")
    (root / ".gitignore").write_text("*.log\n")
    moment = moment_after(root)
    (root / "a.log").write_text("x")
    assert not changed(root, moment)
    git(root, "commit", "-q", "--allow-empty", "-m", "x", "--date=@1")
    assert changed(root, moment - 1_000_000_000)


def test_a_change_in_a_submodule_is_seen(tmp_path: Path) -> None:
    """Git names only its folder."""
    root, other = tmp_path / "project", tmp_path / "other"
    for folder in (root, other):
        folder.mkdir()
        git(folder, "init", "-q")
    (other / "a").write_text("a")
    git(other, "add", "-A")
    git(other, "commit", "-q", "-m", "x")
    git(root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "inner")
    moment = moment_after(root)
    assert not changed(root, moment)
    (root / "inner" / "a").write_text("b")
    assert changed(root, moment)


def test_too_much_to_look_at_counts_as_a_change(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not known must not end a run."""
    moment = moment_after(root)
    monkeypatch.setattr(recent_changes, "_MOST", 1)
    assert changed(root, moment)
