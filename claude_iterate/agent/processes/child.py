"""Runs a program, such as Claude or a check: starts it in its own session, sends its input, reads its output, ends it.

A thread drains both pipes all the time, because Claude does not wait for a slow reader at its end. It keeps the bytes,
frames lines, and translates them, so events are what leaves it. The end of the process is its exit, never the end of a
pipe: a grandchild may hold the pipe for hours.
"""

from __future__ import annotations

import contextlib
import io
import os
import select
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO

import msgspec

from claude_iterate.agent.command.sandbox import Command
from claude_iterate.agent.protocol.framing import LineFramer
from claude_iterate.core.events import Event
from claude_iterate.errors import AgentProblem, ExpectedError, WorkspaceProblem
from claude_iterate.system import processes, signals, untrusted_files

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

CHUNK = 256 * 1024
_PIECE = 64 * 1024
_CHECK_MS = 50
"""Between two checks whether the process still runs, where the system does not tell its end."""
_LOOK_MS = 500
"""Also where it does; and after the exit, while a pipe is held, only a look notices that the process was abandoned."""
LARGEST_RECORDING = 256 * 1024 * 1024
"""Bytes of one call: a program that prints without end would fill the disk in minutes."""
CUT = b'\n{"type":"claude-iterate","text":"Here the recording was cut: Claude printed more than is kept of a call."}\n'
AFTER_INTERRUPT = 3.0
AFTER_KILL = 2.0


class Printed(msgspec.Struct, frozen=True):
    """What one of the two streams brought: the size of its whole lines, and what they say. Half of a line says nothing,
    but is a sign of life."""

    pid: int
    stream: str
    size: int
    events: Sequence[Event]


class StreamEnded(msgspec.Struct, frozen=True):
    """One of the two streams is at its end."""

    pid: int
    stream: str


class Exited(msgspec.Struct, frozen=True):
    """The process has ended."""

    pid: int
    code: int


Message = Printed | StreamEnded | Exited
Reader = Callable[[str, list[bytes]], Sequence[Event]]
"""Makes events of the lines of a stream, `stdout` or `stderr`, in the thread that reads them."""


