"""One holder at a time; a crash frees the lock; the holder can be named."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from claude_iterate.core.events import Entry, RunStarted
from claude_iterate.errors import WorkspaceProblem
from claude_iterate.system import processes
from claude_iterate.system.files import try_lock
from claude_iterate.workspace.run_folder import run_lock
from claude_iterate.workspace.run_folder.run_lock import Holder
from tests.package_path import PACKAGES

HOLD = """
import sys, pathlib
from claude_iterate.workspace.run_folder import run_lock as lock
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
        assert (holder.pid, holder.run) == (process.pid, "run-1")
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
    assert try_lock(looking, shared=True)
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


@pytest.fixture
def other(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that holds the lock."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(PACKAGES)}
    argv = [sys.executable, "-c", HOLD, str(tmp_path / ".lock")]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        yield process
        process.kill()


@pytest.mark.parametrize("content", [None, "", '{"pid": 4194303, "host": "h", "birth": "x/1", "run": "old"}'])
def test_a_lock_file_that_was_replaced_frees_nothing(
    tmp_path: Path, other: subprocess.Popen[bytes], content: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder is locked as well. A holder of last week that the new file names is not believed."""
    monkeypatch.setattr(run_lock, "_RETRY_FOR", 0.0)
    path = tmp_path / ".lock"
    path.unlink()
    if content is not None:
        path.write_text(content.replace("x/1", processes.start_identity(os.getpid())))
    assert run_lock.holder(path) == Holder()
    with pytest.raises(WorkspaceProblem, match="is already running: pid unknown"), run_lock.hold(path, "w", "r"):
        pass
    other.kill()
    other.wait()
    with run_lock.hold(path, "w", "r"):
        pass


def test_a_lock_file_that_was_replaced_is_locked_and_named_again(tmp_path: Path) -> None:
    """When the holder looks; before and afterwards it is held, and in the end both files are free."""
    path = tmp_path / ".lock"
    with run_lock.hold(path, "w", "run-1") as held:
        assert not held.keep()
        path.rename(tmp_path / "before")
        path.write_text("of last week")
        assert held.keep()
        assert not held.keep()
        assert run_lock.holder_named_in(path).run == "run-1"
        assert run_lock.holder(tmp_path / "before") is not None
        path.unlink()
        assert held.keep()
        assert run_lock.holder_named_in(path).run == "run-1"
    assert run_lock.holder(path) is None
    assert (path.read_bytes(), (tmp_path / "before").read_bytes()) == (b"", b"")


def journal(folder: Path, log: Path, pid: int, *more: str) -> None:
    """The journal of a run that this process began."""
    path = folder / "runs" / "000001-20260101-000000-aaaaaa" / "events.ndjson"
    path.parent.mkdir(parents=True, exist_ok=True)
    birth, host = processes.start_identity(pid), os.uname().nodename
    began = RunStarted("r", "w", "loop", 1, pid, host, "0", (), log=str(log), birth=birth)
    lines = [msgspec.json.encode(Entry(1, 1.0, 0.0, began)).decode(), *more]
    path.write_text("\n".join(lines) + "\n")


def test_where_folders_cannot_be_locked_the_journal_names_the_runner(
    tmp_path: Path, other: subprocess.Popen[bytes]
) -> None:
    """Its process lives and it writes here: refused. A copy, or one that finished, does not count."""
    folder = tmp_path / "w"
    folder.mkdir()
    path, elsewhere = folder / ".lock", tmp_path / "original" / "iterate.log"
    journal(folder, elsewhere, other.pid)
    with run_lock.hold(path, "w", "r"):
        pass
    journal(folder, folder / "iterate.log", other.pid, '{"seq":2,"event":{"event":"RunFinished","reason":"stopped"}}')
    with run_lock.hold(path, "w", "r"):
        pass
    journal(folder, folder / "iterate.log", other.pid)
    with pytest.raises(WorkspaceProblem, match=f"already running: pid {other.pid} on"), run_lock.hold(path, "w", "r"):
        pass
    other.kill()
    other.wait()
    with run_lock.hold(path, "w", "r"):
        pass


def test_damaged_journals_name_no_runner(tmp_path: Path) -> None:
    """Neither one that is empty, nor one that is not JSON, nor a folder in its place."""
    for number, content in enumerate([b"", b"\xff\n", b"[]\n", b'{"event": 3}\n', None], 1):
        path = tmp_path / "runs" / f"{number:06d}" / "events.ndjson"
        path.parent.mkdir(parents=True)
        path.write_bytes(content) if content is not None else path.mkdir()
    with run_lock.hold(tmp_path / ".lock", "w", "r"):
        pass


@pytest.mark.parametrize("data", [b'{"pid": 5, "host": "\xff"}', b'{"pid": "5"}', b"\xff", b"[" * 100_000, b""])
def test_a_damaged_lock_file_names_nobody(tmp_path: Path, data: bytes) -> None:
    """Claude can write into it. The locks are what counts; who holds them is unknown."""
    path = tmp_path / ".lock"
    path.write_bytes(data)
    assert run_lock.holder_named_in(path) == Holder()
