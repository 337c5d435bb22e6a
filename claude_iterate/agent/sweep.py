"""Ends what a run left behind: processes that carry the run's mark in their environment, and adopted orphans.

Claude's shell tool gives each command a session of its own, so killing Claude's process group misses them.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable

from claude_iterate import operating_system
from claude_iterate.agent.command import RUN_VARIABLE

_POLITE = 0.5
_PATIENCE = 5.0
_POLL = 0.02


def leftovers(run: str) -> list[int]:
    """Living processes of this run, by their mark."""
    return [pid for pid in operating_system.processes_with(RUN_VARIABLE, run) if operating_system.is_alive(pid)]


def orphans(known: Iterable[int]) -> set[int] | None:
    """Children of ours that we did not start: orphans we adopted as subreaper. Dead ones are reaped on the way."""
    children = operating_system.children()
    if children is None:
        return None
    strangers = children - set(known)
    living = {pid for pid in strangers if operating_system.is_alive(pid)}
    for pid in strangers - living:
        operating_system.reap(pid)
    return living


def end_leftovers(run: str, known: Iterable[int] = (), thorough: bool = False) -> tuple[str, ...]:
    """End everything of this run that still lives; gives a line for each process that was ended.

    The quick way asks only for adopted orphans, which on Linux is all there can be; `thorough` looks through all
    processes of the machine, as does any system that cannot name our children.
    """
    known = (*known, os.getpid())
    if not thorough:
        adopted = orphans(known)
        if adopted is not None and not adopted:
            return ()
    ended: dict[int, str] = {}
    began = time.monotonic()
    while (waited := time.monotonic() - began) < _PATIENCE:
        living = {*leftovers(run), *(orphans(known) or ())} - set(known)
        if not living:
            break
        for pid in living:
            ended.setdefault(pid, operating_system.describe_process(pid))
            operating_system.send(pid, signal.SIGTERM if waited < _POLITE else signal.SIGKILL)
        time.sleep(_POLL)
    return tuple(ended.values())
