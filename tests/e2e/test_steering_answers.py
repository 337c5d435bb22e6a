"""The answer to a request says what really happens, at once, whatever the run is doing."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from shlex import quote

import pytest

from tests.e2e.conftest import Loop, until
from tests.e2e.test_steering import DONE, PATIENT, UNDONE, order, outcomes, running, say


@pytest.mark.parametrize("verb", ["skip", "retry"])
def test_nothing_is_promised_while_a_check_runs(loop: Loop, verb: str) -> None:
    """There is no iteration to skip and no wait to end, and both terminals say so."""
    loop.make()
    check = (
        f"touch {quote(str(loop.workspace))}/ready; until test -e {quote(str(loop.workspace))}/go; do sleep 0.05; done"
    )
    loop.env["CLAUDE_ITERATE_VERIFICATION__CHECKS"] = json.dumps([check])
    loop.script(DONE)
    process = running(loop)
    assert "a claim is being verified" in say(loop, verb)
    (loop.workspace / "go").touch()
    done = loop.finish(process)
    assert done.code == 0
    assert "a claim is being verified" in done.err
    assert "begins now" not in done.err
    assert outcomes(loop) == [(1, "ok")]


def bytes_read(pid: int) -> int:
    """What a process has read so far; the kernel adds what its finished children read."""
    words = Path(f"/proc/{pid}/io").read_text().split()
    return int(words[words.index("rchar:") + 1])


@pytest.mark.skipif(not os.access("/proc/self/io", os.R_OK), reason="this system does not tell what a process reads")
def test_a_huge_journal_delays_no_answer(loop: Loop) -> None:
    """The answer is right, and the command has not read the 100 MB for it."""
    loop.make()
    loop.script(PATIENT, DONE)
    process = running(loop)
    (path,) = loop.workspace.glob("runs/*/events.ndjson")
    words = {"seq": 5, "at": 1.0, "elapsed": 1.0, "event": {"event": "Said", "text": "x" * 900}}
    with path.open("a") as journal:
        journal.write((json.dumps(words, separators=(",", ":")) + "\n") * 100_000)
    before = bytes_read(os.getpid()) + bytes_read(process.pid)
    assert "my-task pauses after iteration 1." in say(loop, "pause")
    taken = bytes_read(os.getpid()) + bytes_read(process.pid) - before
    assert "already asked for" in say(loop, "pause")
    assert "does not pause" in say(loop, "resume")
    assert list((loop.workspace / "control").iterdir()) == []
    (loop.workspace / "go").touch()
    assert loop.finish(process).code == 0
    assert taken < path.stat().st_size / 2


def test_a_control_folder_that_leads_elsewhere_is_left_alone(loop: Loop) -> None:
    """The run warns once and goes on; what lies there stays; the request is refused with the reason."""
    loop.make()
    elsewhere = loop.folder / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "thesis.doc").write_text("precious")
    (loop.workspace / "control").symlink_to(elsewhere)
    (loop.workspace / "notes").symlink_to(elsewhere)
    (elsewhere / "secret.md").write_text("not for Claude")
    loop.script(PATIENT, UNDONE, DONE)
    process = running(loop)
    refused = loop.call("stop", "my-task")
    assert refused.code == 1
    assert "control is a link" in refused.err
    (loop.workspace / "go").touch()
    assert loop.finish(process).code == 0
    assert [str(event["text"]).split(":")[0] for event in loop.events("Warned")] == [
        "Notes do not reach Claude",
        "Requests cannot reach this run",
    ]
    assert sorted(path.name for path in elsewhere.iterdir()) == ["secret.md", "thesis.doc"]
    assert "not for Claude" not in (loop.state / "call-0001.stdin").read_text()


def test_the_first_stop_names_the_reason(loop: Loop) -> None:
    """Ctrl-C, and then `stop` from another terminal: still interrupted, exit 130."""
    loop.make()
    loop.script(PATIENT)
    process = running(loop)
    process.send_signal(signal.SIGINT)
    until(lambda: loop.events("StopRequested"))
    assert "stops after iteration 1" in say(loop, "stop")
    (loop.workspace / "go").touch()
    assert loop.finish(process).code == 130
    assert outcomes(loop) == [(1, "ok")]
    assert order(loop)[-1] == "RunFinished"
    assert loop.events("RunFinished")[0]["reason"] == "interrupted"
