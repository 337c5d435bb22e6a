"""Starts our program from an interpreter that has loaded it already: the same process in half of the time.

For tests that start the program to see what it does. Where the start itself is the subject, or something that only a
new interpreter reads (its own variables, the locale, a command line in /proc), a test asks for a new one.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import select
import shlex
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from claude_iterate.fake_claude.stream import VERSION
from claude_iterate.selftest.harness.scripted_project import COMMAND_LINE, ScriptedProject

_PATCHED = """
import importlib, sys
for module, name, value in {changes!r}:
    setattr(importlib.import_module("claude_iterate." + module), name, value)
from claude_iterate.cli import main
sys.exit(main())
"""
_FAKE = "import sys; from claude_iterate.fake_claude.__main__ import main; sys.exit(main())"
# The fake needs no installed package, and to look for them takes a quarter of a call, as `-m` does. But what measures
# coverage is installed.
_ALONE = "-P" if "measuring" in sys.modules else "-SP"
# Each run asks for the version first, and a shell answers that in a twentieth of the time.
FAKE_CLAUDE = (
    "/bin/sh",
    "-c",
    f"""[ "$1" = --version ] && echo "{VERSION} (Claude Code, built-in fake)" && exit
exec {shlex.quote(sys.executable)} {_ALONE} -c '{_FAKE}' "$@\"""",
    "claude",
)
POSSIBLE = sys.platform == "linux"
Constants = Sequence[tuple[str, str, Any]]
_PROGRAM = Path(__file__).with_name("warm_server.py")
_LARGEST = 100_000
_TAKEN = {"stdin", "stdout", "stderr", "start_new_session"}
_OF_THE_INTERPRETER = ("PYTHON", "LC_", "LANG", "LD_", "MALLOC", "COVERAGE")


class _Server:
    """One for each process of the tests."""

    _only: _Server | None = None
    _starting = threading.Lock()

    @classmethod
    def of_this_process(cls, environment: Mapping[str, str]) -> _Server:
        with cls._starting:
            if cls._only is None or cls._only._process.poll() is not None:
                cls._only = cls(environment)
            return cls._only

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = _interpreted(environment)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, "-P", str(_PROGRAM), str(theirs.fileno())]
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
        self._process = subprocess.Popen(command, env=self.environment, pass_fds=[theirs.fileno()], **quiet)  # type: ignore[call-overload]
        theirs.close()
        self._socket, self._lock = ours, threading.Lock()
        atexit.register(self.close)

    def fork(self, request: bytes, handles: Sequence[int]) -> int:
        with self._lock:
            socket.send_fds(self._socket, [request], handles)
            answer = self._socket.recv(4)
        if not answer:
            raise ChildProcessError("the loaded interpreter is gone")
        return int.from_bytes(answer, "little")

    def close(self) -> None:
        self._socket.close()
        self._process.wait()


def _interpreted(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(_OF_THE_INTERPRETER)}


class WarmStarts(ScriptedProject):
    """A project whose commands are started from the loaded interpreter wherever they do not need one of their own."""

    program: tuple[str, ...] = COMMAND_LINE
    constants: Constants = ()

    def __init__(self, folder: Path, settings: Mapping[str, Any] | None = None) -> None:
        super().__init__(folder, {"claude.command": FAKE_CLAUDE, "keep_awake": False, **(settings or {})})

    def launched(
        self, program: Sequence[str], arguments: Sequence[str], options: dict[str, Any]
    ) -> subprocess.Popen[bytes]:
        if POSSIBLE and program == self.program and options.keys() <= _TAKEN:
            request = {
                "arguments": arguments,
                "folder": str(self.root),
                "environment": self.env,
                "constants": self.constants,
                "session": options.get("start_new_session", False),
                "umask": _umask(),
            }
            data = json.dumps(request).encode()
            server = _Server.of_this_process(self.env)
            if len(data) < _LARGEST and server.environment == _interpreted(self.env):
                return _Forked(server, data, options)
        return super().launched(program, arguments, options)

    def patch(self, module: str, **constants: float | tuple[float, ...]) -> None:
        """From now on the program has other constants: how long it waits must not decide how a test ends."""
        there = vars(importlib.import_module(f"claude_iterate.{module}"))
        assert constants.keys() <= there.keys(), f"{module} has no {constants.keys() - there.keys()}"
        self.constants = [*self.constants, *((module, name, value) for name, value in constants.items())]
        self.program = (sys.executable, "-c", _PATCHED.format(changes=self.constants))


def _umask() -> int:
    os.umask(mask := os.umask(0o77))
    return mask


class _Forked(subprocess.Popen[bytes]):
    """A process of the server: it tells the end in a pipe. All the rest is as the standard library has it."""

    # Of the standard library; not public, but the same in 3.11 to 3.14.
    _waitpid_lock: threading.Lock
    _close_pipe_fds: Callable[..., None]
    _handle_exitstatus: Callable[[int], None]

    def __init__(self, server: _Server, request: bytes, options: dict[str, Any]) -> None:
        self._server, self._request = server, request
        super().__init__(["claude-iterate"], **options)

    def _execute_child(self, *given: Any) -> None:
        pipes = given[10:16]  # for each standard stream one end of theirs and one of ours, in the order of the library
        self._told, tells = os.pipe()
        theirs = [number if end == -1 else end for number, end in enumerate((pipes[0], pipes[3], pipes[5]))]
        try:
            self.pid = self._server.fork(self._request, [*theirs, tells])
        finally:
            os.close(tells)
        self._child_created = True
        self._close_pipe_fds(*pipes)

    def _internal_poll(self, *_given: Any, **_more: Any) -> int | None:
        if self.returncode is None and self._waitpid_lock.acquire(False):
            try:
                pid, status = self._try_wait(os.WNOHANG)
                if pid and self.returncode is None:
                    self._handle_exitstatus(status)
            finally:
                self._waitpid_lock.release()
        return self.returncode

    def _try_wait(self, flags: int) -> tuple[int, int]:
        """The lock must be held."""
        if self._told == -1:
            return 0, 0
        if flags & os.WNOHANG and not select.select([self._told], [], [], 0)[0]:
            return 0, 0
        status = os.read(self._told, 4)
        os.close(self._told)
        self._told = -1
        if not status:
            raise ChildProcessError("the loaded interpreter is gone")
        return self.pid, int.from_bytes(status, "little")
