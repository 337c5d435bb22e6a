"""Whether the process that wrote a journal still lives.

A free lock is not enough to know that: a copy of a workspace has the journal of a run, but not the lock that its runner
holds. Only what a dead runner started is ended, and only the state of a dead runner is taken over.
"""

from __future__ import annotations

import os
from typing import Any

from claude_iterate.system import processes
from claude_iterate.workspace.journal import reader
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.running import run_lock

LIVES, DEAD, UNKNOWN = "lives", "dead", "unknown"


def of_runner(layout: Layout, run: str) -> str:
    """LIVES, DEAD, or UNKNOWN: it ran on another machine, in another container or before the machine was restarted."""
    started = reader.beginning(layout.journal(run))
    if started is not None:
        return _liveness(started.pid, started.host, started.birth)
    named = run_lock.named(layout.lock)  # names a runner that was killed before its first entry
    return _liveness(named.get("pid"), named.get("host"), named.get("birth")) if named.get("run") == run else UNKNOWN


def pid_of(layout: Layout, run: str) -> int:
    """The runner's pid, for users; 0 when it is unknown."""
    started = reader.beginning(layout.journal(run))
    return started.pid if started is not None else 0


def _liveness(pid: Any, host: Any, identity: Any) -> str:
    if not isinstance(pid, int):
        return UNKNOWN
    here = host == os.uname().nodename
    if not isinstance(identity, str) or not identity:
        # Written by an older version. A pid that is in use may be another process by now.
        return DEAD if here and not processes.is_alive(pid) else UNKNOWN
    namespace = _namespace(identity)
    if namespace != _namespace(processes.start_identity(os.getpid())) or not (namespace or here):
        return UNKNOWN
    return LIVES if processes.is_alive(pid) and processes.start_identity(pid) == identity else DEAD


def _namespace(identity: str) -> str:
    return identity.partition("/")[0]
