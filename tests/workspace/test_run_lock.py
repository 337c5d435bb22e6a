"""One holder at a time; a crash frees the lock; the holder can be named."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from claude_iterate.errors import WorkspaceProblem
from claude_iterate.system import locks
from claude_iterate.workspace.running import run_lock
from tests.package_path import PACKAGES

HOLD = """
import sys, pathlib
from claude_iterate.workspace.running import run_lock as lock
with lock.hold(pathlib.Path(sys.argv[1]), "w", "run-1"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_holder_is_refused_and_told_who_has_it(tmp_path: Path) -> None:
    """pid, host and start; and after a kill the lock is free."""
    path = tmp_path / ".lock"
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(PACKAGES)}
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        with (
            pytest.raises(WorkspaceProblem, match=f"pid {process.pid} on .+, started 20"),
            run_lock.hold(path, "w", "r"),
        ):
            pass
        holder = run_lock.holder(path)
        assert holder is not None
        assert (holder["pid"], holder["run"]) == (process.pid, "run-1")
        process.kill()
    with run_lock.hold(path, "w", "r"):
        pass
    assert run_lock.holder(path) is None


def test_those_who_look_are_not_taken_for_holders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither other readers nor a process that wants the lock, even if its file names a living process."""
    monkeypatch.setattr(run_lock, "_RETRY_FOR", 60.0)
    path = tmp_path / ".lock"
    path.write_text('{"pid": 1}')
    looking = os.open(path, os.O_RDONLY)
    assert locks.try_lock(looking, shared=True)
    assert run_lock.holder(path) is None
    threading.Timer(0.1, os.close, [looking]).start()
    with run_lock.hold(path, "w", "r"):
        assert run_lock.holder(path) is not None


def test_a_full_disk_is_a_problem_with_a_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder is named, and the lock is free again."""

    def full(*_arguments: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / ".lock"
    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", full)
        with pytest.raises(WorkspaceProblem, match="No space left") as problem, run_lock.hold(path, "w", "r"):
            pass
    assert str(tmp_path) in problem.value.hint
    assert run_lock.holder(path) is None


def test_nobody_holds_a_lock_that_was_never_taken(tmp_path: Path) -> None:
    """And asking makes no file."""
    assert run_lock.holder(tmp_path / ".lock") is None
    assert not (tmp_path / ".lock").exists()


def test_a_folder_that_cannot_be_written_is_a_clear_problem(tmp_path: Path) -> None:
    """Not a traceback."""
    with pytest.raises(WorkspaceProblem, match="cannot be written"), run_lock.hold(tmp_path / "no" / ".lock", "w", "r"):
        pass
