"""A run in a git worktree leaves the project's checkout alone, keeps its branch, and never loses work."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from claude_iterate.errors import WorkspaceProblem
from claude_iterate.project import worktrees
from tests.e2e.conftest import DONE, HANGING, Loop

pytestmark = pytest.mark.needs_git
WORK = "echo work >> work.txt; git add work.txt; git commit -qm work"
BRANCH = "claude-iterate/my-task"


def git(loop: Loop, *words: str, folder: Path | None = None) -> str:
    """What git prints, in the project or in another folder."""
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", *who, *words], cwd=folder or loop.root, env=loop.env, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.fixture
def repository(loop: Loop) -> Loop:
    """A project with one commit, a hook and a filter that would leave a trace."""
    loop.make()
    loop.git("init", "-q", "-b", "main")
    trace = shlex.quote(str(loop.folder / "trace"))
    for key, value in {
        "user.name": "A",
        "user.email": "a@example.org",
        "commit.gpgsign": "false",
        "filter.odd.smudge": f"sh -c 'touch {trace}; cat'",
        "filter.odd.clean": "cat",
        "filter.odd.required": "true",
    }.items():
        loop.git("config", key, value)
    (loop.root / ".gitattributes").write_text("*.odd filter=odd\n")
    (loop.root / "file.odd").write_text("odd\n")
    (loop.root / ".gitignore").write_text("claude-iterate/workspaces/\n")
    loop.git("add", ".gitattributes", "file.odd", ".gitignore")
    loop.git("commit", "-qm", "first")
    hook = loop.root / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {trace}\n")
    hook.chmod(0o755)
    return loop


def top(loop: Loop) -> Path:
    return loop.root / "claude-iterate" / "worktrees" / "my-task"


@pytest.mark.setting("worktree")
def test_the_checkout_is_untouched_and_the_branch_is_kept(repository: Loop) -> None:
    """Claude and the checks work in the worktree. `git status` of the project is the same byte for byte, no hook and no
    filter ran; a clean worktree is removed, its branch stays, a second run goes on with it, and the merge is named as
    long as there is something to merge."""
    loop = repository
    before = loop.git("status"), loop.git("rev-parse", "HEAD")
    loop.checks("test -f work.txt")
    loop.script([{"init": {}}, {"shell": WORK}, *DONE[1:]])
    done = loop.run("--worktree")
    assert done.code == 0, done
    assert loop.record(1)["cwd"] == str(top(loop))
    merge = f"git -C {shlex.quote(str(loop.root))} merge {BRANCH}"
    assert f"  Branch {BRANCH}: 1 commit to merge: {merge}" in done.out
    assert (loop.git("status"), loop.git("rev-parse", "HEAD")) == before
    assert not (loop.folder / "trace").exists()
    assert not top(loop).exists()
    assert loop.git("log", "--format=%s", BRANCH).split() == ["work", "first"]
    assert f"  Merge it: {merge}\n" in loop.call("show", "my-task").out
    assert f"The last run of my-task worked on the branch {BRANCH}, in a worktree." in loop.call("list").out
    assert loop.run("--worktree", "--again", "--accept-changes").code == 0
    assert [event["again"] for event in loop.events("WorktreeMade") if "again" in event] == [True]
    assert loop.git("log", "--format=%s", BRANCH).split() == ["work", "work", "first"]
    loop.git("merge", "-q", BRANCH)
    assert "Merge it" not in loop.call("show", "my-task").out
    cleaned = loop.call("clean", "my-task", "--force")
    remove = f"git -C {shlex.quote(str(loop.root))} branch -d {BRANCH}"
    assert f"What stays: the branch {BRANCH}. Remove it: {remove}\n" in cleaned.err
    subprocess.run(remove, shell=True, env=loop.env, check=True, capture_output=True)


def test_a_worktree_with_work_survives(repository: Loop) -> None:
    """An untracked file keeps it, and the next run works in it again. The closing lines say so, with a command that
    commits and merges it as it stands, at the iteration limit too. The log has it."""
    loop = repository
    loop.script([{"init": {}}, {"shell": "echo left > left.txt"}, {"result": {}}])
    done = loop.run("--worktree", "topic", "-m", "1")
    assert done.out.splitlines()[0] == "⚠️ Reached maximum iterations (1)"
    merge = done.out.partition("it has work that is not committed. Commit and merge it: ")[2].splitlines()[0]
    assert merge in loop.log()
    assert (top(loop) / "left.txt").exists()
    assert loop.git("status", "--porcelain") == ""
    loop.script(DONE)
    assert loop.run("--worktree", "topic", "--again").code == 0
    assert (top(loop) / "left.txt").exists()
    assert "claude-iterate verify my-task --worktree=topic" in loop.call("show", "my-task").out
    loop.checks("test -f left.txt")
    before = loop.call("list").out
    refused = loop.call("verify", "my-task", "--checks-only")
    assert "Prove it there: claude-iterate verify my-task --worktree=topic --checks-only;" in refused.err
    assert (refused.code, "its work is not here" in refused.err, loop.call("list").out) == (1, True, before)
    assert loop.call("verify", "my-task", "--checks-only", "--worktree=topic").code == 0
    assert f"  Commit and merge it: {merge}\n" in loop.call("show", "my-task").out
    subprocess.run(merge, shell=True, env=loop.env, check=True, capture_output=True)
    assert (loop.root / "left.txt").read_text() == "left\n"
    (top(loop) / "more.txt").touch()
    document = loop.document("clean", "my-task", "--force")
    assert top(loop).exists()
    subprocess.run(document["remove"], shell=True, env=loop.env, check=True, capture_output=True)
    assert (top(loop).exists(), loop.git("branch", "--list", "topic")) == (False, "")


def test_what_cannot_be_is_said_before_anything_is_written(repository: Loop) -> None:
    """A branch that is checked out elsewhere, a bad name, a link or a folder in the way: words, and nothing changes."""
    loop = repository
    root, env = loop.root, loop.env
    found = worktrees.find(root, "my-task", "auto", env)
    assert (found.top, found.branch, found.found) == (top(loop), BRANCH, False)
    with pytest.raises(WorkspaceProblem, match="main is checked out in"):
        worktrees.find(root, "my-task", "main", env)
    for wrong in ("a..b", ":main", ""):
        with pytest.raises(WorkspaceProblem, match="cannot be the name"):
            worktrees.find(root, "my-task", wrong, env)
    loop.git("branch", "kept")
    for unknown in ("topic:nowhere", "topic:--all", "kept:nowhere"):
        with pytest.raises(WorkspaceProblem, match=r"branch (topic|kept) cannot begin at"):
            worktrees.find(root, "my-task", unknown, env)
    loop.git("branch", "-D", "kept")
    top(loop).mkdir(parents=True)
    (top(loop) / "mine").touch()
    with pytest.raises(WorkspaceProblem, match="in the way"):
        worktrees.find(root, "my-task", "auto", env)
    top(loop).parent.rename(root / "elsewhere")
    top(loop).parent.symlink_to(root / "elsewhere")
    with pytest.raises(WorkspaceProblem, match="is a link"):
        worktrees.find(root, "my-task", "auto", env)
    done = loop.run("--worktree=main")
    assert (done.code, loop.layout.run_ids()) == (1, [])
    assert loop.git("branch", "--format=%(refname:short)").split() == ["main"]


def test_a_new_branch_begins_where_the_user_says(repository: Loop) -> None:
    """`BRANCH:BASE`; the same words again go on with the branch, and so does the next step. A base that the branch does
    not have is named."""
    loop = repository
    base = loop.git("rev-parse", "HEAD").strip()
    loop.git("tag", "-m", "old", "old")
    loop.git("commit", "-q", "--allow-empty", "-m", "later")
    loop.script([{"init": {}}, {"write": {"path": str(top(loop) / "left.txt"), "text": "x"}}, {"result": {}}])
    ran = loop.run("--worktree=topic:old", "-m", "1")
    assert (ran.code, loop.events("WorktreeMade")[0]["base"]) == (0, base)
    assert loop.git("rev-parse", "topic").strip() == base
    (step,) = [line.removeprefix("  Next: ") for line in ran.out.splitlines() if line.startswith("  Next: ")]
    loop.script(DONE)
    assert loop.call(*shlex.split(step)[1:]).code == 0
    assert loop.events("WorktreeMade")[-1]["again"]
    assert "does not have" not in ran.err
    behind = loop.run("--worktree=topic:main", "--again", "-m", "1")
    assert "The branch topic was there already, and does not have all commits of main." in behind.err
    assert loop.events("WorktreeMade")[-1]["base"] == loop.git("rev-parse", "topic").strip()


def test_only_changes_of_the_project_are_missed(repository: Loop) -> None:
    """A changed file that is not committed is not in the worktree. What a run changes in a workspace that git knows is
    not missed there."""
    loop = repository
    found = worktrees.find(loop.root, "my-task", "auto", loop.env)
    loop.git("add", "--force", "claude-iterate/workspaces/my-task/.metadata.json")
    assert not found.main_is_changed(loop.layout.own_folders())
    (loop.root / ".gitignore").write_text("")
    assert found.main_is_changed(loop.layout.own_folders())


def test_a_worktree_needs_a_commit_and_a_repository(loop: Loop) -> None:
    """Without either the run is refused with the command that helps."""
    loop.make()
    refused = loop.run("--worktree")
    assert (refused.code, "needs a git repository" in refused.err, "git init" in refused.err) == (1, True, True)
    loop.git("init", "-q")
    refused = loop.run("--worktree")
    assert (refused.code, "git commit --allow-empty" in refused.err) == (1, True)
    assert loop.layout.run_ids() == []


def test_a_run_beside_another_one_names_it(loop: Loop) -> None:
    """Two workspaces that run in one folder: the second run warns and names the first."""
    loop.make()
    loop.script(HANGING)
    first = loop.working()
    assert loop.call("init", "other").code == 0
    other = loop.workspace.parent / "other"
    (other / "INSTRUCTIONS.md").write_text("- one\n")
    loop.script(DONE)
    said = loop.call("run", "other")
    assert "my-task runs in the same folder" in said.err
    first.terminate()
    loop.finish(first)
    assert "same folder" not in loop.call("run", "other", "--again").err


def test_a_killed_run_goes_on_where_it_worked(repository: Loop) -> None:
    """`show` and `list` name its own command with all options; without the worktree it is refused, with it goes on."""
    loop = repository
    loop.script([{"init": {}}, {"shell": "echo 1 > one.txt"}, *HANGING[1:]])
    loop.kill(loop.working("--worktree", "-m", "5", "--max-cost", "3"))
    step = "claude-iterate run my-task --max-iterations 5 --max-cost 3 --worktree auto"
    assert f"Continue: {step}\n" in loop.call("show", "my-task").out
    (row,) = loop.document("list")["workspaces"]
    assert (row["next"], "killed" in row["cause"]) == (step, True)
    refused = loop.run()
    assert (refused.code, f"--worktree={BRANCH}" in refused.err, len(loop.layout.run_ids())) == (1, True, 1)
    loop.script(DONE)
    assert "Continuing run" in loop.call(*shlex.split(step)[1:]).err
    assert (top(loop) / "one.txt").exists()


def test_a_worktree_that_the_agent_removes_ends_the_run_with_its_cause(repository: Loop) -> None:
    """At once, and Claude is not called missing; the next step makes the worktree again."""
    loop = repository
    remove = f"cd / && git -C {shlex.quote(str(loop.root))} worktree remove --force {shlex.quote(str(top(loop)))}"
    loop.script([{"init": {}}, {"shell": remove}, {"result": {}}], DONE)
    done = loop.run("--worktree")
    assert (done.code, f"should work in is gone: {top(loop)}" in done.err) == (1, True), done.err
    assert "stays" not in done.err
    assert "Next: claude-iterate run my-task --worktree auto" in done.err
    assert loop.run("--worktree").code == 0


def test_several_runs_name_what_is_to_merge(repository: Loop) -> None:
    """Below the table: a worktree that stays with what is not committed, and the command that commits and merges."""
    repository.script([{"init": {}}, {"shell": f"{WORK}; echo more > left.txt"}, *DONE[1:]])
    other = repository.workspace.parent / "other"
    other.mkdir()
    (other / "INSTRUCTIONS.md").write_text("- one\n")
    (other / ".metadata.json").write_text('{"format": 3, "name": "other", "mode": "loop"}')
    done = repository.call("run", "my-task", "other", "--worktree", "--parallel", "1")
    assert done.code == 0, done.err
    for name in ("my-task", "other"):
        merge = f" && git -C {shlex.quote(str(repository.root))} merge claude-iterate/{name}\n"
        _, stays, command = done.err.partition(f"{name}: The worktree stays: it has work that is not committed. ")
        assert (bool(stays), merge in command) == (True, True)


def test_work_of_another_task_is_never_continued_unseen(repository: Loop) -> None:
    """Whichever run left it, `archive save`, `clean`, `doctor` and a run of a new task name the worktree, its files
    and, first, the command that commits and merges them; a second run of the same task does not."""
    loop = repository
    loop.script([{"init": {}}, {"shell": "echo left > left.txt"}, *DONE[1:]])
    assert loop.run("--worktree").code == 0
    assert "from before this task" not in loop.run("--worktree", "--again").err
    assert loop.run("--again", "-m", "1").code == 0
    stays = f"the worktree {top(loop)}, with work that is not committed (left.txt); the branch {BRANCH}"
    merge = f"Commit and merge it: git -C {top(loop)} add -A && "
    assert f"Not in the archive: {stays}. {merge}" in loop.call("archive", "save", "my-task", "--keep").err
    assert f"What stays: {stays}. {merge}" in loop.call("clean", "my-task", "--force", "--no-archive").err
    assert f"no workspace uses {stays}\n    {merge}" in loop.call("doctor").out
    loop.make("- another task\n")
    done = loop.run("--worktree")
    assert f"The run continues with work from before this task: {stays}." in done.err
    assert "worktrees:" not in loop.call("doctor").out
