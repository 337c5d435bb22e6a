"""A command that is forked from a loaded interpreter is the same process as one with an interpreter of its own."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from claude_iterate.selftest.harness.script_steps import INIT, done
from claude_iterate.selftest.harness.scripted_project import NAME, until
from tests import warm_start
from tests.e2e.conftest import Loop, loop

__all__ = ["loop"]
pytestmark = pytest.mark.skipif(not warm_start.POSSIBLE, reason="only Linux starts commands this way")
HANGING = [INIT, {"touch": "ready"}, {"hang": True}]


@pytest.fixture
def both(loop: Loop) -> list[dict[str, object]]:
    """What is given to `start` for a loaded and for a new interpreter."""
    loop.make()
    return [{}, {"umask": -1}]  # an option that a fork does not take


def test_it_is_forked_only_where_that_is_the_same(loop: Loop) -> None:
    """A variable that only a new interpreter reads, or what a fork cannot do, needs a new one."""
    assert isinstance(loop.start("--version"), warm_start._Forked)
    assert not isinstance(loop.start("--version", preexec_fn=os.getpid), warm_start._Forked)
    loop.env["PYTHONUTF8"] = "0"
    assert not isinstance(loop.start("--version"), warm_start._Forked)


@pytest.mark.parametrize("words", ["list", "show my-task --json", "run nothing", "--nonsense", "config --keys"])
def test_output_and_exit_code_are_the_same(loop: Loop, both: list[dict[str, object]], words: str) -> None:
    """For answers, refusals and wrong words."""
    warm, cold = (loop.call(*words.split(), **options) for options in both)
    assert warm == cold


def test_environment_folder_and_input_are_its_own(loop: Loop, tmp_path: Path) -> None:
    """What one command was given does not reach the next, nor the tests."""
    loop.make()
    loop.env["CLAUDE_ITERATE_DELAY"] = "7s"
    (tmp_path / "task").write_text("- from standard input\n")
    with (tmp_path / "task").open("rb") as typed:
        assert loop.finish(loop.start("setup", NAME, "--from", "-", "--force", stdin=typed)).code == 0
    assert loop.layout.instructions.read_text() == "- from standard input\n"
    assert loop.call("config", "delay").out == "7s\n"
    loop.env["CLAUDE_ITERATE_DELAY"] = "8s"
    assert loop.call("config", "delay").out == "8s\n"
    assert "CLAUDE_ITERATE_DELAY" not in os.environ


def test_a_signal_ends_it_and_its_status_is_told(loop: Loop, both: list[dict[str, object]]) -> None:
    """A kill is told as a kill, an interrupt is handled by the program; nothing is left of either."""
    loop.script(HANGING)
    for options in both:
        for number, code in ((signal.SIGKILL, -signal.SIGKILL), (signal.SIGTERM, 143)):
            (loop.workspace / "ready").unlink(missing_ok=True)
            process = loop.start("run", NAME, **options)
            until((loop.workspace / "ready").exists)
            assert process.poll() is None
            process.send_signal(number)
            assert loop.finish(process).code == code
            loop.gone()


def test_it_has_a_session_of_its_own_where_one_is_asked_for(loop: Loop) -> None:
    """And shares that of its parent otherwise."""
    loop.make()
    loop.script(HANGING)
    process = loop.start("run", NAME, start_new_session=True)
    until((loop.workspace / "ready").exists)
    assert os.getsid(process.pid) == process.pid
    assert os.getsid(loop.start("list").pid) == os.getsid(0)


def test_constants_are_changed_in_one_project_only(loop: Loop, tmp_path: Path) -> None:
    """`patch` reaches the commands that follow it, and no other test."""
    loop.make()
    loop.script(done())
    loop.patch("selftest.harness.scripted_project", PATIENCE=1.0)
    assert isinstance(process := loop.start_run(), warm_start._Forked)
    assert loop.finish(process).code == 0
    assert Loop(tmp_path / "other").constants == ()
