"""The program's side of a run in a process of its own: starts it, hears its answers, waits for its end."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from io import FileIO
from pathlib import Path

import msgspec

from claude_iterate.operations.run_processes.run_order import Answer, Began, Ended, Noted, Refused, RunOrder
from claude_iterate.system import signals

_POLL = 0.05


class StartedRun:
    """A process that runs one workspace. `answers` are all that it has said so far."""

    def __init__(self, order: RunOrder, environ: Mapping[str, str]) -> None:
        """Start it, in a session of its own: a Ctrl-C at the terminal is for the program, which passes it on."""
        with contextlib.ExitStack() as theirs, contextlib.ExitStack() as failed:
            orders, self._input = _pipe(theirs, failed, 1)
            answers, self._answers_pipe = _pipe(theirs, failed, 0)
            self._process = _start(order, environ, (orders, answers))
            failed.pop_all()
        self.pid = self._process.pid
        self.answers: list[Answer] = []
        self._unread = b""
        self._output = self._answers_pipe.fileno()
        self._give(msgspec.json.encode(order) + b"\n")

    def _give(self, data: bytes) -> None:
        with contextlib.suppress(BrokenPipeError):  # it died at once, and `ended` tells
            while data:
                data = data[self._input.write(data) :]

    def hear(self, patience: float = 0.0) -> list[Answer]:
        """What it has said since the last time; waits at most `patience` seconds for something."""
        heard: list[Answer] = []
        while self._output >= 0 and select.select([self._output], [], [], 0.0 if heard else patience)[0]:
            data = os.read(self._output, 65536)
            if not data:
                self._answers_pipe.close()
                self._output = -1
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
            if self._output < 0:
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
            self.hear(patience=_POLL) if self._output >= 0 else time.sleep(_POLL)
        return ended

    def send(self, name: str) -> None:
        """Signal the process."""
        if self._process.poll() is None:
            signals.send(self.pid, getattr(signal, name))

    def close(self) -> None:
        """Let go of it: its input ends, so it ends unless it was ordered to outlive us."""
        self._input.close()
        self._answers_pipe.close()
        self._output = -1

    def _died(self) -> Refused:
        code = self._process.wait()
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"
        said = f"The process of the run (pid {self.pid}) {how} before it could say how the run ended."
        return Refused(said, "Run it again: it goes on where it was.", exit_code=128 - code if code < 0 else code or 1)


def _pipe(theirs: contextlib.ExitStack, failed: contextlib.ExitStack, ours: int) -> tuple[int, FileIO]:
    """Its end, and our end: 0 to read, 1 to write."""
    ends = os.pipe()
    theirs.callback(os.close, ends[1 - ours])
    return ends[1 - ours], failed.enter_context(FileIO(ends[ours], "rw"[ours]))


def _start(order: RunOrder, environ: Mapping[str, str], streams: tuple[int, int]) -> subprocess.Popen[bytes]:
    packages = str(Path(__file__).parents[3])
    found = f"import sys; sys.path.insert(0, {packages!r})"
    code = f"{found}; from {__package__}.run_child import main; sys.exit(main())"
    return subprocess.Popen(
        [sys.executable, "-P", "-c", code],
        stdin=streams[0],
        stdout=streams[1],
        stderr=subprocess.DEVNULL if order.outlives else None,  # it must not keep our pipes open
        cwd=order.root,
        env=dict(environ),
        start_new_session=True,
    )
