"""Requests to a running loop: small files that a command writes whole and the runner removes.

A request names the run it is for, so that old requests are recognised without a clock. Before the runner removes it, it
writes an answer beside it: only the runner knows what the request means at that moment.

The folder may hold anything. A file that is named like a request and is not one is removed with a warning; a file with
another name is left alone. Nothing in the folder can stop the runner.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from claude_iterate.errors import WorkspaceProblem
from claude_iterate.system import file_errors, untrusted_files
from claude_iterate.workspace.layout import Layout

VERBS = ("pause", "resume", "stop", "skip", "reboot", "retry")
HOLD = "hold"
"""What a program asks of a run when another run met a usage limit. No command of the user."""
_NAME = rf"[0-9]{{20}}-(?:{'|'.join((*VERBS, HOLD))})-[0-9a-f]{{6}}\.json"
_REQUEST = re.compile(_NAME)
_ANSWER = re.compile(rf"\.{_NAME}\.answer")
_LARGEST = 64 * 1024


class Request(msgspec.Struct, frozen=True):
    """What the user wants the run to do, or another run of it. `until` and the rest are those of a `hold`."""

    verb: str
    now: bool = False
    by: str = ""
    until: float = 0.0
    detail: str = ""
    run: str = ""


def post(layout: Layout, run: str, verb: str, now: bool = False, **more: str | float) -> str:
    """Write a request; returns its name. `more`: what a `hold` says."""
    words = {"run": run, "verb": verb, "now": now, "pid": os.getpid(), **more}
    identity = f"{time.time_ns():020d}-{verb}-{os.urandom(3).hex()}.json"
    with file_errors.explain_errors(WorkspaceProblem, "The request cannot be written", layout.control):
        untrusted_files.make_folder(layout.control)
        untrusted_files.write_json(layout.control / identity, words)
    return identity


def is_taken(layout: Layout, identity: str) -> bool:
    """True when the runner has taken the request, or a command has withdrawn it."""
    return not untrusted_files.exists(layout.control / identity)


def take_answer(layout: Layout, identity: str) -> str:
    """The runner's answer to a request that it has taken; empty when it could not write one. It is removed."""
    path = layout.control / _answer_name(identity)
    said = untrusted_files.read(path, _LARGEST) or b""
    with contextlib.suppress(OSError):
        untrusted_files.unlink(path)
    return said.decode("utf-8", "replace")


def withdraw(layout: Layout, identity: str) -> bool:
    """Withdraw a request; False when the runner has already taken it."""
    try:
        untrusted_files.unlink(layout.control / identity)
    except OSError:
        return False
    return True


class RequestFolder:
    """The runner's side: takes the requests for one run out of the folder."""

    def __init__(self, layout: Layout, run: str) -> None:
        self._folder = layout.control
        self._run = run
        self._ignored: set[str] = set()
        self._warned = False
        for name in untrusted_files.names_in(self._folder) if untrusted_files.is_folder(self._folder) else ():
            # Answers of earlier runs that no command fetched.
            if _ANSWER.fullmatch(name):
                with contextlib.suppress(OSError):
                    untrusted_files.unlink(self._folder / name)

    def take(self, reply: Callable[[Request], str]) -> Iterator[Request | str]:
        """What came since the last call, oldest first: requests, each answered with `reply` just before it is yielded,
        and warnings. Cheap when there is nothing, so that it can be called often."""
        is_folder = untrusted_files.is_folder(self._folder)
        for name in untrusted_files.names_in(self._folder) if is_folder else ():
            if name in self._ignored or not _REQUEST.fullmatch(name):
                continue
            found = self._accept(self._folder / name, reply)
            yield found if isinstance(found, Request) else f"Ignored {name} in control/: {found}."
        if is_folder is False and not self._warned:
            self._warned = True
            yield f"Requests cannot reach this run: control/ is {untrusted_files.NOT_A_FOLDER}."

    def _accept(self, path: Path, reply: Callable[[Request], str]) -> Request | str:
        """The request, answered and removed; or why it is not one."""
        found = self._read(path)
        said = path.with_name(_answer_name(path.name))
        if isinstance(found, Request):
            # The request counts even if the answer cannot be written.
            with contextlib.suppress(OSError):
                untrusted_files.write_new(said, reply(found))
        try:
            untrusted_files.unlink(path)
        except OSError as error:
            # It would be carried out again and again, so it is not carried out at all.
            self._ignored.add(path.name)
            with contextlib.suppress(OSError):
                untrusted_files.unlink(said)
            return f"it cannot be removed: {error.strerror}"
        return found

    def _read(self, path: Path) -> Request | str:
        """The request, or why it is not one."""
        try:
            if not untrusted_files.is_file(path):
                return "it is not a plain file"
            found = untrusted_files.look(path, _LARGEST)
            if not found.whole:
                return "it is too large for a request"
            request = msgspec.json.decode(found.data, type=Request)
        except (OSError, ValueError, RecursionError):
            return "it is not a request"
        if request.verb not in {*VERBS, HOLD}:
            return "it asks for something unknown"
        if request.run != self._run:
            return "it was meant for another run"
        return request


def _answer_name(identity: str) -> str:
    return f".{identity}.answer"
