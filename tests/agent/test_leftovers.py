"""What a run left behind is ended: politely first, and only what carries its id."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from claude_iterate.agent.command.command_line import RUN_VARIABLE
from claude_iterate.agent.processes import leftovers

# Looked for on the whole machine, where tests run side by side.
RUN = f"000001-leftover-{os.getpid():06x}"
_PROGRAM = """
import os, signal, sys
from pathlib import Path
def leave(number, frame):
    Path(sys.argv[2]).write_text("SIGTERM")
    os._exit(0)
signal.signal(signal.SIGTERM, leave if sys.argv[1] == "heeds" else signal.SIG_IGN)
print(flush=True)
while True:
    signal.pause()
"""


class Left:
    """Processes that a run left."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "received"
        self._started: list[subprocess.Popen[bytes]] = []

    def start(self, how: str, run: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", _PROGRAM, how, str(self.file)]
        process = subprocess.Popen(command, env={RUN_VARIABLE: run}, stdout=subprocess.PIPE)
        self._started.append(process)
        assert process.stdout is not None
        process.stdout.readline()
        return process

    def close(self) -> None:
        for process in self._started:
            process.kill()
            process.communicate()


@pytest.fixture
def left(tmp_path: Path) -> Iterator[Left]:
    left = Left(tmp_path)
    yield left
    left.close()


def test_a_process_can_clean_up_before_it_ends(left: Left) -> None:
    """SIGTERM comes first; the process is named."""
    process = left.start("heeds", RUN)
    assert leftovers.find_leftovers(RUN) == [process.pid]
    (line,) = leftovers.end_marked(RUN)
    assert sys.executable in line
    assert process.wait() == 0
    assert left.file.read_text() == "SIGTERM"


def test_a_process_that_ignores_the_polite_signal_is_killed(left: Left) -> None:
    """Nothing of the run is left."""
    process = left.start("ignores", RUN)
    assert len(leftovers.end_marked(RUN)) == 1
    assert process.wait() == -9
    assert leftovers.find_leftovers(RUN) == []


def test_other_runs_are_left_alone(left: Left) -> None:
    """Even one whose id begins alike."""
    process = left.start("heeds", f"{RUN}0")
    assert leftovers.end_marked(RUN) == ()
    assert process.poll() is None
