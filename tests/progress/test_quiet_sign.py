"""Git is not asked where nothing changed, and never left out where something did."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from claude_iterate.progress.last_look import quiet_sign
from claude_iterate.progress.places import Place
from claude_iterate.progress.project_work import Look, Work
from tests.progress.repository import Repository

pytestmark = pytest.mark.needs_git
KEPT = "claude-iterate/INSTRUCTIONS.md"


class Watched:
    """A repository whose looks are made with a git that notes each call."""

    def __init__(self, folder: Path) -> None:
        self.repository = Repository(folder / "project")
        self.root = self.repository.root
        self.repository.write(b="bbbb\n", c="c\n", **{".gitignore": "*.tmp\nclaude-iterate/\n"})
        (self.root / "src" / "deep").mkdir(parents=True)
        (self.root / "src" / "deep" / "a").write_text("1234\n")
        (self.root / "link").symlink_to("b")
        self.repository.commit()
        (self.root / KEPT).parent.mkdir()
        (self.root / KEPT).write_text("task")
        self._calls = folder / "calls"
        real, programs = shutil.which("git"), folder / "programs"
        programs.mkdir()
        (programs / "git").write_text(f'#!/bin/sh\necho call >> "{self._calls}"\nexec "{real}" "$@"\n')
        (programs / "git").chmod(0o755)
        environ = self.repository.environ | {"PATH": f"{programs}:{os.environ['PATH']}"}
        place = Place(self.root, "t", "000001-x", ("claude-iterate/",), (KEPT,))
        self.work = Work(place, environ, "auto", folder / "store")
        self._looks = 0

    def look(self) -> tuple[Look, int]:
        """What is found, and how often git was called for it."""
        self._calls.write_text("")
        self._looks += 1
        return self.work.look(self._looks), len(self._calls.read_text().splitlines())

    def settle(self) -> Look:
        """Look until git is not asked any more: first the last change has to be old enough."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            found, calls = self.look()
            if calls == 0:
                return found
            time.sleep(0.02)
        raise AssertionError("git is asked each time")


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(tmp_path)


def same_size_and_time(watched: Watched) -> None:
    about = (watched.root / "b").stat()
    (watched.root / "b").write_text("BBBB\n")
    os.utime(watched.root / "b", ns=(about.st_atime_ns, about.st_mtime_ns))


def replaced(watched: Watched) -> None:
    other = watched.root / "other.tmp"
    other.write_text("BBBB\n")
    other.replace(watched.root / "b")


def relinked(watched: Watched) -> None:
    (watched.root / "link").unlink()
    (watched.root / "link").symlink_to("c")


CHANGES: dict[str, tuple[Callable[[Watched], object], dict[str, str]]] = {
    "edited, with the same size and time": (same_size_and_time, {"b": "M"}),
    "replaced": (replaced, {"b": "M"}),
    "deleted": (lambda watched: (watched.root / "b").unlink(), {"b": "D"}),
    "new, deep": (lambda watched: (watched.root / "src" / "deep" / "n").write_text("n"), {"src/deep/n": "A"}),
    "made a program": (lambda watched: (watched.root / "b").chmod(0o755), {"b": "M"}),
    "a link to another file": (relinked, {"link": "M"}),
    "ignored": (lambda watched: (watched.root / "x.tmp").write_text("x"), {}),
    "no longer ignored": (
        lambda watched: (watched.root / ".gitignore").write_text("claude-iterate/\n"),
        {".gitignore": "M"},
    ),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_is_seen_after_looks_without_git(watched: Watched, what: str) -> None:
    """Whatever changes in the work tree, git is asked again, and says the same as ever."""
    before = watched.settle()
    assert before.changes == {}
    change, expected = CHANGES[what]
    change(watched)
    found, calls = watched.look()
    assert (found.changes, calls > 0) == (expected, True)


def test_commits_and_branches_are_seen(watched: Watched) -> None:
    """They change no file of the work tree."""
    before = watched.settle()
    watched.repository.git("commit", "-q", "--allow-empty", "-m", "empty")
    found, _ = watched.look()
    assert (found.commits, found.head != before.head, found.changes) == (1, True, {})
    watched.settle()
    watched.repository.git("switch", "-q", "-c", "other")
    assert watched.look()[0].branch == "other"
    watched.settle()
    watched.repository.git("pack-refs", "--all")
    assert watched.look()[0].head == found.head
    watched.settle()
    watched.repository.git("commit", "-q", "--allow-empty", "-m", "again")
    assert watched.look()[0].commits == 1


def test_our_own_files_are_no_change_but_the_instructions_are_kept(watched: Watched) -> None:
    """The log grows at each iteration; INSTRUCTIONS.md is a part of the snapshot."""
    before = watched.settle()
    (watched.root / "claude-iterate" / "log").write_text("log")
    found, calls = watched.look()
    assert (found.changes, found.tree, calls) == ({}, before.tree, 0)
    (watched.root / KEPT).write_text("another task")
    assert watched.look()[0].tree != before.tree


def sign(watched: Watched) -> quiet_sign.Sign | None:
    return quiet_sign.sign_of(str(watched.root), str(watched.root / ".git"), ("claude-iterate/",), (KEPT,))


def nested(watched: Watched) -> None:
    subprocess.run(["git", "init", "-q", "src/own"], cwd=watched.root, check=True)


DOUBTS: dict[str, Callable[[Watched], object]] = {
    "a repository inside": nested,
    "a linked worktree": lambda watched: (watched.root / ".git" / "commondir").write_text(".."),
    "branches kept in another way": lambda watched: (watched.root / ".git" / "reftable").mkdir(),
    "a branch that is another's name": lambda watched: watched.repository.git(
        "symbolic-ref", "refs/heads/main", "refs/heads/else"
    ),
    "a pipe": lambda watched: os.mkfifo(watched.root / "pipe"),
    "a time to come": lambda watched: (watched.root / "b").write_text("just now"),
}


@pytest.mark.parametrize("what", DOUBTS)
def test_in_doubt_there_is_no_sign(watched: Watched, what: str) -> None:
    """Then git is asked, as ever."""
    watched.settle()
    assert sign(watched) is not None
    DOUBTS[what](watched)
    assert sign(watched) is None


def test_a_large_project_has_no_sign(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git looks at many files in less time than we do, so they are not looked at twice."""
    before = watched.settle()
    monkeypatch.setattr(quiet_sign, "MOST_ENTRIES", 4)
    with pytest.raises(quiet_sign.TooLarge):
        sign(watched)
    found, calls = watched.look()
    assert (found.changes, found.tree, calls > 0) == ({}, before.tree, True)
