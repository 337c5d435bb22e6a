"""The run in odd surroundings: what was there before is left alone, what is missing does no harm."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from shlex import quote
from typing import Any

import pytest

from tests.e2e.conftest import Loop, until
from tests.e2e.test_permissions import on_terminal

WORK: list[dict[str, Any]] = [{"init": {}}, {"status": {"complete": True}}, {"result": {}}]
GOING_ON: list[dict[str, Any]] = [{"init": {}}, {"status": {"complete": False}}, {"result": {"total_cost_usd": 0.01}}]


def test_runs_in_the_same_second_lose_nothing(loop: Loop) -> None:
    """Three short runs: three iterations, three times the money; ids are in the order of the runs."""
    loop.make()
    loop.script(GOING_ON)
    for _ in range(3):
        loop.run("-q", "-m", "1")
    carried = loop.events("RunStarted")[-1]["carried"]
    assert carried.pop("breaker")["unmoved"] == 2
    assert carried == {"iterations": 2, "cost_usd": pytest.approx(0.02), "runs": 2, "report": {"complete": False}}
    shown = json.loads(loop.call("show", "my-task", "--json").out)
    assert shown["counters"]["execution"] == 3
    assert shown["counters"]["costUsd"] == pytest.approx(0.03)


def test_processes_that_were_there_before_are_left_alone(loop: Loop) -> None:
    """`server & exec claude-iterate run`: the server is nobody's leftover."""
    loop.make()
    loop.script(WORK)
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
            *WORK[1:],
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
    loop.script([{"init": {}}, {"touch": "ready"}, {"wait_for": "go"}, *WORK[1:]])
    process = loop.start("run", "my-task", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    until((loop.workspace / "ready").exists)
    process.send_signal(signal.SIGHUP)
    (loop.workspace / "go").touch()
    assert loop.finish(process).code == 0


@pytest.mark.parametrize("depth", [100, 300, 600, 950, 5000])
def test_a_deeply_nested_line_is_survived(loop: Loop, depth: int) -> None:
    """In a result, in a tool's input: shown as what it is, never a crash."""
    loop.make()
    deep = "[" * depth + "]" * depth
    answer = (
        f'{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"1","content":{deep}}}]}}}}\n'
    )
    call = (
        '{"type":"assistant","message":{"content":[{"type":"tool_use","id":"1","name":"X","input":{"a":'
        + deep
        + "}}]}}\n"
    )
    loop.script([{"init": {}}, {"raw": call + answer}, *WORK[1:]])
    assert loop.run("-v").code == 0


@pytest.mark.parametrize("closed", [0, 1, 2])
def test_a_closed_stream_is_no_bug(loop: Loop, closed: int) -> None:
    """Standard input, output or error may be missing; the run goes its way and no file of ours takes their number."""
    loop.make()
    loop.script(WORK)
    script = f"exec {quote(sys.executable)} -m claude_iterate run my-task {closed}>&-"
    done = subprocess.run(["/bin/sh", "-c", script], cwd=loop.root, env=loop.env, capture_output=True, check=False)
    assert done.returncode == 0
    assert loop.events("RunFinished")[0]["reason"] == "completed"


def test_a_prompt_that_nobody_reads_holds_nothing_up(loop: Loop) -> None:
    """A Claude that never reads its stdin is cut like any silent one, however long the prompt."""
    loop.make("- x\n" * 60_000)
    program = loop.folder / "claude"
    program.write_text("#!/bin/sh\ncase $1 in --version) echo 1; exit;; esac\nexec sleep 300\n")
    program.chmod(0o755)
    loop.env |= {"CLAUDE_ITERATE_CLAUDE__COMMAND": str(program), "CLAUDE_ITERATE_TIMEOUTS__IDLE": "0.5"}
    loop.env["CLAUDE_ITERATE_STOP__FAILURES"] = "1"
    assert loop.run().code == 1
    assert loop.events("IterationFinished")[0]["outcome"]["kind"] == "idle"


def test_the_time_of_a_run_bounds_its_iteration(loop: Loop) -> None:
    """`--max-duration` ends a running iteration too."""
    loop.make()
    loop.script([{"init": {}}, {"hang": True}])
    done = loop.run("--max-duration", "1s", "--detailed-exit-code")
    assert done.code == 7
    assert loop.processes() == []


def test_half_a_line_is_a_sign_of_life(loop: Loop) -> None:
    """Dots without a line end are no silence."""
    loop.make()
    loop.env["CLAUDE_ITERATE_TIMEOUTS__IDLE"] = "5"
    dots = [step for _ in range(12) for step in ({"stderr": "."}, {"sleep": 0.5})]
    loop.script([{"init": {}}, *dots, *WORK[1:]])
    assert loop.run().code == 0
    assert loop.events("CutStarted") == []


def test_secrets_of_claudes_own_environment_are_masked(loop: Loop) -> None:
    """`claude.env` is an environment like any other."""
    loop.make()
    loop.env["CLAUDE_ITERATE_CLAUDE__ENV"] = json.dumps({"MY_TOKEN": "swordfish-swordfish"})
    loop.script([{"init": {}}, {"say": "the word is swordfish-swordfish"}, *WORK[1:]])
    done = loop.run("-v")
    assert "swordfish" not in done.err + loop.log()


def test_flags_decide_permissions_on_a_terminal_too(loop: Loop) -> None:
    """Nobody is asked who has said it on the command line."""
    loop.make()
    loop.script(WORK)
    del loop.env["CLAUDE_ITERATE_CLAUDE__PERMISSION_MODE"]
    code, seen = on_terminal(loop, [], "run", "my-task", "--permission-mode", "acceptEdits")
    assert (code, "How much" in seen) == (0, False)


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
    loop.script(WORK)
    del loop.env["HOME"]
    assert loop.run().code == 0


@pytest.mark.parametrize("odd", ["\\ud83d", "NaN"])
def test_an_odd_value_does_not_hide_a_completion(loop: Loop, odd: str) -> None:
    """A lone surrogate or NaN in an optional field."""
    loop.make()
    text = '{"complete": true, "summary": "' + odd + '"}' if odd != "NaN" else '{"complete": true, "x": NaN}'
    loop.script([{"init": {}}, {"write": {"path": ".status.json", "text": text}}, {"result": {}}])
    assert "after 1 iteration" in loop.run().out


def test_a_nul_in_settings_is_refused_with_its_name(loop: Loop) -> None:
    """No program can be given one."""
    loop.make()
    (loop.root / ".claude-iterate.json").write_text(json.dumps({"claude": {"env": {"A": "x\u0000y"}}}))
    done = loop.run()
    assert (done.code, "claude.env" in done.err) == (1, True)
