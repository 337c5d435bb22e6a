"""Requests to a running loop: small files that one process writes whole and the runner takes away.

A request names the run it is for, so that no clock has to tell old ones from new ones. Before the runner takes it away,
it lays its answer beside it: only the runner knows what the request means now, and it knows it at once.

Anybody can put anything into this folder. What is named like a request and is none is removed and told; what has
another name is somebody's file and stays. Nothing of it ever stops the runner.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from claude_iterate.errors import WorkspaceProblem
from claude_iterate.workspace.files import atomic, folders, foreign
from claude_iterate.workspace.layout import Layout

VERBS = ("pause", "resume", "stop", "skip", "reboot", "retry")
_NAME = rf"[0-9]{{20}}-(?:{'|'.join(VERBS)})-[0-9a-f]{{6}}\.json"
_REQUEST = re.compile(_NAME)
_ANSWER = re.compile(rf"\.{_NAME}\.answer")
_LARGEST = 64 * 1024
_TOLD_ONE_BY_ONE = 3


class Request(NamedTuple):
    """What somebody wants of the run."""

    verb: str
    now: bool = False


def post(layout: Layout, run: str, verb: str, now: bool = False) -> str:
    """Ask something of a run; the name of the request."""
    identity = f"{time.time_ns():020d}-{verb}-{os.urandom(3).hex()}.json"
    try:
        foreign.make_folder(layout.control)
        atomic.write_json(layout.control / identity, {"run": run, "verb": verb, "now": now, "pid": os.getpid()})
    except OSError as error:
        why, hint = folders.reason(error, layout.control)
        raise WorkspaceProblem(f"The request cannot be written: {why}.", hint) from None
    return identity


def answered(layout: Layout, identity: str) -> bool:
    """True once the runner has taken the request, or somebody has withdrawn it."""
    return not os.path.lexists(layout.control / identity)


def answer(layout: Layout, identity: str) -> str:
    """What the runner said to a request that it has taken; nothing when it could not write that down. Asked once."""
    path = layout.control / _answer_name(identity)
    said = foreign.read(path, _LARGEST) or b""
    with contextlib.suppress(OSError):
        path.unlink()
    return said.decode("utf-8", "replace")


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
        self._left: set[str] = set()
        self._barred = False
        self._forget_old_answers()

    def take(self, reply: Callable[[Request], str]) -> Iterator[Request | str]:
        """What has come since the last time: requests, oldest first, each answered with `reply` just before it is
        handed out, then warnings. Cheap when there is nothing, so that it can be asked often."""
        warnings: list[str] = []
        for name in self._names():
            # A name that begins with a dot is a request in the making, or an answer.
            if name in self._left or name.startswith("."):
                continue
            found = self._accept(self._folder / name, reply) if _REQUEST.fullmatch(name) else self._leave(name)
            if isinstance(found, Request):
                yield found
            else:
                warnings.append(f"Ignored {ascii(name)[1:-1][:100]} in control/: {found}.")
        if foreign.is_folder(self._folder) is False and not self._barred:
            self._barred = True
            warnings.append(f"Requests cannot reach this run: control/ is {foreign.NOT_A_FOLDER}.")
        yield from _few(warnings)

    def _names(self) -> list[str]:
        """What lies in the folder, sorted; nothing when it leads elsewhere."""
        if not foreign.is_folder(self._folder):
            return []
        try:
            with os.scandir(self._folder) as entries:
                return sorted(entry.name for entry in entries)
        except OSError:
            return []

    def _leave(self, name: str) -> str:
        """Somebody's file, whatever it is: it stays, and is told once."""
        self._left.add(name)
        return "it is no request, and stays where it is"

    def _accept(self, path: Path, reply: Callable[[Request], str]) -> Request | str:
        """The request, answered and taken away; or why there is none."""
        found = self._read(path)
        said = path.with_name(_answer_name(path.name))
        if isinstance(found, Request):
            # Without an answer the request counts all the same. Never through a link, hence "x".
            with contextlib.suppress(OSError), said.open("x", encoding="utf-8") as file:
                file.write(reply(found))
        try:
            path.unlink()
        except OSError as error:
            # It would be done again and again: so it is not done at all.
            self._left.add(path.name)
            with contextlib.suppress(OSError):
                said.unlink()
            return f"it cannot be removed: {error.strerror}"
        return found

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

    def _forget_old_answers(self) -> None:
        """Nobody waits any more for what an earlier run answered: whoever asked went away before."""
        for name in self._names():
            if _ANSWER.fullmatch(name):
                with contextlib.suppress(OSError):
                    (self._folder / name).unlink()


def _answer_name(identity: str) -> str:
    return f".{identity}.answer"


def _few(warnings: list[str]) -> list[str]:
    """A thousand of them are told in one line."""
    if len(warnings) <= _TOLD_ONE_BY_ONE:
        return warnings
    return [*warnings[:_TOLD_ONE_BY_ONE], f"Ignored {len(warnings) - _TOLD_ONE_BY_ONE} more files in control/."]
