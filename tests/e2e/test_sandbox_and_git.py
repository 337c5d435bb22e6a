"""A sandbox and git: Claude can commit inside, and nothing that it leaves is started outside, by git or by us."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from claude_iterate.workspace.layout import Layout
from tests.bubblewrap import needs_bwrap
from tests.e2e.agents import with_git
from tests.e2e.conftest import Loop
from tests.e2e.test_sandbox import DONE, closed, quoted

pytestmark = [needs_bwrap, pytest.mark.needs_git]
COMMIT = "git add made && git -c user.name=C -c user.email=c@example.org commit -qm 'by Claude'"


def outside(loop: Loop) -> Path:
    """A folder of the user, of which a sandbox shows nothing."""
    folder = loop.folder / "outside"
    folder.mkdir()
    return folder


def test_nothing_that_claude_leaves_is_started_outside(loop: Loop) -> None:
    """Neither a filter whose program it changed, nor one of a repository that it made, nor a `git` or a `bwrap` in a
    folder of the project that PATH names; in two iterations with measured work and a proof, in a worktree as well."""
    loop.make()
    traces, tools = outside(loop), loop.root / "tools"
    tools.mkdir()
    for name in ("clean", "smudge"):
        (tools / name).write_text("cat\n")
    (loop.root / ".gitattributes").write_text("*.odd filter=own\n")
    (loop.root / "a.odd").write_text("a\n")
    with_git(loop)
    for name in ("clean", "smudge"):
        loop.git("config", f"filter.own.{name}", f"sh {quoted(tools / name)}")
    touch = f"touch {quoted(traces)}"
    deed = f"""
tools={quoted(tools)}
for name in clean smudge; do echo {shlex.quote(touch)}/own-$name'; cat' > "$tools/$name"; done
for name in git bwrap systemd-inhibit; do
    printf '#!/bin/sh\\n%s/path-%s\\nexec /usr/bin/%s "$@"\\n' {shlex.quote(touch)} $name $name > "$tools/$name"
    chmod +x "$tools/$name"