class ChildProcess:
    """One running program. Everything it does arrives through `post`, which may wait: then a flood waits in the pipe,
    and not in our memory. Errors call the program by its `label`.

    `in_own_sandbox`: what we start is a sandbox that passes no signal on to the program in it.
    """

    def __init__(
        self,
        command: Command,
        folder: Path,
        prompt: bytes,
        raw: BinaryIO | None,
        post: Callable[[Message], None],
        read: Reader,
        label: str = "Claude",
        in_own_sandbox: bool = False,
    ) -> None:
        self._post = post
        self._read = read
        self._in_own_sandbox = in_own_sandbox
        self._label = label
        self._raw = raw
        self._abandoned = False
        try:
            self._process = subprocess.Popen(
                command.argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=folder,
                env=command.environment,
                bufsize=0,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise start_problem(label, command.argv[0], error, folder) from error
        self.pid = self._process.pid
        self._unsent = memoryview(prompt)
        threading.Thread(target=self._watch, daemon=True, name="claude").start()

    def signal(self, number: int, group: bool = False) -> None:
        """Signal the process, or everything in its process group. No effect when it has ended."""
        if self._process.returncode is not None:
            return
        # The first process inside leads the group and is deaf to all but SIGKILL, which takes everything with it.
        deaf = self._in_own_sandbox and number != signal.SIGKILL
        inside = processes.sandbox_processes(self.pid) if deaf else None
        target = self.pid if inside is None else inside[0] if group else inside[1]
        signals.send(target, number, group)

    def abandon(self) -> None:
        """Stop draining: the process has ended, and an unknown process holds its pipes."""
        self._abandoned = True

    def _watch(self) -> None:
        """A thread's entry: whatever goes wrong in here, the end is posted, because the engine waits for it."""
        try:
            self._attend()
        except Exception as error:  # noqa: BLE001 - the entry of a thread
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        """We cannot read the output any more: end the process, and say why."""
        with contextlib.suppress(OSError), self._process:  # then its pipes are closed, and it has ended
            signals.send(self.pid, signal.SIGKILL, group=True)
        why = f"claude-iterate cannot read the output of {self._label}: {error!r}"
        self._hand_over("stderr", [why.encode()])
        for name in ("stdout", "stderr"):
            self._post(StreamEnded(self.pid, name))
        self._post(Exited(self.pid, self._process.returncode))

    def _attend(self) -> None:
        """Feed, drain and await the exit, in one thread."""
        stdin, stdout, stderr = self._process.stdin, self._process.stdout, self._process.stderr
        assert stdin is not None
        assert stdout is not None
        assert stderr is not None
        processes.enlarge_pipe(stdout.fileno(), 1024 * 1024)
        # A pipe may hold less than the input, and the program may never read it: writing must not wait.
        os.set_blocking(stdin.fileno(), False)
        poll = select.poll()
        streams = {pipe.fileno(): (name, pipe, LineFramer()) for name, pipe in (("stdout", stdout), ("stderr", stderr))}
        for handle in streams:
            poll.register(handle, select.POLLIN)
        poll.register(stdin.fileno(), select.POLLOUT)
        with processes.exit_handle(self.pid) as exit_handle:
            if exit_handle is not None:
                poll.register(exit_handle, select.POLLIN)
            running = True
            while (streams or running) and not self._abandoned:
                ready = [handle for handle, _ in poll.poll(_CHECK_MS if running and exit_handle is None else _LOOK_MS)]
                for handle in ready:
                    if handle in streams and not self._drain(handle, *streams[handle]):
                        poll.unregister(handle)
                        del streams[handle]
                if not stdin.closed and stdin.fileno() in ready:
                    self._send_input(poll, stdin)
                if running and (not ready or exit_handle in ready or exit_handle is None):
                    running = self._is_running(poll, exit_handle)
        for name, pipe, framer in streams.values():
            self._end_stream(name, pipe, framer)
        with contextlib.suppress(OSError):
            stdin.close()

    def _send_input(self, poll: select.poll, stdin: IO[bytes]) -> None:
        """Send more of the input; close the pipe after the last of it: an open stdin makes Claude wait."""
        try:
            self._unsent = self._unsent[os.write(stdin.fileno(), self._unsent[:_PIECE]) if self._unsent else 0 :]
        except BlockingIOError:
            return
        except OSError:
            # The program has ended or closed its input: what that means is seen in its outcome.
            self._unsent = self._unsent[:0]
        if not self._unsent:
            poll.unregister(stdin.fileno())
            with contextlib.suppress(OSError):
                stdin.close()

    def _is_running(self, poll: select.poll, handle: int | None) -> bool:
        code = self._process.poll()
        if code is None:
            return True
        if handle is not None:
            poll.unregister(handle)
        self._post(Exited(self.pid, code))
        return False

    def _drain(self, handle: int, name: str, pipe: IO[bytes], framer: LineFramer) -> bool:
        """Read what there is; False at the end of the stream."""
        data = os.read(handle, CHUNK)
        if not data:
            self._end_stream(name, pipe, framer)
            return False
        self._keep(name, data)
        self._hand_over(name, framer.feed(data))
        return True

    def _end_stream(self, name: str, pipe: IO[bytes], framer: LineFramer) -> None:
        rest = framer.finish()
        if rest:
            self._hand_over(name, rest)
        pipe.close()
        self._post(StreamEnded(self.pid, name))

    def _hand_over(self, name: str, lines: list[bytes]) -> None:
        size = sum(map(len, lines)) + len(lines)
        self._post(Printed(self.pid, name, size, self._read(name, lines)))

    def _keep(self, name: str, data: bytes) -> None:
        if self._raw is not None and name == "stdout":
            try:
                self._raw.write(data)
            except (OSError, ValueError):
                # A full disk costs the recording, not the run; the journal reports the disk. Or the call is over.
                self._raw = None


class Recording(io.FileIO):
    """The file that keeps what Claude prints in a call, byte for byte. What comes after the limit is dropped, and the
    file says so. Unbuffered, and for the user alone: secrets are in it."""

    def __init__(self, path: str, largest: int = LARGEST_RECORDING) -> None:
        untrusted_files.unlink(path, missing_ok=True)
        super().__init__(untrusted_files.open_handle(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
        self._room = largest

    def write(self, data: ReadableBuffer, /) -> int:
        """Write the data, up to the limit."""
        size = memoryview(data).nbytes
        if size <= self._room:
            self._room -= size
            return super().write(data)
        if self._room >= 0:
            kept, self._room = memoryview(data)[: self._room], -1
            super().write(kept)
            super().write(CUT)
        return size


class Ladder:
    """Ends a process with signals, each stronger than the one before: SIGINT, SIGTERM to its group, SIGKILL. `send`
    gets each, and whether it is for the whole group. `due` is the moment of the next; the caller passes the time in.

    SIGINT goes first because only it lets Claude end its own tools; the others leave them running. A program that is
    not Claude need not be interrupted first: a shell waits for its child then, and does not end.
    """

    def __init__(
        self, send: Callable[[int, bool], None], now: float, terminate_grace: float, interrupts: bool = True
    ) -> None:
        self._send = send
        # The signal, whether it goes to the whole group, and how long to wait for its effect.
        self._steps = [
            *([(signal.SIGINT, False, AFTER_INTERRUPT)] if interrupts else []),
            (signal.SIGTERM, True, terminate_grace),
            (signal.SIGKILL, True, AFTER_KILL),
        ]
        self.due = now

    def climb(self, now: float) -> None:
        """Send the next signal if its time has come. The last one, SIGKILL, is repeated."""
        if now < self.due:
            return
        number, group, pause = self._steps.pop(0) if len(self._steps) > 1 else self._steps[0]
        self._send(number, group)
        self.due = now + pause


def start_problem(label: str, program: str, error: Exception, folder: str | Path = "") -> ExpectedError:
    """The error for a program that could not be started. The system speaks of a missing folder as of a program."""
    if folder and not os.path.isdir(folder):  # noqa: PTH112 - Path.is_dir may raise
        return WorkspaceProblem(f"The folder that {label} should work in is gone: {folder}", "Start the run again.")
    why = getattr(error, "strerror", None) or str(error)
    return AgentProblem(f"{label} cannot be started: {why} ({program}).", "Try: claude-iterate doctor")
