"""The guardian: it acts when the runner is gone without a word, and only then."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from signal import SIGINT, SIGKILL, SIGTERM

import pytest

from claude_iterate.agent.processes.guardian import Guardian
from claude_iterate.system import processes
from tests.e2e.conftest import until


@contextmanager
def sleeper(ignoring: tuple[str, ...] = (), **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process of its own that ignores these signals; any other one ends it at once, without a last step of Python."""
    code = "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_DFL)\n"
    code += "".join(f"signal.signal(signal.{name}, signal.SIG_IGN)\n" for name in ignoring)
    code += "print('up', flush=True)\ntime.sleep(300)"
    process = subprocess.Popen([sys.executable, "-I", "-c", code], env=environment, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def dies(process: subprocess.Popen[bytes]) -> None:
    assert process.wait(timeout=120) != 0


def bereaved(guardian: Guardian) -> None:
    """What the guardian sees when the runner is killed: its pipe ends without the last word."""
    os.close(guardian._write_end)
    guardian._process.wait(timeout=120)


def test_what_carries_the_mark_is_ended() -> None:
    """And what carries another one is not."""
    with sleeper(CLAUDE_ITERATE_RUN="run-1") as ours, sleeper(CLAUDE_ITERATE_RUN="run-2") as other:
        bereaved(Guardian("run-1", os.environ))
        dies(ours)
        assert processes.is_alive(other.pid)


def test_what_serves_the_run_beside_claude_is_ended_though_it_was_not_named_yet() -> None:
    """The runner may be killed between the start of such a process and the word about it."""
    with sleeper(CLAUDE_ITERATE_RUN="run-1.beside") as ours, sleeper(CLAUDE_ITERATE_RUN="run-2.beside") as other:
        bereaved(Guardian("run-1", os.environ))
        dies(ours)
        assert processes.is_alive(other.pid)


def test_an_adopted_orphan_without_the_mark_is_ended_when_it_was_told_of() -> None:
    """A process that cleared its environment can be found only by its number and its birth."""
    with sleeper() as orphan, sleeper() as other:
        guardian = Guardian("run-3", os.environ)
        guardian.remember([orphan.pid])
        bereaved(guardian)
        dies(orphan)
        assert processes.is_alive(other.pid)


def test_a_number_that_belongs_to_another_process_by_now_is_left_alone() -> None:
    """The birth does not fit."""
    with sleeper() as other:
        guardian = Guardian("run-4", os.environ)
        os.write(guardian._write_end, f"{other.pid}:1\n".encode())
        bereaved(guardian)
        assert processes.is_alive(other.pid)


def test_a_dismissed_guardian_leaves_in_peace() -> None:
    """The last word means that all is well."""
    with sleeper(CLAUDE_ITERATE_RUN="run-5") as ours:
        guardian = Guardian("run-5", os.environ)
        guardian.remember([ours.pid])
        guardian.dismiss()
        assert processes.is_alive(ours.pid)
        assert not processes.is_alive(guardian.pid)


def test_it_cannot_be_found_by_our_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither while it waits nor while it cleans up, wherever Python is; a `killall python` spares it as long as it
    waits."""
    python = tmp_path / "claude-iterate" / "python3"
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    monkeypatch.setattr(sys, "executable", str(python))
    run = f"run-{os.getpid()}-name"
    with sleeper(("SIGINT", "SIGTERM"), CLAUDE_ITERATE_RUN=run) as ours:
        guardian = Guardian(run, os.environ)
        waiting = processes.describe(guardian.pid)
        assert "claude" not in waiting
        assert "python" not in waiting
        os.close(guardian._write_end)
        until(lambda: processes.describe(guardian.pid) != waiting)
        assert processes.describe(guardian.pid).startswith("python3 ")
        assert "claude" not in processes.describe(guardian.pid)
        dies(ours)
    guardian._process.wait(timeout=120)


@pytest.mark.parametrize(
    ("ignoring", "ended_by"),
    [((), SIGINT), (("SIGINT",), SIGTERM), (("SIGINT", "SIGTERM"), SIGKILL)],
    ids=["SIGINT", "SIGTERM", "SIGKILL"],
)
def test_it_asks_politely_first(ignoring: tuple[str, ...], ended_by: int) -> None:
    """Only SIGINT lets Claude end its own tools; who does not listen is ended with whatever it takes."""
    run = f"run-{os.getpid()}-{ended_by}"  # the guardian of another one would be less polite
    with sleeper(ignoring, CLAUDE_ITERATE_RUN=run) as ours:
        bereaved(Guardian(run, os.environ))
        assert ours.wait(timeout=120) == -ended_by
