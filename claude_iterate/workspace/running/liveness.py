"""Whether the process that wrote a journal still lives.

A free lock alone does not tell: who copies a workspace copies the journal of a run, but not the lock that its runner
holds. Only what a dead runner started is ended, and only the standing of a dead one is taken over.
"""

from __future__ import annotations

import os
import socket
from typing import Any

from claude_iterate.system import processes
from claude_iterate.workspace.journal import reader
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.running import run_lock

LIVES, DEAD, UNKNOWN = "lives", "dead", "unknown"


def fate(layout: Layout, run: str) -> str:
    """LIVES, DEAD, or UNKNOWN: it ran on another machine, in another container or before the machine was restarted."""
    started = reader.beginning(layout.journal(run))
    if started is not None:
        return _fate(started.pid, started.host, started.birth)
    named = run_lock.named(layout.lock)  # one that was killed before its first entry is named there
    return _fate(named.get("pid"), named.get("host"), named.get("birth")) if named.get("run") == run else UNKNOWN


def pid_of(layout: Layout, run: str) -> int:
    """The runner's number, for people; 0 when nobody knows."""
    started = reader.beginning(layout.journal(run))
    return started.pid if started is not None else 0


def _fate(pid: Any, host: Any, birth: Any) -> str:
    if not isinstance(pid, int):
        return UNKNOWN
    here = host == socket.gethostname()
    if not isinstance(birth, str) or not birth:
        # Written by an older version. A number that is in use may be another process's by now.
        return DEAD if here and not processes.is_alive(pid) else UNKNOWN
    counted_by = _counted_by(birth)
    if counted_by != _counted_by(processes.start_identity(os.getpid())) or not (counted_by or here):
        return UNKNOWN
    return LIVES if processes.is_alive(pid) and processes.start_identity(pid) == birth else DEAD


def _counted_by(birth: str) -> str:
    return birth.partition("/")[0]
