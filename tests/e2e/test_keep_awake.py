"""The computer is kept awake exactly as long as a run is on."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.e2e.conftest import DONE, HANGING, Loop, until

AS_TOLD = 'shift 3; "$@"'
STUBBORN = 'trap "" INT TERM HUP; sleep 300 & wait; wait'


def install(loop: Loop, deed: str) -> Path:
    """A `systemd-inhibit` that writes down its pid and how it was called, then does this. No run is too short."""
    called = loop.folder / "bin" / "called"
    loop.executable("systemd-inhibit", f'echo $$ > {called.parent}/pid\necho "$@" > {called}\n{deed}')
    loop.set(keep_awake=True)
    loop.patch("engine.loop", _LASTING=0.0)
    loop.make()
    return called


@pytest.fixture
def inhibitor(loop: Loop) -> Path:
    """One that does what it was told to run, as the real one."""
    return install(loop, AS_TOLD)


def test_it_is_held_during_a_run_and_let_go_after_it(loop: Loop, inhibitor: Path) -> None:
    """Nothing is left, and nobody takes it for something that Claude left."""
    loop.script([{"init": {}}, {"wait_for": str(inhibitor)}, *DONE[1:]])
    assert loop.run().code == 0
    assert inhibitor.read_text().startswith("--what=idle:sleep --who=claude-iterate")
    assert loop.processes() == []
    assert loop.events("LeftoversEnded") == []


def test_it_does_not_survive_a_killed_runner(loop: Loop, inhibitor: Path) -> None:
    """The pipe closes, and with it everything."""
    loop.script([{"init": {}}, {"wait_for": str(inhibitor)}, *HANGING[1:]])
    loop.kill(loop.working())


def test_one_that_hangs_does_not_survive_the_run(loop: Loop) -> None:
    """Nor does what it started; and it is no leftover of Claude's."""
    called = install(loop, STUBBORN)
    loop.script([{"init": {}}, {"wait_for": str(called)}, *DONE[1:]])
    assert loop.run().code == 0
    loop.gone()
    assert loop.events("LeftoversEnded") == []


def test_one_that_hangs_does_not_survive_a_killed_runner(loop: Loop) -> None:
    """The guardian knows of it, and of what it started."""
    called = install(loop, STUBBORN)
    loop.script([{"init": {}}, {"wait_for": str(called)}, *HANGING[1:]])
    process = loop.working()
    loop.kill(process)


def test_when_it_is_killed_its_own_helper_is_no_leftover(loop: Loop, inhibitor: Path) -> None:
    """Nobody reads of a `cat` that Claude never started; at the end it is gone all the same."""
    loop.script([{"init": {}}, {"wait_for": str(inhibitor)}, {"touch": "ready"}, {"wait_for": "go"}, *DONE[1:]])
    process = loop.working()
    pid = int((inhibitor.parent / "pid").read_text())
    until(lambda: Path(f"/proc/{pid}/task/{pid}/children").read_text())
    helper = int(Path(f"/proc/{pid}/task/{pid}/children").read_text())
    os.kill(pid, signal.SIGKILL)
    until(lambda: Path(f"/proc/{helper}/stat").read_text().rpartition(")")[2].split()[1] == str(process.pid))
    loop.go()
    done = loop.finish(process)
    assert done.code == 0
    assert loop.events("LeftoversEnded") == []
    assert "left behind" not in done.err
    loop.gone()


def test_a_short_run_does_without(loop: Loop, inhibitor: Path) -> None:
    """No computer falls asleep by itself so soon after its user typed a command."""
    loop.patch("engine.loop", _LASTING=3600.0)
    loop.env["CLAUDE_ITERATE_FAKE_PACE"] = "0.1"
    assert loop.run("-m", "1").code in {0, 1}
    assert not inhibitor.exists()


@pytest.mark.setting("keep_awake")
@pytest.mark.parametrize(
    ("flags", "setting", "wanted"), [((), "true", True), ((), "false", False), (("--dry-run",), "true", False)]
)
def test_it_is_not_wanted_always(
    loop: Loop, inhibitor: Path, flags: tuple[str, ...], setting: str, wanted: bool
) -> None:
    """Off by setting; never for a dry run. A run that lasts has it otherwise."""
    loop.env |= {"CLAUDE_ITERATE_KEEP_AWAKE": setting, "CLAUDE_ITERATE_FAKE_PACE": "0.1"}
    loop.run(*flags, "-m", "1")
    assert inhibitor.exists() == wanted