done
cd {quoted(loop.root)}; date > b.odd; date >> a.odd
/usr/bin/git init -q nested; cd nested
/usr/bin/git config filter.evil.clean {shlex.quote(f"{touch}/nested; cat")}
echo '* filter=evil' > .gitattributes; date > file
"""
    own, mounted = loop.home / ".claude" / "bin", loop.folder / "agent" / "bin"
    own.parent.mkdir()
    deed += f"for place in {quoted(own)} {quoted(mounted)}; do mkdir -p $place; cp {quoted(tools)}/* $place; done\n"
    closed(loop, f"({deed})\nreport '{{\"complete\": false}}'", f"({deed})\n{DONE}")
    loop.env["PATH"] = f"{tools}:{own}:{mounted}:{loop.env['PATH']}"
    loop.env["CLAUDE_ITERATE_VERIFICATION__CHECKS"] = "true"
    loop.env["CLAUDE_ITERATE_KEEP_AWAKE"] = "true"
    loop.patch("engine.loop", _LASTING=0.0)  # otherwise the runs are too short for it
    done = loop.run()
    assert done.code == 0, done.err
    assert [event["progress"] for event in loop.events("WorkMeasured")] == [["files"], ["files"]]
    again = loop.run("--again", "--worktree")
    assert again.code == 0, again.err
    assert os.listdir(traces) == []


def test_git_in_a_part_of_a_repository(loop: Loop) -> None:
    """The project is a sub-folder: Claude commits, sees the rest of the repository, and cannot write it. It cannot put
    other folders in the place of those with settings, nor change the settings of another task."""
    top = loop.root
    loop.root = top / "part"
    loop.workspace = loop.root / "claude-iterate" / "workspaces" / "my-task"
    loop.layout = Layout(loop.root, loop.workspace)
    loop.make()
    other = loop.workspace.parent / "other" / ".metadata.json"
    other.parent.mkdir()
    other.write_text('{"format": 3, "name": "other", "mode": "loop"}')
    (loop.root / ".claude").mkdir()
    (loop.root / ".claude" / "settings.json").write_text("{}")
    (top / "README").write_text("all of it\n")
    for words in (["init", "-q"], ["add", "README"], ["commit", "-qm", "first"]):
        loop.git("-C", str(top), *words)
    folders = (top / ".git", loop.root / ".claude", loop.root / "claude-iterate")
    tries = [
        *(f"mv {quoted(path)} {quoted(path)}-x" for path in folders),
        *(f"echo > {quoted(other)}", f"echo > {quoted(top)}/README", f"echo > {quoted(loop.layout.metadata)}"),
        f"cat {quoted(loop.layout.metadata)}; ls {quoted(loop.layout.runs)}/*",
    ]
    deed = (
        f"cd {quoted(loop.root)}; echo x > made; {COMMIT}; cat {quoted(top)}/README > seen; git status --short > status"
    )
    told = (f"{{ {one}; }} 2>/dev/null && echo {shlex.quote(one)} >> done" for one in tries)
    closed(loop, "\n".join([deed, *told, f"git config evil.key 1; date > {quoted(top)}/.git/evil", DONE]))
    config = (top / ".git" / "config").read_bytes()
    done = loop.run()
    assert done.code == 0, done.err
    assert not (loop.root / "done").exists(), (loop.root / "done").read_text()
    assert (loop.root / "seen").read_text() == "all of it\n"
    assert " D " not in (loop.root / "status").read_text()
    assert (top / ".git" / "config").read_bytes() == config
    assert not (top / ".git" / "evil").exists()
    (measured,) = loop.events("WorkMeasured")
    assert measured["changes"]["commits"] == 1


def test_a_worktree_in_a_sandbox(loop: Loop) -> None:
    """Claude commits in the worktree, as the user whom the settings of git name, whatever else they say. The checkout
    of the project can only be read, and a clean worktree is removed."""
    loop.make()
    (loop.root / ".gitignore").write_text("claude-iterate/workspaces/\n")
    with_git(loop)
    loop.env = {name: value for name, value in loop.env.items() if not name.startswith("GIT_")}
    (loop.home / ".gitconfig").write_text("[user]\nname = Me\nemail = me@example.org\n[commit]\ngpgsign = true\n")
    root = shlex.quote(str(loop.root))
    tries = f"cat {root}/.gitignore > read; echo x > {root}/made; echo x > {root}/.claude/made; rm {root}/.gitignore"
    (loop.root / ".claude").mkdir()
    (loop.root / ".claude" / "settings.json").write_text("{}")
    closed(loop, f"echo x > made; {tries}; git add made read && git commit -qm 'by Claude'; {DONE}")
    done = loop.run("--worktree")
    assert done.code == 0, done.err
    assert "merge claude-iterate/my-task" in done.out
    assert not (loop.root / "made").exists()
    assert not (loop.root / ".claude" / "made").exists()
    assert (loop.root / ".gitignore").exists()
    assert not (loop.root / "claude-iterate" / "worktrees" / "my-task").exists()
    loop.git("merge", "-q", "claude-iterate/my-task")
    assert (loop.root / "made").read_text() == "x\n"
    assert (loop.root / "read").read_text() == "claude-iterate/workspaces/\n"
    loop.git("log", "-1", "--format=%an <%ae>", "--output=author")
    assert (loop.root / "author").read_text() == "Me <me@example.org>\n"


@pytest.mark.parametrize("place", ["build/bin", "build/cache"])
def test_a_link_in_the_place_of_what_is_shown_starts_nothing(loop: Loop, place: str) -> None:
    """A folder of PATH in the project, or one that is mounted, becomes a link to the user's home: it is not shown."""
    loop.make()
    shown = loop.root / place
    shown.mkdir(parents=True)
    (loop.home / "secret").write_text("plover")
    deed = f"cd {quoted(loop.root)}; mv build b2; mkdir build; ln -s {quoted(loop.home)} {place}"
    look = f"cat {quoted(loop.home)}/secret > {quoted(loop.root)}/seen; echo x > {quoted(loop.home)}/made"
    closed(loop, f"({deed})\nreport '{{\"complete\": false}}'", f"({look})\n{DONE}")
    loop.env["PATH"] += f":{loop.root}/build/bin"
    loop.env["CLAUDE_ITERATE_SANDBOX__MOUNTS"] = f'["{loop.folder}/agent:rw", "{shown}:rw"]'
    done = loop.run("-m", "2")
    assert "leads to another place than when the run began" in done.err
    assert not (loop.root / "seen").exists()
    assert not (loop.home / "made").exists()


