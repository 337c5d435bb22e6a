"""Which process a journal or a lock file names, and whether it still lives. Never by its number alone.

A free lock is not enough to know that: a copy of a workspace has the journal of a run, but not the lock that its runner
holds. Only what a dead runner started is ended, and only the state of a dead runner is taken over.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

from claude_iterate.core import formats
from claude_iterate.core.events import RunStarted
from claude_iterate.system import processes
from claude_iterate.workspace import journal_reader
from claude_iterate.workspace.layout import Layout

LIVES, DEAD, UNKNOWN = "lives", "dead", "unknown"
_LONGEST_BEGINNING = 1024 * 1024


def fate(pid: Any, host: Any, birth: Any) -> str:
    """LIVES, DEAD, or UNKNOWN: it ran on another machine, in another container or before the machine was restarted."""
    if not isinstance(pid, int):
        return UNKNOWN
    here = host == os.uname().nodename
    if not isinstance(birth, str) or not birth:
        # A pid that is in use may be another process by now.
        return DEAD if here and not processes.is_alive(pid) else UNKNOWN
    namespace = _namespace(birth)
    if namespace != _namespace(processes.start_identity(os.getpid())) or not (namespace or here):
        return UNKNOWN
    return LIVES if processes.is_alive(pid) and processes.start_identity(pid) == birth else DEAD


def living_runner(folder: Path) -> dict[str, Any] | None:
    """The living runner of this folder that the newest journal names, in the words of a lock file. A copy of the folder
    has the same journal, but another path than the one that the run writes its log to."""
    layout = Layout(folder, folder)
    for run in reversed(layout.run_ids()):
        entry = _first_entry(layout.journal(run))
        about = entry.get("event") if entry else None
        if not entry or not isinstance(about, dict) or about.get("event") != "RunStarted":
            continue
        names = {key: about.get(key) for key in ("pid", "host", "birth")}
        if (
            not _is_of(folder, about.get("log"))
            or fate(**names) != LIVES
            or journal_reader.has_finished(layout.journal(run))
        ):
            return None
        at = entry.get("at")
        return names | {"started": formats.moment(at if isinstance(at, int | float) else 0), "run": run}
    return None


def _first_entry(path: Path) -> dict[str, Any] | None:
    with contextlib.suppress(OSError, ValueError, RecursionError), path.open("rb") as file:
        found = json.loads(file.readline(_LONGEST_BEGINNING))
        return found if isinstance(found, dict) else None
    return None


def _is_of(folder: Path, log: Any) -> bool:
    return isinstance(log, str) and os.path.realpath(os.path.dirname(log)) == os.path.realpath(folder)  # noqa: PTH120


def _namespace(identity: str) -> str:
    return identity.partition("/")[0]


def fate_of(layout: Layout, run: str, started: RunStarted | None = None) -> str:
    """LIVES, DEAD or UNKNOWN. `started`: how its journal begins, if that is known."""
    started = started or journal_reader.beginning(layout.journal(run))
    if started is not None:
        return fate(started.pid, started.host, started.birth)
    named = holder_named_in(layout.lock)  # names a runner that was killed before its first entry
    return fate(named.get("pid"), named.get("host"), named.get("birth")) if named.get("run") == run else UNKNOWN


def is_copy(layout: Layout, run: str, started: RunStarted | None = None) -> bool:
    """The run, which has no end here, is alive and of another workspace: this one was copied meanwhile."""
    return fate_of(layout, run, started) == LIVES and living_runner(layout.folder) is None


def pid_of(layout: Layout, run: str) -> int:
    """The runner's pid, for users; 0 when it is unknown."""
    started = journal_reader.beginning(layout.journal(run))
    return started.pid if started is not None else 0


def holder_named_in(path: Path) -> dict[str, Any]:
    """The holder that the file names; it may have been killed since."""
    with contextlib.suppress(OSError, ValueError, RecursionError):
        found = json.loads(path.read_bytes())
        if isinstance(found, dict):
            return found
    return {}
