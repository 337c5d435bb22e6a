"""A run in a process of its own: what is said between it and the program that starts it, and the program's side.

One JSON object per line. The first line on the process's standard input says which run to start. The input then stays
open: its end means that the program is gone. The process answers on its standard output.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from claude_iterate.operations.run_request import RunRequest
from claude_iterate.system import signals
from claude_iterate.workspace.project import Project

_POLL = 0.05


class Start(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which workspace is run, and how. `project_settings` are those of the whole command. `outlives`: the run goes on
    when the program that started it is gone."""

    root: str
    workspace: str
    request: RunRequest
    project_settings: dict[str, Any] = {}
    outlives: bool = False


class Began(msgspec.Struct, frozen=True, tag=True):
    """The run has its id and the lock of its workspace."""

    run: str


class Noted(msgspec.Struct, frozen=True, tag=True):
    """Something beside the result, for the user."""

    text: str
    warning: bool = False


class Ended(msgspec.Struct, frozen=True, tag=True):
    """The run is over. Without a run: the task was completed, and was left as it is."""

    exit_code: int
    run: str = ""


class Refused(msgspec.Struct, frozen=True, tag=True):
    """There was no run, or it broke off: an expected error, or a bug with its crash report."""

    message: str
    hint: str = ""
    exit_code: int = 1


Answer = Began | Noted | Ended | Refused


class RunProcess:
    """A process that runs one workspace. `answers` are all that it has said so far."""

    def __init__(self, project: Project, workspace: str, request: RunRequest, outlives: bool = False) -> None:
        """Start it, in a session of its own: a Ctrl-C at the terminal is for the program, which passes it on. It has no
        terminal, so it prints nothing."""
        flags = project.flags.values if project.flags is not None else {}
        start = Start(str(project.root), workspace, replace(request, silent=True), flags, outlives)
        packages = str(Path(__file__).parents[3])
        found = f"import sys; sys.path.insert(0, {packages!r})"
        code = f"{found}; from {__package__}.run_child import main; sys.exit(main())"
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if outlives else None,  # it must not keep our pipes open
            bufsize=0,
            cwd=project.root,
            env=dict(project.environ),
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin, self._process.stdout
        self.pid = self._process.pid
        self.answers: list[Answer] = []
        self._unread = b""
        self._give(msgspec.json.encode(start) + b"\n")

    def _give(self, data: bytes) -> None:
        with contextlib.suppress(BrokenPipeError):  # it died at once, and `ended` tells
            while data:
                data = data[self._input.write(data) :]

    def hear(self, patience: float = 0.0) -> list[Answer]:
        """What it has said since the last time; waits at most `patience` seconds for something."""
        heard: list[Answer] = []
        while not self._output.closed and select.select([self._output], [], [], 0.0 if heard else patience)[0]:
            data = os.read(self._output.fileno(), 65536)
            if not data:
                self._output.close()
                break
            *lines, self._unread = (self._unread + data).split(b"\n")
            heard += [msgspec.json.decode(line, type=Answer) for line in lines]
        self.answers += heard
        return heard

    def await_beginning(self) -> Began | Ended | Refused:
        """The first answer that is more than a note: that the run began, or why not."""
        while True:
            self.hear(patience=1.0)
            for answer in self.answers:
                if not isinstance(answer, Noted):
                    return answer
            if self._output.closed:
                return self._died()

    def ended(self) -> Ended | Refused | None:
        """How it ended; None while it runs."""
        if self._process.poll() is None:
            return None
        self.hear()
        self.close()
        last = self.answers[-1] if self.answers else None
        return last if isinstance(last, Ended | Refused) else self._died()

    def wait(self, timeout: float | None = None) -> Ended | Refused | None:
        """Wait for its end; None when it did not come within `timeout` seconds."""
        until = None if timeout is None else time.monotonic() + timeout
        while (ended := self.ended()) is None:
            if until is not None and time.monotonic() >= until:
                return None
            self.hear(patience=_POLL) if not self._output.closed else time.sleep(_POLL)
        return ended

    def send(self, name: str) -> None:
        """Signal the process."""
        if self._process.poll() is None:
            signals.send(self.pid, getattr(signal, name))

    def close(self) -> None:
        """Let go of it: its input ends, so it ends unless it was ordered to outlive us."""
        self._input.close()
        self._output.close()

    def _died(self) -> Refused:
        code = self._process.wait()
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"
        said = f"The process of the run (pid {self.pid}) {how} before it could say how the run ended."
        return Refused(said, "Run it again: it goes on where it was.", exit_code=128 - code if code < 0 else code or 1)
