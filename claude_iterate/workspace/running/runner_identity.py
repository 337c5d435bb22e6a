"""Which process a journal or a lock file names, and whether it still lives. Never by its number alone."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

from claude_iterate.core import formats
from claude_iterate.system import processes
from claude_iterate.workspace.layout import Layout

LIVES, DEAD, UNKNOWN = "lives", "dead", "unknown"
_LONGEST_BEGINNING = 1024 * 1024
_END = 64 * 1024
_FINISHED = b'"event":{"event":"RunFinished"'


def fate(pid: Any, host: Any, birth: Any) -> str:
    """LIVES, DEAD, or UNKNOWN: it ran on another machine, in another container or before the machine was restarted."""
    if not isinstance(pid, int):
        return UNKNOWN
    here = host == os.uname().nodename
    if not isinstance(birth, str) or not birth:
        # Written by an older version. A pid that is in use may be another process by now.
        return DEAD if here and not processes.is_alive(pid) else UNKNOWN
    namespace = _namespace(birth)
    if namespace != _namespace(processes.start_identity(os.getpid())) or not (namespace or here):
        return UNKNOWN
    return LIVES if processes.is_alive(pid) and processes.start_identity(pid) == birth else DEAD


def recorded(folder: Path) -> dict[str, Any] | None:
    """The living runner of this folder that the newest journal names, in the words of a lock file. A copy of the folder
    has the same journal, but another path than the one that the run writes its log to."""
    layout = Layout(folder, folder)
    for run in reversed(layout.run_ids()):
        entry = _first_entry(layout.journal(run))
        about = entry.get("event") if entry else None
        if not entry or not isinstance(about, dict) or about.get("event") != "RunStarted":
            continue
        names = {key: about.get(key) for key in ("pid", "host", "birth")}
        if not _is_of(folder, about.get("log")) or fate(**names) != LIVES or _has_finished(layout.journal(run)):
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


def _has_finished(path: Path) -> bool:
    with contextlib.suppress(OSError), path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - _END))
        return _FINISHED in file.read()
    return False


def _namespace(identity: str) -> str:
    return identity.partition("/")[0]
