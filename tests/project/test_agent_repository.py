"""The repository of a Claude in a sandbox: its commits come back, and nothing of it acts outside."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path
from typing import IO

import pytest

from claude_iterate.project.agent_repository import AgentRepository, Taken, find_repositories, git_folders
from claude_iterate.project.git import GitProblem
from tests.bubblewrap import needs_bwrap

pytestmark = [needs_bwrap, pytest.mark.needs_git]
SYSTEM = [word for path in ("/usr", "/bin", "/lib", "/lib64", "/etc") for word in ("--ro-bind-try", path, path)]
ME = {"GIT_AUTHOR_NAME": "C", "GIT_AUTHOR_EMAIL": "c@x", "GIT_COMMITTER_NAME": "C", "GIT_COMMITTER_EMAIL": "c@x"}
ENVIRON = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", **ME}


class Project:
    """A repository of the user, and the sandbox around Claude."""

    def __init__(self, folder: Path) -> None:
        self.top = folder / "project"
        self.kept = folder / "kept"
        self.top.mkdir(parents=True)
        self.git("init", "-q", "-b", "main")
        self.write("a", "one\n")
        self.git("add", "a")
        self.git("commit", "-qm", "first")

    def write(self, name: str, text: str) -> None:
        (self.top / name).write_text(text)

    def git(self, *words: str, top: Path | None = None) -> str:
        done = subprocess.run(["git", *words], cwd=top or self.top, env=ENVIRON, capture_output=True, check=True)
        return done.stdout.decode().strip()

    def begin(self) -> list[AgentRepository]:
        self.repositories = find_repositories(self.top, self.kept, "task", ENVIRON)
        for one in self.repositories:
            one.make()
        return self.repositories

    def inside(self, folder: str, argv: list[str], given: bytes, out: IO[bytes]) -> None:
        placed = sorted((mount for one in self.repositories for mount in one.mounts()), key=lambda m: m[1].count("/"))
        words = ["bwrap", "--die-with-parent", "--unshare-all", *SYSTEM, "--proc", "/proc", "--dev", "/dev"]
        words += ["--bind", str(self.top), str(self.top)]
        for here, there, how in placed:
            words += ["--bind" if how == "write" else "--ro-bind", here, there]
        words += ["--chdir", folder, "--", *argv]
        pipe = subprocess.PIPE
        try:
            subprocess.run(words, input=given, stdout=out, stderr=pipe, env=ENVIRON, timeout=10, check=True)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            raise GitProblem((error.stderr or b"it hangs").decode()) from None

    def claude(self, script: str) -> None:
        """What Claude does."""
        self.inside(str(self.top), ["sh", "-ec", f"{{ {script}\n}} >/dev/null"], b"", subprocess.DEVNULL)  # type: ignore[arg-type]

    def take_in(self) -> Taken:
        """The result for the repository of the project itself."""
        return [one.take_in(self.inside) for one in reversed(self.repositories)][-1]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_commits_branches_tags_and_the_index_come_back(project: Project) -> None:
    """As if Claude had worked in the repository itself; a second time as well."""
    project.write("staged", "by the user\n")
    project.git("add", "staged")
    project.begin()
    project.claude(
        "echo two > a; git commit -qam second; git switch -qc topic; echo new > b; git add b; git commit -qm third;"
        "git tag v1; echo x > c; git add c"
    )
    assert project.take_in() == Taken(("main", "refs/tags/v1", "topic"))
    assert project.git("log", "--format=%s", "topic").split() == ["third", "second", "first"]
    assert project.git("symbolic-ref", "HEAD") == "refs/heads/topic"
    assert project.git("status", "--porcelain") == "A  c"
    assert project.git("fsck", "--strict", "--no-dangling") == ""
    project.claude("git commit -qm fourth; git switch -q --detach main")
    project.take_in()
    assert project.git("log", "-1", "--format=%s", "topic") == "fourth"
    assert project.git("rev-parse", "HEAD") == project.git("rev-parse", "main")
    assert project.take_in() == Taken()


@pytest.mark.parametrize(
    "deed",
    [
        "git config core.fsmonitor {evil}; git config filter.x.clean {evil}; echo '* filter=x' > .gitattributes",
        "echo '#!/bin/sh' > .git/hooks/post-index-change; echo {evil} >> .git/hooks/post-index-change",
        "printf '[core]\\nfsmonitor = %s\\n' {evil} > .git/config.worktree; git config extensions.worktreeConfig true",
        "echo ../elsewhere > .git/commondir",
        (
            "git init -q s; git -C s commit -qm x --allow-empty; git -C s config core.fsmonitor {evil};"
            " git add s; git commit -qm s"
        ),
        "rm -f .git/index; ln -s /etc/passwd .git/index; rm -rf .git/objects; ln -s / .git/objects",
        "rm .git/HEAD; mkfifo .git/HEAD",
        "mv .git .git-old; git init -q; git config core.fsmonitor {evil}; git commit -q --allow-empty -m x",
    ],
)
def test_nothing_of_it_acts_outside(project: Project, deed: str) -> None:
    """Neither when it is taken in, nor in the next `git status` of the user."""
    trace = project.top.parent / "trace"
    evil = project.top / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {shlex.quote(str(trace))}\n")
    evil.chmod(0o755)
    before = (project.top / ".git" / "config").read_bytes()
    project.begin()
    try:
        project.claude(deed.format(evil=shlex.quote(str(evil))))
        project.take_in()
    except GitProblem:
        pass
    project.git("status")
    project.git("diff")
    assert not trace.exists()
    assert (project.top / ".git" / "config").read_bytes() == before
    assert project.git("rev-list", "--count", "main") == "1"


def test_what_cannot_be_moved_is_put_aside(project: Project) -> None:
    """The name of a branch is in the way of another one. Names of the user's need not be UTF-8."""
    subprocess.run(["git", "branch", b"caf\xe9"], cwd=project.top, env=ENVIRON, check=True)
    project.begin()
    project.claude(
        "git checkout -q --detach; git branch -qD main; git checkout -qb main/x; git commit -qm x --allow-empty"
    )
    taken = project.take_in()
    assert taken.reason
    assert project.git("log", "-1", "--format=%s", taken.aside["main/x"]) == "x"


