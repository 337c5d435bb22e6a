"""The run in odd surroundings: what was there before is left alone, what is missing does no harm."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from shlex import quote

import pytest

from claude_iterate.selftest.harness.script_steps import INIT, RESULT, finish, proceed
from tests.e2e.agents import with_git
from tests.e2e.conftest import DONE, Loop, until


def test_runs_in_the_same_second_lose_nothing(loop: Loop) -> None:
    """Three short runs: three iterations, three times the money; ids are in the order of the runs."""
    loop.make()
    loop.script(proceed())
    for _ in range(3):
        loop.run("-q", "-m", "1")
    carried = loop.events("RunStarted")[-1]["carried"]
    assert carried.pop("breaker")["unmoved"] == 2
    assert carried == {"iterations": 2, "cost_usd": pytest.approx(0.02), "runs": 2, "report": {"complete": False}}
    shown = loop.document("show", "my-task")
    assert shown["counters"]["execution"] == 3
    assert shown["counters"]["costUsd"] == pytest.approx(0.03)


def test_processes_that_were_there_before_are_left_alone(loop: Loop) -> None:
    """`server & exec claude-iterate run`: the server is nobody's leftover."""
    loop.make()
    loop.script(DONE)
    script = (
        f"sleep 300 >/dev/null 2>&1 & echo $! > {quote(str(loop.folder))}/pid;"
        f" exec {quote(sys.executable)} -m claude_iterate run my-task"
    )
    done = subprocess.run(["/bin/sh", "-c", script], cwd=loop.root, env=loop.env, capture_output=True, check=False)
    pid = int((loop.folder / "pid").read_text())
    os.kill(pid, signal.SIGKILL)  # raises when it is gone
    assert done.returncode == 0


def test_orphans_of_such_processes_are_left_alone(loop: Loop) -> None:
    """What a neighbour starts and leaves while the run is on is not ended with the run; our own leftovers are."""
    loop.make()
    loop.script(
        [
            {"init": {}},
            {"touch": "ready"},
            {"wait_for": "pid"},
            {"grandchild": {"seconds": 300, "own_session": True}},
            *DONE[1:],
        ]
    )
    folder = loop.workspace
    quoted = quote(str(folder))
    daemon = f"setsid sleep 300 >/dev/null 2>&1 & echo $! > {quoted}/pid"
    neighbour = f"while [ ! -e {quoted}/ready ]; do sleep 0.02; done; {daemon}"
    script = f"({neighbour}) & exec {quote(sys.executable)} -m claude_iterate run my-task"
    done = subprocess.run(["/bin/sh", "-c", script], cwd=loop.root, env=loop.env, capture_output=True, check=False)
    pid = int((folder / "pid").read_text())
    assert done.returncode == 0
    assert [left for left in loop.processes() if left != pid] == []
    os.kill(pid, signal.SIGKILL)  # raises when it is gone


def test_nohup_is_heeded(loop: Loop) -> None:
    """A signal that was ignored when the run began stays ignored."""
    loop.make()
    loop.script([{"init": {}}, {"touch": "ready"}, {"wait_for": "go"}, *DONE[1:]])
    process = loop.start("run", "my-task", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    until((loop.workspace / "ready").exists)
    process.send_signal(signal.SIGHUP)
    loop.go()
    assert loop.finish(process).code == 0


@pytest.mark.parametrize("closed", [0, 1, 2])
def test_a_closed_stream_is_no_bug(loop: Loop, closed: int) -> None:
    """Standard input, output or error may be missing; the run goes its way and no file of ours takes their number."""
    loop.make()
    loop.script(DONE)
    script = f"exec {quote(sys.executable)} -m claude_iterate run my-task {closed}>&-"
    done = subprocess.run(["/bin/sh", "-c", script], cwd=loop.root, env=loop.env, capture_output=True, check=False)
    assert done.returncode == 0
    assert loop.events("RunFinished")[0]["reason"] == "completed"


def test_a_prompt_that_nobody_reads_holds_nothing_up(loop: Loop) -> None:
    """A Claude that never reads its stdin is cut like any silent one, however long the prompt."""
    loop.make("- x\n" * 60_000)
    loop.claude("exec sleep 300")
    loop.set(timeouts__idle="0.5", stop__failures=1)
    assert loop.run().code == 1
    assert loop.events("IterationFinished")[0]["outcome"]["kind"] == "idle"


def test_half_a_line_is_a_sign_of_life(loop: Loop) -> None:
    """Dots without a line end are no silence."""
    loop.make()
    loop.env["CLAUDE_ITERATE_TIMEOUTS__IDLE"] = "5"
    dots = [step for _ in range(12) for step in ({"stderr": "."}, {"sleep": 0.5})]
    loop.script([{"init": {}}, *dots, *DONE[1:]])
    assert loop.run().code == 0
    assert loop.events("CutStarted") == []


def test_a_relative_command_is_one_from_the_project_root(loop: Loop) -> None:
    """From wherever the tool is called."""
    loop.make()
    tools = loop.root / "tools"
    tools.mkdir()
    (tools / "claude").write_text(
        "#!/bin/sh\ncase $1 in --version) echo 1; exit;; esac\n"
        'printf \'{"complete":true}\' > "$CLAUDE_ITERATE_WORKSPACE/.status.json"\n'
        'echo \'{"type":"result","subtype":"success","is_error":false}\'\n'
    )
    (tools / "claude").chmod(0o755)
    loop.env["CLAUDE_ITERATE_CLAUDE__COMMAND"] = "tools/claude"
    sub = loop.root / "sub"
    sub.mkdir()
    assert loop.call("-C", str(sub), "run", "my-task").code == 0


def test_no_home_is_no_bug(loop: Loop) -> None:
    """An unknown user in a container has none."""
    loop.make()
    loop.script(DONE)
    del loop.env["HOME"]
    assert loop.run().code == 0


@pytest.mark.parametrize("repository", [True, False])
def test_a_file_with_the_own_output_is_no_work(loop: Loop, repository: bool) -> None:
    """The claim is proven at once, and nothing but the work is measured."""
    loop.make()
    if repository:
        with_git(loop)
    loop.checks("test -e a.txt")
    loop.script(finish({"shell": "echo a > a.txt"}))
    command = f"{shlex.join(loop.program)} run my-task > run.log 2>&1"
    loop.finish(loop.start("-c", command, program=("/bin/sh",)))
    assert "✓ Task completed successfully after 1 iteration: proven by checks" in (loop.root / "run.log").read_text()
    assert [event["changes"]["files"] for event in loop.events("WorkMeasured")] == [["a.txt"]]


def test_the_own_output_keeps_no_idle_run_going(loop: Loop) -> None:
    """The breaker ends it as if the output went elsewhere."""
    loop.make()
    loop.env["CLAUDE_ITERATE_STOP__NO_PROGRESS"] = "2"
    loop.script([INIT, RESULT])
    command = f"{shlex.join(loop.program)} run my-task > nohup.out 2>&1"
    loop.finish(loop.start("-c", command, program=("/bin/sh",)))
    (ended,) = loop.events("RunFinished")
    assert (ended["reason"], len(loop.events("IterationFinished"))) == ("no_progress", 2)
