"""Whether a runner lives: only for certain, and never by its number alone."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from claude_iterate.core.events import Entry, RunStarted
from claude_iterate.system import processes
from claude_iterate.workspace.journal_writer import JournalWriter
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.run_folder import run_lock

RUN = "000001-20260101-000000-aaaaaa"
HOST = socket.gethostname()


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path, tmp_path)


@pytest.fixture
def living() -> Iterator[subprocess.Popen[bytes]]:
    """A living process."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def began(layout: Layout, pid: int, birth: str, host: str = HOST) -> None:
    writer = JournalWriter(layout.journal(RUN), pytest.fail)
    writer.append(Entry(1, 1.0, 0.0, RunStarted(RUN, "w", "loop", 1, pid, host, "0", ("claude",), birth=birth)))
    writer.close()


def test_the_same_process_lives_until_it_is_dead(layout: Layout, living: subprocess.Popen[bytes]) -> None:
    """One that is not reaped yet is dead, too. Its host's name may change meanwhile."""
    began(layout, living.pid, processes.start_identity(living.pid), "renamed" if processes.LINUX else HOST)
    assert run_lock.fate_of(layout, RUN) == run_lock.LIVES
    living.kill()
    os.waitid(os.P_PID, living.pid, os.WEXITED | os.WNOWAIT)
    assert run_lock.fate_of(layout, RUN) == run_lock.DEAD


def test_a_number_that_another_process_has_by_now_is_a_dead_runners(layout: Layout) -> None:
    """Number and birth together name a process."""
    began(layout, os.getpid(), processes.start_identity(1))
    assert run_lock.fate_of(layout, RUN) == run_lock.DEAD


@pytest.mark.skipif(not processes.LINUX, reason="there pids are distinguished by the name of the host")
@pytest.mark.parametrize("elsewhere", ["another-start.4026531836/77", "/77"])
def test_what_was_counted_elsewhere_tells_nothing(layout: Layout, elsewhere: str) -> None:
    """Another machine, container or start of this machine."""
    began(layout, os.getpid(), elsewhere)
    assert run_lock.fate_of(layout, RUN) == run_lock.UNKNOWN


def test_one_that_was_killed_before_its_first_entry_is_named_in_the_lock(layout: Layout) -> None:
    """Without a name nothing is known."""
    assert run_lock.fate_of(layout, RUN) == run_lock.UNKNOWN
    named = {"pid": 4194303, "host": HOST, "run": RUN, "birth": processes.start_identity(os.getpid())}
    layout.lock.write_text(json.dumps(named))
    assert run_lock.fate_of(layout, RUN) == run_lock.DEAD
    layout.lock.write_text(json.dumps(named | {"pid": "x", "host": [], "birth": 3}))
    assert run_lock.fate_of(layout, RUN) == run_lock.UNKNOWN