def test_what_the_user_does_meanwhile_wins(project: Project) -> None:
    """Claude's branch is put aside under a name of its own, with the reason, and nothing is lost."""
    project.begin()
    project.claude("echo two > b; git add b; git commit -qm theirs")
    project.git("commit", "-q", "--allow-empty", "-m", "mine")
    taken = project.take_in()
    assert taken.moved == ()
    assert "meanwhile" in taken.reason
    assert project.git("log", "--format=%s").split() == ["mine", "first"]
    assert project.git("log", "--format=%s", taken.aside["main"]).split() == ["theirs", "first"]


def test_a_linked_work_tree_and_a_part_of_it(project: Project, tmp_path: Path) -> None:
    """Commits go to the branch that is checked out there; the other checkout does not notice."""
    there = tmp_path / "linked"
    project.git("worktree", "add", "-q", "-b", "side", str(there))
    (there / "part").mkdir()
    project.top, main = there, project.top
    project.begin()
    project.claude("cd part; echo x > y; git add y; git commit -qm linked")
    assert project.take_in() == Taken(("side",))
    assert project.git("status", "--porcelain", top=main) == ""
    assert project.git("status", "--porcelain") == ""
    assert project.git("log", "-1", "--format=%s", "side", top=main) == "linked"


def test_a_submodule_is_committed_to_as_well(project: Project, tmp_path: Path) -> None:
    """Its commits come back to its own repository, and the project's commit names one that is there."""
    other = Project(tmp_path / "other")
    project.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other.top), "sub")
    project.git("commit", "-qm", "sub")
    assert len(project.begin()) == 2
    project.claude("cd sub; echo in > it; git add it; git commit -qm inner; cd ..; git commit -qam outer")
    assert project.take_in() == Taken(("main",))
    assert project.git("status", "--porcelain") == ""
    assert project.git("log", "-1", "--format=%s", top=project.top / "sub") == "inner"


def test_a_submodule_stays_what_it_is(project: Project, tmp_path: Path) -> None:
    """Its file `.git` cannot be changed, and none of its folders renamed; in the place of one that is not checked out
    nothing can be made."""
    other = Project(tmp_path / "other")
    for name in ("libs/sub", "empty"):
        project.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other.top), name)
    project.git("commit", "-qm", "sub")
    project.git("submodule", "--quiet", "deinit", "empty")
    project.begin()
    rename = "perl -e 'rename shift, shift or exit 1'"  # mv would copy and delete
    tries = [f"{rename} {one} y" for one in ("libs/sub", "libs", "libs/sub/.git", "empty")]
    tries += ["echo x > libs/sub/.git", "rm libs/sub/.git", "mkdir empty/.git"]
    project.claude("; ".join(f"({one}) 2>/dev/null && exit 1" for one in tries) + "; true")
    assert project.git("status", "--porcelain") == ""


def test_a_first_commit_and_borrowed_objects(project: Project, tmp_path: Path) -> None:
    """A repository without a commit, and one that reads the objects of another."""
    clone = tmp_path / "clone"
    project.git("clone", "-q", "--shared", str(project.top), str(clone))
    project.top = clone
    project.begin()
    project.claude("echo x > b; git add b; git commit -qm shared")
    assert project.take_in() == Taken(("main",))
    empty = tmp_path / "empty"
    project.git("init", "-q", "-b", "main", str(empty))
    project.top = empty
    project.begin()
    project.claude("echo x > b; git add b; git commit -qm one")
    assert project.take_in() == Taken(("main",))
    assert project.git("log", "--format=%s") == "one"
    assert project.git("status", "--porcelain") == ""


def test_a_folder_of_git_counts_only_if_it_is_that_of_the_project(project: Project, tmp_path: Path) -> None:
    """A linked work tree and a part of a repository have one. A file or a link that leads to the repository of another
    project shows nothing of it, and neither does a repository around the home folder."""
    environ = {**ENVIRON, "HOME": str(tmp_path / "home")}
    there = tmp_path / "linked"
    project.git("worktree", "add", "-q", str(there))
    part = project.top / "part"
    part.mkdir()
    git = project.top / ".git"
    assert list(git_folders(part, environ)) == [project.top, git]
    assert list(git_folders(there, environ)) == [there, git / "worktrees" / "linked", git]
    assert list(git_folders(part, {**ENVIRON, "HOME": str(project.top / "me")})) == []
    for name in ("file", "link"):
        (tmp_path / name).mkdir()
    (tmp_path / "file" / ".git").write_text(f"gitdir: {git}\n")
    (tmp_path / "link" / ".git").symlink_to(git)
    assert [*git_folders(tmp_path / "file", environ), *git_folders(tmp_path / "link", environ)] == []
    assert find_repositories(tmp_path / "file", tmp_path / "kept", "task", environ) == []
