"""The real Claude Code in a sandbox: it works, reaches its service and nothing else, and leaves nothing."""

from __future__ import annotations

import signal
import subprocess

import pytest

from tests.bubblewrap import needs_bwrap
from tests.e2e.agents import with_git
from tests.e2e.conftest import PATIENCE, until
from tests.mocks.messages_api import text, tool
from tests.real.conftest import RealLoop

pytestmark = [pytest.mark.real_claude, needs_bwrap]


def closed(real: RealLoop, network: bool) -> None:
    """A run in bwrap. The environment of these tests names folders that are not there inside."""
    real.set(sandbox__kind="bwrap", sandbox__network=str(network).lower())
    for name in ("CLAUDE_CODE_TMPDIR", "IS_SANDBOX"):
        del real.env[name]


@pytest.mark.parametrize("network", [True, False])
def test_work_in_a_sandbox(real: RealLoop, network: bool) -> None:
    """Two iterations in one session, with every permission: tools write the project and nothing else, see no other
    variable and no other file, and without a network reach nothing; Claude reaches its service all the same."""
    real.make()
    closed(real, network)
    real.env["SECRET_OF_MINE"] = "plover"
    (real.home / "secret").write_text("plover")
    outside = real.folder / "outside"
    outside.mkdir()
    devices = "echo devices: $(tail -n +3 /proc/net/dev | cut -d: -f1)"
    command = f"env; cat {real.home}/secret; touch {outside}/made; echo ok > made; {devices} end; sleep 301 &"
    real.api.script(
        *(tool("Bash", command=command), real.report(False), text("The word is heron.")),
        *(real.report(True), text("Done.")),
    )
    done = real.run("--session", "resume")
    assert done.code == 0, done.err
    assert real.iterations() == [(1, "ok"), (2, "ok")]
    (result,) = real.api.requests[1].tool_results
    seen = str(result)
    assert "plover" not in seen
    assert "IS_SANDBOX=1" in seen
    assert (real.root / "made").read_text() == "ok\n"
    assert not (outside / "made").exists()
    assert ("devices: lo end" in seen) is not network
    assert "heron" in str(real.api.requests[3].body["messages"]), "its sessions last from call to call"
    assert real.events("LeftoversEnded") == []
    real.gone()


def test_claude_is_told_that_it_may_not_go_elsewhere(real: RealLoop) -> None:
    """A tool that uses the way out which Claude has is refused there."""
    real.make()
    closed(real, network=False)
    ask = "exec 3<>/dev/tcp/127.0.0.1/${HTTPS_PROXY##*:}; "
    ask += "printf 'CONNECT example.com:443 HTTP/1.1\\r\\n\\r\\n' >&3; head -1 <&3"
    real.api.script(tool("Bash", command=f"bash -c {ask!r}"), real.report(True), text("Done."))
    done = real.run()
    assert done.code == 0, done.err
    assert "403 Forbidden" in str(real.api.requests[1].tool_results)


def working(real: RealLoop) -> subprocess.Popen[bytes]:
    """A run whose Claude is in the middle of a long command. It may take its time to end, and so may the kernel."""
    real.patch("agent.processes.child", AFTER_INTERRUPT=PATIENCE)
    real.patch("agent.processes.leftovers", _COLLAPSE=PATIENCE)
    real.make()
    closed(real, network=False)
    real.api.script(tool("Bash", command="touch ready; sleep 300"))
    process = real.start("run", "my-task", "--detailed-exit-code")
    until(lambda: (real.root / "ready").exists() or process.poll() is not None)
    assert (real.root / "ready").exists(), real.finish(process)
    return process


def test_one_ctrl_c_lets_the_iteration_end(real: RealLoop) -> None:
    """Claude goes on with its command and reports; then the run ends, and nothing is called left behind."""
    real.make()
    closed(real, network=False)
    waiting = "touch ready; until [ -e go ]; do sleep 0.1; done; echo ok > made"
    real.api.script(tool("Bash", command=waiting), real.report(False), text("Done."))
    process = real.start("run", "my-task", "--detailed-exit-code")
    until(lambda: (real.root / "ready").exists() or process.poll() is not None)
    process.send_signal(signal.SIGINT)
    until(lambda: real.events("StopRequested"))
    (real.root / "go").touch()
    ended = real.finish(process)
    assert ended.code == 130, ended.err
    assert (real.root / "made").read_text() == "ok\n"
    assert (real.iterations(), real.api.left) == ([(1, "ok")], 0)
    assert real.events("LeftoversEnded") == []
    real.gone()


@pytest.mark.needs_git
def test_hooks_checks_and_tests_are_inside_too_and_so_is_a_worktree(real: RealLoop) -> None:
    """Claude commits in the worktree; the hook, the check and the test command see what it sees; the checkout of the
    project stays as it is, and the clean worktree is removed."""
    real.make()
    closed(real, network=False)
    (real.root / ".gitignore").write_text("/claude-iterate/\n")
    with_git(real)
    (real.home / "secret").touch()
    inside = f'[ "$IS_SANDBOX" = 1 ] && [ ! -e {real.home}/secret ] && pwd > {real.workspace}/working/$1'
    working = real.workspace / "working"
    working.mkdir()
    look = working / "look"
    look.write_text(inside)
    hook = real.root / "claude-iterate" / "hooks" / "iteration_finished"
    hook.parent.mkdir()
    hook.write_text(f"#!/bin/sh\nsh {look} hook\n")
    hook.chmod(0o755)
    real.set(commands__test=f"sh {look} tests", progress__tests="true", verification__checks=f"sh {look} check")
    commit = "git add made && git -c user.name=C -c user.email=c@example.org commit -qm made"
    real.api.script(tool("Bash", command=f"echo ok > made; {commit}"), real.report(True), text("Done."))
    done = real.run("--worktree")
    assert done.code == 0, done.err
    tree = real.root / "claude-iterate" / "worktrees" / "my-task"
    seen = {name: (working / name).read_text().strip() for name in ("hook", "tests", "check")}
    assert set(seen.values()) == {str(tree)}
    assert "git -C" in done.out
    assert not tree.exists()
    assert not (real.root / "made").exists()
    real.git("show", "claude-iterate/my-task:made")


def test_ctrl_c_twice_reaches_claude(real: RealLoop) -> None:
    """Claude itself ends its command and gives a result, as it does outside; nothing is called left behind."""
    process = working(real)
    process.send_signal(signal.SIGINT)
    until(lambda: real.events("StopRequested"))
    process.send_signal(signal.SIGINT)
    assert real.finish(process).code == 130
    real.gone()
    assert real.results() != []
    assert real.events("LeftoversEnded") == []


def test_kill_9_leaves_nothing(real: RealLoop) -> None:
    """Neither Claude nor its command nor the way out."""
    process = working(real)
    real.kill(process)
    until(lambda: not list((real.folder / "tmp").glob("claude-iterate-*")))
