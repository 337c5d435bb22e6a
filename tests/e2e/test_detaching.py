"""A run without a terminal: detached from its beginning or by a key, looked at and stopped from others."""

from __future__ import annotations

import json
import os
import shutil
import signal

import pytest

from claude_iterate.system import processes
from tests.e2e.conftest import DONE, HANGING, PATIENCE, PATIENT, UNDONE, Loop, until
from tests.e2e.terminal import Open


def runner(loop: Loop) -> int:
    """The process that runs the run."""
    return int(loop.events("RunStarted")[-1]["pid"])


def await_end(loop: Loop) -> str:
    """Until nothing of the run is left; why it ended."""
    until(lambda: loop.events("RunFinished"))
    until(lambda: not loop.processes())
    assert not loop.layout.control.exists() or os.listdir(loop.layout.control) == []
    assert loop.layout.lock.read_bytes() == b""
    return str(loop.events("RunFinished")[-1]["reason"])


def test_it_outlives_its_terminal_is_seen_twice_and_stopped_from_there(loop: Loop, terminal: Open) -> None:
    """The shell and the terminal it was started from end; one looks on at a terminal, one through a pipe; key s there
    stops it after its iteration; both say how it ended; nothing is left."""
    loop.make()
    loop.script(PATIENT, UNDONE)
    first = terminal("run", "my-task", "--detach")
    assert first.finish() == 0
    for line in ("Starting my-task", "Look: claude-iterate attach my-task", "Stop: claude-iterate stop my-task"):
        first.await_text(line)
    first.close()
    until((loop.workspace / "ready").exists)
    pid = runner(loop)
    assert os.getsid(pid) == pid
    assert {os.readlink(f"/proc/{pid}/fd/{handle}") for handle in (0, 1, 2)} == {os.devnull}
    piped = loop.start("attach", "my-task")
    assert piped.stderr is not None
    assert b"Starting my-task (loop mode, at most 50 iterations)" in piped.stderr.readline()
    second = terminal("attach", "my-task")
    second.await_text("[1/50]")
    second.await_text("Running iteration 1...")
    second.type("s")
    second.await_text("Stopping after this iteration")
    loop.go()
    assert second.finish() == 0
    assert "Stopped by the command `stop`" in second.seen
    seen = loop.finish(piped)
    assert seen.code == 0
    assert "Stopped by the command `stop`" in seen.out
    assert await_end(loop) == "stopped"


def test_key_d_gives_the_shell_its_terminal_back(loop: Loop, terminal: Open) -> None:
    """The run goes on to its end, with its log; the shell has the terminal as it was, and may close it."""
    loop.make()
    loop.script(PATIENT, DONE)
    screen = terminal("run", "my-task")
    until((loop.workspace / "ready").exists)
    until(lambda: not screen.echoes)
    screen.type("d")
    assert screen.finish() == 0
    screen.await_text("Detached: my-task continues without its terminal.")
    screen.await_text("claude-iterate attach my-task")
    shown = screen.seen
    screen.close()
    loop.go()
    assert await_end(loop) == "completed"
    assert screen.seen == shown
    log = loop.log()
    assert "Detached: my-task continues" in log
    assert "nothing has proven it" in log


def test_answers_and_refusals_come_before(loop: Loop, terminal: Open) -> None:
    """Of a completed task the terminal hears that there is nothing to do; a refused start has its message and exit
    code, and no run."""
    loop.make()
    loop.script(DONE)
    assert loop.call("run", "my-task").code == 0
    done = terminal("run", "my-task", "--detach")
    done.await_text("nothing to do")
    assert done.finish() == 0
    assert len(loop.layout.run_ids()) == 1
    assert terminal("run", "my-task", "--detach", "--again").finish() == 0
    assert await_end(loop) == "completed"
    loop.layout.instructions.unlink()
    refused = loop.call("run", "my-task", "--detach")
    assert refused.code == 1
    assert "INSTRUCTIONS.md" in refused.err
    assert len(loop.layout.run_ids()) == 2


def test_ctrl_c_asks_whether_to_leave_or_to_stop(loop: Loop, terminal: Open) -> None:
    """Any other key looks on; l leaves the run alone; e ends it now, and the exit code is that of the run."""
    loop.make()
    loop.script(HANGING)
    assert loop.call("run", "my-task", "--detach").code == 0
    until((loop.workspace / "ready").exists)
    screen = terminal("attach", "my-task")
    until(lambda: not screen.echoes)
    screen.type("\x03")
    screen.await_text("Leave the run (l)")
    drawn = screen.seen.count("[1/50]")
    screen.type("x")
    screen.await_text("[1/50]", drawn + 1)
    screen.type("\x03")
    screen.await_text("Leave the run (l)", 2)
    screen.type("l")
    assert screen.finish() == 0
    screen.await_text("Left: my-task continues.")
    assert processes.is_alive(runner(loop))
    screen = terminal("attach", "my-task", "--detailed-exit-code")
    until(lambda: not screen.echoes)
    screen.type("\x03")
    screen.await_text("Leave the run (l)")
    screen.type("e")
    assert screen.finish() == 8
    assert await_end(loop) == "stopped"


