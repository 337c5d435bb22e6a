"""Whether the process that wrote a journal still lives.

A free lock is not enough to know that: a copy of a workspace has the journal of a run, but not the lock that its runner
holds. Only what a dead runner started is ended, and only the state of a dead runner is taken over.
"""

from __future__ import annotations

from claude_iterate.workspace.journal import reader
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.running import run_lock
from claude_iterate.workspace.running.runner_identity import DEAD, LIVES, UNKNOWN, fate, recorded

__all__ = ["DEAD", "LIVES", "UNKNOWN", "is_copy", "of_runner", "pid_of"]


def of_runner(layout: Layout, run: str) -> str:
    """LIVES, DEAD or UNKNOWN."""
    started = reader.beginning(layout.journal(run))
    if started is not None:
        return fate(started.pid, started.host, started.birth)
    named = run_lock.named(layout.lock)  # names a runner that was killed before its first entry
    return fate(named.get("pid"), named.get("host"), named.get("birth")) if named.get("run") == run else UNKNOWN


def is_copy(layout: Layout, run: str) -> bool:
    """The run, which has no end here, is alive and of another workspace: this one was copied meanwhile."""
    return recorded(layout.folder) is None and of_runner(layout, run) == LIVES


def pid_of(layout: Layout, run: str) -> int:
    """The runner's pid, for users; 0 when it is unknown."""
    started = reader.beginning(layout.journal(run))
    return started.pid if started is not None else 0
