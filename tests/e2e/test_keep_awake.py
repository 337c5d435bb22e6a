"""The computer is kept awake exactly as long as a run is on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import until
from tests.e2e.test_steering import DONE, HANGING


@pytest.fixture
def inhibitor(loop: Any) -> Path:
    """A `systemd-inhibit` that writes down how it was called, then does what it was told to run, as the real one."""
    folder = loop.folder / "bin"
    folder.mkdir()
    program = folder / "systemd-inhibit"
    called = folder / "called"
    program.write_text(f'#!/bin/sh\necho "$@" >> {called}\nshift 3\n"$@"\n')
    program.chmod(0o755)
    loop.env["PATH"] = f"{folder}:{loop.env['PATH']}"
    loop.make()
    return Path(called)


def test_it_is_held_during_a_run_and_let_go_after_it(loop: Any, inhibitor: Path) -> None:
    """Nothing is left, and nobody takes it for something that Claude left."""
    loop.script([{"init": {}}, {"wait_for": str(inhibitor)}, *DONE[1:]])
    assert loop.run().code == 0
    assert inhibitor.read_text().startswith("--what=idle:sleep --who=claude-iterate")
    assert loop.processes() == []
    assert loop.events("LeftoversEnded") == []


def test_it_does_not_survive_a_killed_runner(loop: Any, inhibitor: Path) -> None:
    """The pipe closes, and with it everything."""
    loop.script([{"init": {}}, {"wait_for": str(inhibitor)}, *HANGING[1:]])
    process = loop.start("run", "my-task")
    until((loop.workspace / "ready").exists)
    process.kill()
    process.wait()
    loop.gone()


@pytest.mark.parametrize("setting", ["CLAUDE_ITERATE_KEEP_AWAKE", "--dry-run"])
def test_it_is_not_wanted_always(loop: Any, inhibitor: Path, setting: str) -> None:
    """Off by setting; never for a rehearsal."""
    if setting.startswith("-"):
        assert loop.run(setting, "-m", "1").code == 0
    else:
        loop.env[setting] = "false"
        loop.script(DONE)
        assert loop.run().code == 0
    assert not inhibitor.exists()