def test_a_killed_run_is_told_with_the_next_command(loop: Loop) -> None:
    """While attached, and afterwards."""
    loop.make()
    loop.script(HANGING)
    assert loop.call("run", "my-task", "--detach").code == 0
    until((loop.workspace / "ready").exists)
    attached = loop.start("attach", "my-task")
    assert attached.stderr is not None
    assert b"Starting" in attached.stderr.readline()
    os.kill(runner(loop), signal.SIGKILL)
    for seen in (loop.finish(attached), loop.call("attach", "my-task")):
        assert seen.code == 1
        assert f"The run was killed: its process (pid {runner(loop)}) is gone" in seen.err
        assert "Continue: claude-iterate run my-task" in seen.err
    for look in ("show", "watch"):
        assert "claude-iterate run my-task" in loop.call(look, "my-task").out
    until(lambda: not loop.processes())


@pytest.mark.parametrize(
    ("taken", "code", "said"),
    [
        ("deleted", 0, ["Restored the workspace, which was deleted during iteration 1.", "nothing has proven it"]),
        (
            "moved",
            1,
            ["The run of my-task ended: its folder is gone, and its record with it", "claude-iterate list"],
        ),
    ],
)
def test_who_is_attached_sees_the_true_end(loop: Loop, taken: str, code: int, said: list[str]) -> None:
    """Of a run whose workspace Claude deleted, which comes back, and of one whose workspace was moved."""
    loop.make()
    ready, go = loop.folder / "ready", loop.folder / "go"
    loop.script([{"init": {}}, {"touch": str(ready)}, {"wait_for": str(go)}, {"result": {}}], DONE)
    assert loop.call("run", "my-task", "--detach", "--no-delay").code == 0
    until(ready.exists)
    attached = loop.start("attach", "my-task")
    assert attached.stderr is not None
    assert b"Starting" in attached.stderr.readline()
    shutil.rmtree(loop.workspace) if taken == "deleted" else loop.workspace.rename(loop.folder / "moved")
    go.touch()
    seen = loop.finish(attached)
    assert (seen.code, [words for words in said if words not in seen.out + seen.err]) == (code, []), seen
    assert "NAME" not in seen.err
    if taken == "deleted":
        assert await_end(loop) == "completed"
        assert loop.call("attach", "my-task").code == 0
    until(lambda: not loop.processes())


@pytest.mark.parametrize(("number", "code"), [(signal.SIGKILL, -9), (signal.SIGTERM, 143)])
def test_what_ends_the_front_ends_the_run(loop: Loop, terminal: Open, number: int, code: int) -> None:
    """The shell knows only the front, and believes that it ended the run: nothing may go on unseen."""
    loop.make()
    loop.script(HANGING)
    screen = terminal("run", "my-task")
    until((loop.workspace / "ready").exists)
    with open(f"/proc/{runner(loop)}/stat") as file:
        front = int(file.read().rpartition(")")[2].split()[1])
    os.kill(front, number)
    assert await_end(loop) == "terminated"
    assert screen.process.wait(PATIENCE) == code % 256


def test_what_cannot_be_attached_to(loop: Loop) -> None:
    """No run yet; one that is over; a journal without a beginning; one of a later version; options that exclude."""
    loop.make()
    never = loop.call("attach", "my-task")
    assert (never.code, "Start one: claude-iterate run my-task" in never.err) == (1, True)
    loop.script(UNDONE)
    assert loop.call("run", "my-task", "-m", "1").code == 0
    over = loop.call("attach", "my-task", "--detailed-exit-code")
    assert over.code == 3
    assert "my-task is not running" in over.err
    assert "Reached maximum iterations (1)" in over.out
    journal = loop.layout.journal(loop.layout.run_ids()[-1])
    whole = journal.read_bytes()
    journal.write_bytes(whole[20:])
    torn = loop.call("attach", "my-task")
    assert (torn.code, "has lost its beginning" in torn.err, "logs my-task --run" in torn.err) == (1, True, True)
    first, _, rest = whole.partition(b"\n")
    later = json.loads(first)
    later["event"]["format"] = 99
    journal.write_bytes(json.dumps(later).encode() + b"\n" + rest)
    newer = loop.call("attach", "my-task")
    assert (newer.code, "was written by a newer claude-iterate" in newer.err) == (1, True)
    for wrong in (["--detach", "--watch"], ["--detach", "--json"], ["--watch", "--attended"], ["other", "--detach"]):
        assert loop.call("run", "my-task", *wrong).code == 2
    assert len(loop.layout.run_ids()) == 1


def test_run_watch_leaves_or_stops(loop: Loop, terminal: Open) -> None:
    """The full screen on the run that it starts: q leaves it alone and says so; Ctrl-C asks; a run that ended is told,
    with its exit code."""
    loop.make()
    loop.script(HANGING)
    screen = terminal("run", "my-task", "--watch")
    until((loop.workspace / "ready").exists)
    screen.await_text("iteration 1 of 50")
    screen.type("q")
    assert screen.finish() == 0
    screen.await_text("Left: my-task continues.")
    assert processes.is_alive(runner(loop))
    loop.call("stop", "my-task", "--now")
    assert await_end(loop) == "stopped"
    (loop.workspace / "ready").unlink()
    screen = terminal("run", "my-task", "--watch", "--detailed-exit-code")
    until((loop.workspace / "ready").exists)
    screen.await_text("iteration 1 of 50")
    screen.type("\x03")
    screen.await_text("stop after this iteration")
    screen.type("e")
    until(lambda: len(loop.events("RunFinished")) == 1)
    screen.await_text("stopped")
    screen.type("q")
    assert screen.finish() == 8
    screen.await_text("Stopped by the command `stop`")
    assert await_end(loop) == "stopped"