def test_what_is_hidden_is_not_deleted_for_git(loop: Loop) -> None:
    """Where workspaces are in git, Claude commits none of those that it does not see as deleted. One that it makes is
    nowhere, so no later `run --all` starts it."""
    loop.make()
    other = loop.workspace.parent / "other"
    other.mkdir()
    (other / "INSTRUCTIONS.md").write_text("- other\n")
    with_git(loop)
    loop.git("add", "-f", "claude-iterate")
    loop.git("commit", "-qm", "workspaces", "--allow-empty")
    evil = quoted(loop.workspace.parent / "evil")
    deed = f"cd {quoted(loop.root)}; test ! -e {quoted(other)} && echo x > made; git add -A; git commit -qm all"
    closed(loop, f"{deed}; mkdir -p {evil}; echo '{{}}' > {evil}/.metadata.json; test -d {evil} && touch tried; {DONE}")
    done = loop.run()
    assert done.code == 0, done.err
    assert (loop.root / "made").exists()
    assert (loop.root / "tried").exists()
    assert sorted(os.listdir(loop.workspace.parent)) == ["my-task", "other"]
    loop.git("show", "--name-status", "--format=", "--output=shown", "HEAD")
    assert "D\t" not in (loop.root / "shown").read_text()


def test_what_claude_left_for_later_runs_waits_for_trust(loop: Loop) -> None:
    """Settings that it created, in the project and in its own folder: the end names them, no run starts, and `trust`
    shows and accepts them. What the user changed since is not among them."""
    loop.make()
    with_git(loop)
    (loop.home / ".claude").mkdir()
    deed = f"cd {quoted(loop.root)}; mkdir .claude; echo 0 > .claude/settings.json; echo evil > ~/.claude/CLAUDE.md"
    closed(loop, f"({deed})\n{DONE}", DONE)
    done = loop.run()
    assert done.code == 0, done.err
    named = f"{loop.home}/.claude/CLAUDE.md, .claude/settings.json"
    assert f"Claude changed what a later run acts on: {named}" in done.err
    (loop.root / ".claude-iterate.toml").write_text("delay = 0\n")
    refused = loop.run("--again")
    assert refused.code == 2
    assert ".claude/settings.json" in refused.err
    assert ".claude-iterate.toml" not in refused.err
    assert "claude-iterate trust my-task" in refused.err
    shown = loop.call("trust", "my-task")
    assert (shown.code, "+evil" in shown.out, "--force" in shown.err) == (1, True, True)
    assert loop.call("trust", "my-task", "--force").code == 0
    assert loop.run("--again").code == 0


def test_after_a_kill_everything_that_changed_waits_for_trust(loop: Loop) -> None:
    """Nobody knows who changed it; what is removed is no matter any more. Commits of the killed run come back."""
    loop.make()
    with_git(loop)
    deed = f'cd {quoted(loop.root)}; echo x > made; {COMMIT}; echo > .mcp.json; touch "$W/ready"; sleep 303'
    closed(loop, deed, DONE)
    loop.kill(loop.working())
    assert ".mcp.json" in loop.run().err
    (loop.root / ".mcp.json").unlink()
    assert loop.run().code == 0
    loop.git("log", "-1", "--format=%s", "--output=log")
    assert (loop.root / "log").read_text() == "by Claude\n"


def test_a_repository_that_claude_made_has_another_name(loop: Loop) -> None:
    """So the user's `git status` acts on no setting of it, in the project and in any folder of it."""
    loop.make()
    with_git(loop)
    trace = outside(loop) / "trace"
    evil = f"config core.fsmonitor {shlex.quote(f'touch {quoted(trace)}')}"
    bare = f"git -C b/c config core.bare false; git -C b/c config core.worktree {quoted(loop.root)}; git -C b/c {evil}"
    deed = f"cd {quoted(loop.root)}; mkdir -p a/.git-from-claude b; git init -q a; git -C a {evil}"
    closed(loop, f"({deed}; git init -q --bare b/c; {bare})\n{DONE}")
    done = loop.run()
    assert "Claude made the repository a/.git" in done.err
    assert (loop.root / "a" / ".git-from-claude1").is_dir()
    for folder in (".", "a", "b/c"):
        subprocess.run(["git", "-C", str(loop.root / folder), "status"], env=loop.env, capture_output=True, check=False)
    assert not trace.exists()
