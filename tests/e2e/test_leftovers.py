"""What a run leaves: processes that are not its children but carry its id, and half-written files."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from claude_iterate.system import processes
from tests.e2e.conftest import Loop, until

HANGING: list[dict[str, Any]] = [{"init": {}}, {"touch": "ready"}, {"hang": True}]
PATIENT: list[dict[str, Any]] = [{"init": {}}, {"wait_for": "go"}, {"status": {"complete": True}}, {"result": {}}]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere every search is thorough")
def test_a_cut_ends_everything_that_carries_the_mark(loop: Loop) -> None:
    """Before the next iteration begins, not only at the end of the run: a forced end searches the whole machine."""
    loop.make()
    loop.script(HANGING, PATIENT)
    process = loop.start("run", "my-task")
    until((loop.workspace / "ready").exists)
    (run,) = (event["run"] for event in loop.events("RunStarted"))
    stranger = subprocess.Popen(["sleep", "300"], env={"CLAUDE_ITERATE_RUN": run, "PATH": loop.env["PATH"]})
    try:
        assert loop.call("skip", "my-task").code == 0
        until(lambda: len(loop.events("IterationStarted")) == 2)
        assert not processes.is_alive(stranger.pid)
    finally:
        stranger.kill()
        stranger.wait()
    (loop.workspace / "go").touch()
    assert loop.finish(process).code == 0
    assert ["sleep 300" in " ".join(event["processes"]) for event in loop.events("LeftoversEnded")] == [True]


def test_a_run_removes_what_killed_writers_left(loop: Loop) -> None:
    """Half-written files in the workspace and its folders, right at the next start."""
    loop.make()
    loop.script([{"init": {}}, {"status": {"complete": True}}, {"result": {}}])
    left = [loop.workspace / name for name in ("..metadata.json.abcd1234.tmp", "notes/.1-x.md.abcd1234.tmp")]
    (loop.workspace / "notes").mkdir()
    for path in left:
        path.write_text("{")
    assert loop.run().code == 0
    assert not any(path.exists() for path in left)
