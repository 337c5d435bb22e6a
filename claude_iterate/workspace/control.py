"""Requests to a running loop: small files that one process writes whole and the runner takes away.

A request names the run it is for, so that no clock has to tell old ones from new ones. Anybody can put anything into
this folder: whatever is no request is removed and told, and never stops the runner.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from pathlib import Path
from typing import Any, NamedTuple

from claude_iterate.errors import WorkspaceProblem
from claude_iterate.workspace import atomic
from claude_iterate.workspace.layout import Layout

VERBS = ("pause", "resume", "stop", "skip", "reboot", "retry")
_LARGEST = 64 * 1024
_TOLD_ONE_BY_ONE = 3


class Request(NamedTuple):
    """What somebody wants of the run."""

    verb: str
    now: bool = False


class Taken(NamedTuple):
    """What was found: requests, oldest first, and what is to be said of the rest."""

    requests: list[Request]
    warnings: list[str]


def post(layout: Layout, run: str, verb: str, now: bool = False) -> str:
    """Ask something of a run; the name of the request."""
    identity = f"{time.time_ns():020d}-{verb}-{os.urandom(3).hex()}.json"
    try:
        layout.control.mkdir(exist_ok=True)
        atomic.write_json(layout.control / identity, {"run": run, "verb": verb, "now": now, "pid": os.getpid()})
    except OSError as error:
        raise WorkspaceProblem(
            f"The request cannot be written: {error.strerror}.", f"Check permissions and free space of {layout.control}"
        ) from None
    return identity


def answered(layout: Layout, identity: str) -> bool:
    """True once the runner has taken the request, or somebody has withdrawn it."""
    return not os.path.lexists(layout.control / identity)


def withdraw(layout: Layout, identity: str) -> bool:
    """Take a request back that nobody has answered; False when somebody has."""
    try:
        (layout.control / identity).unlink()
    except OSError:
        return False
    return True


class Letterbox:
    """The runner's side: takes the requests for one run out of the folder."""

    def __init__(self, layout: Layout, run: str) -> None:
        self._folder = layout.control
        self._run = run
        self._stuck: set[str] = set()

    def take(self) -> Taken:
        """What has come since the last time. Cheap when there is nothing, so that it can be asked often."""
        try:
            with os.scandir(self._folder) as entries:
                # A name that begins with a dot is a request in the making.
                names = sorted(entry.name for entry in entries if not entry.name.startswith("."))
        except OSError:  # there is no such folder
            return Taken([], [])
        requests: list[Request] = []
        warnings: list[str] = []
        for name in names:
            if name in self._stuck:
                continue
            path = self._folder / name
            found = self._read(path)
            try:
                path.unlink()
            except OSError as error:
                # It would be done again and again: so it is not done at all.
                self._stuck.add(name)
                found = f"it cannot be removed: {error.strerror}"
            if isinstance(found, Request):
                requests.append(found)
            else:
                warnings.append(f"Ignored {ascii(name)[1:-1][:100]} in control/: {found}.")
        return Taken(requests, _few(warnings))

    def _read(self, path: Path) -> Request | str:
        """The request, or why it is none."""
        document: Any = None
        with contextlib.suppress(OSError, ValueError, RecursionError):
            if not path.is_file() or path.is_symlink():
                return "it is not a plain file"
            with path.open("rb") as file:
                data = file.read(_LARGEST + 1)
            if len(data) > _LARGEST:
                return "it is too large for a request"
            document = json.loads(data)
        if not isinstance(document, dict):
            return "it is no request"
        if document.get("verb") not in VERBS:
            return "it asks for something unknown"
        if document.get("run") != self._run:
            return "it was meant for another run"
        return Request(document["verb"], document.get("now") is True)


def _few(warnings: list[str]) -> list[str]:
    """A thousand of them are told in one line."""
    if len(warnings) <= _TOLD_ONE_BY_ONE:
        return warnings
    return [*warnings[:_TOLD_ONE_BY_ONE], f"Ignored {len(warnings) - _TOLD_ONE_BY_ONE} more files in control/."]
