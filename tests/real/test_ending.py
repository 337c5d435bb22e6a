"""However the runner ends while the real Claude runs a command: nothing of it lives on, and nothing is lost."""

from __future__ import annotations

import signal
import subprocess

import pytest

from tests.e2e.conftest import until
from tests.mocks.messages_api import text, tool
from tests.real.conftest import RealLoop

pytestmark = pytest.mark.real_claude


def working(real: RealLoop) -> subprocess.Popen[bytes]:
    """A run whose Claude is in the middle of a long command, which ignores what it can."""
    real.make()
    ready = real.folder / "ready"
    command = f"trap '' INT TERM HUP; touch {ready}; {real.idler()} 300; {real.folder}/bin/sleep 300"
    real.api.script(tool("Bash", command=command))
    process = real.start("run", "my-task", "--detailed-exit-code")
    until(lambda: ready.exists() or process.poll() is not None)
    assert ready.exists(), real.finish(process)
    assert len(real.processes()) >= 2
    return process


def test_sigterm_ends_claude_and_its_command(real: RealLoop) -> None:
    """Exit 143, the log is whole, and no process is left."""
    process = working(real)
    process.send_signal(signal.SIGTERM)
    assert real.finish(process).code == 143
    real.gone()
    assert real.ending()["reason"] == "terminated"
    assert real.iterations() == [(1, "interrupted")]


def test_the_second_ctrl_c_ends_claude_and_its_command(real: RealLoop) -> None:
    """The first lets the iteration finish, the second does not: exit 130."""
    process = working(real)
    process.send_signal(signal.SIGINT)
    until(lambda: real.events("StopRequested"))
    process.send_signal(signal.SIGINT)
    assert real.finish(process).code == 130
    real.gone()


def test_kill_9_of_the_runner_leaves_nothing_and_the_next_run_goes_on(real: RealLoop) -> None:
    """The guardian ends Claude and its command; the next run does the same iteration again."""
    process = working(real)
    real.kill(process)
    real.api.script(real.report(True), text("Done."))
    done = real.run()
    assert done.code == 0, done.err
    assert [event["number"] for event in real.events("IterationStarted")] == [1, 1]
    assert real.iterations() == [(1, "ok")]
    assert real.ending()["iterations"] == 1
