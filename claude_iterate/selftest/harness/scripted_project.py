"""A project with one workspace in which the real command line runs against the scripted fake Claude.

The self-test, the end-to-end tests and the benchmarks use it. Its environment is built from nothing, so that no
setting, login or proxy of the user reaches it.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from claude_iterate.core.settings.declared import catalogue
from claude_iterate.system import processes, signals
from claude_iterate.workspace.layout import Layout

NAME = "my-task"
PATIENCE = 60.0
"""Seconds for what is waited for: a run takes a few, and ten times as many on a busy machine."""
COMMAND_LINE = (sys.executable, "-m", "claude_iterate")
SETTINGS: Mapping[str, Any] = {
    "delay": 0,
    "claude.command": [sys.executable, "-P", "-m", "claude_iterate.fake_claude"],
    "claude.permission_mode": "acceptEdits",
    "stop.no_progress": 0,
}
"""Most scripts do no work in the project, so the breaker would end the run; those about the breaker set it."""
_Process = subprocess.Popen[bytes]
_MARK = "CLAUDE_ITERATE_FAKE_STATE"
_PACKAGES = Path(__file__).parents[3]


class Done(msgspec.Struct, frozen=True):
    """How a command ended."""

    code: int
    out: str
    err: str


class TooSlow(Exception):
    """What was waited for did not come."""


def until(
    holds: Callable[[], Any],
    patience: float = PATIENCE,
    what: str = "what was waited for",
    abandoned: Callable[[], bool] = bool,
) -> Any:
    """Wait until another process has done something, and return its value."""
    began = time.monotonic()
    while not (value := holds()):
        if time.monotonic() > began + patience or abandoned():
            raise TooSlow(f"{what} did not come within {patience:.0f} s")
        time.sleep(0.03)  # looking costs time that others need
    return value


class ScriptedProject:
    """The project, its workspace and the commands that run there. `close` ends every process that is left."""

    def __init__(self, folder: Path, settings: Mapping[str, Any] | None = None) -> None:
        self.folder = folder
        self.root = folder / "project"
        self.home = folder / "home"
        self.state = folder / "state"
        self.workspace = self.root / "claude-iterate" / "workspaces" / NAME
        self.layout = Layout(self.root, self.workspace)
        self.env = self._environment() | _variables({**SETTINGS, **(settings or {})})
        self.started: list[_Process] = []
        self._abandoned = threading.Event()
        self.root.mkdir(parents=True)
        self.home.mkdir()

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.home),
            "TMPDIR": str(self.home),
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(_PACKAGES),
            "PYTHONSAFEPATH": "1",
            "CLAUDE_ITERATE_CONFIG_DIR": str(self.home / "config"),
            "CLAUDE_ITERATE_FAKE_PACE": "0",
            "CLAUDE_ITERATE_MOCK_LOG": str(self.folder / "mock.log"),
            _MARK: str(self.state),
        }

    def make(self, instructions: str | bytes = "- one\n- two\n", mode: str = "loop") -> None:
        """Create the workspace, as `init` and `setup` do."""
        self.workspace.mkdir(parents=True)
        self.layout.instructions.write_bytes(instructions.encode() if isinstance(instructions, str) else instructions)
        self.layout.metadata.write_text(json.dumps({"format": 3, "name": NAME, "mode": mode}))

    def script(self, *calls: Sequence[Mapping[str, Any]], after: str = "repeat") -> None:
        """What Claude does, call by call; then the last call is repeated."""
        path = self.folder / "script.json"
        path.write_text(json.dumps({"calls": calls, "after": after}))
        self.env["CLAUDE_ITERATE_FAKE_SCRIPT"] = str(path)

    def start(self, *arguments: str, program: Sequence[str] = COMMAND_LINE, **more: Any) -> _Process:
        """Start a command. It prints into files, so that a process that outlives it cannot block `finish`."""
        if self._abandoned.is_set():
            raise TooSlow("the self-test was ended")
        with contextlib.ExitStack() as files:
            streams = {
                name: files.enter_context(self._output_file(name, len(self.started)).open("wb"))
                for name in ("stdout", "stderr")
                if name not in more
            }
            options: dict[str, Any] = {"stdin": subprocess.DEVNULL, **streams, **more}
            process = subprocess.Popen([*program, *arguments], cwd=self.root, env=self.env, **options)
        self.started.append(process)
        if self._abandoned.is_set():  # `abandon` may have missed the process that was started just now
            process.kill()
        return process

    def _output_file(self, stream: str, count: int) -> Path:
        return self.folder / f"{stream}-{count}"

    def start_run(self, *flags: str) -> _Process:
        """Start `run`."""
        return self.start("run", NAME, *flags)

    def finish(self, process: _Process) -> Done:
        """Wait for the end of a command."""
        try:
            piped = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            raise TooSlow(f"the command did not end within {PATIENCE:.0f} s") from None
        count = self.started.index(process)
        printed = []
        for stream, data in zip(("stdout", "stderr"), piped, strict=True):
            path = self._output_file(stream, count)
            printed.append((path.read_bytes() if path.exists() else data or b"").decode())
        return Done(process.returncode, *printed)

    def call(self, *arguments: str, **more: Any) -> Done:
        """A command from start to end."""
        return self.finish(self.start(*arguments, **more))

    def run(self, *flags: str, **more: Any) -> Done:
        """`run` from start to end."""
        return self.call("run", NAME, *flags, **more)

    def request(self, verb: str, *words: str) -> str:
        """Another command, as from another terminal; its answer. It must be accepted."""
        done = self.call(verb, NAME, *words)
        if done.code != 0:
            raise TooSlow(f"`{verb}` was refused: {done.err.strip()}")
        return done.out

    def until(self, holds: Callable[[], Any], what: str, patience: float = PATIENCE) -> None:
        """Wait until another process has done something, or the project is abandoned."""
        until(holds, patience, what, self._abandoned.is_set)

    def journals(self) -> list[list[dict[str, Any]]]:
        """The entries of each run, oldest first. A run that has not finished may end in a torn line, which is left
        out; any other bad line is an error."""
        found = []
        for run in self.layout.run_ids():
            with contextlib.suppress(FileNotFoundError):
                *lines, torn = self.layout.journal(run).read_bytes().split(b"\n")
                entries = [json.loads(line) for line in lines]
                finished = any(entry["event"]["event"] == "RunFinished" for entry in entries)
                with contextlib.nullcontext() if finished else contextlib.suppress(ValueError):
                    entries.extend([json.loads(torn)] if torn else [])
                found.append(entries)
        return found

    def journal(self) -> list[dict[str, Any]]:
        """The entries of all runs, oldest first."""
        return [entry for journal in self.journals() for entry in journal]

    def events(self, kind: str) -> list[dict[str, Any]]:
        """All events of one kind, over all runs."""
        return [entry["event"] for entry in self.journal() if entry["event"]["event"] == kind]

    def log(self) -> str:
        """The newest log."""
        return self.layout.logs()[-1].read_text("utf-8")

    def record(self, number: int) -> dict[str, Any]:
        """What Claude was called with, the first time, the second time ..."""
        found: dict[str, Any] = json.loads((self.state / f"call-{number:04d}.json").read_text())
        return found

    def prompt(self, number: int) -> str:
        """What Claude got on standard input, the first time, the second time ..."""
        return Path(self.record(number)["stdin"]).read_text("utf-8", "replace")

    def processes(self) -> list[int]:
        """Every living process of this project except the commands that were started here."""
        ours = {process.pid for process in self.started if process.poll() is None}
        return [pid for pid in processes.with_environment(_MARK, str(self.state)) if pid not in ours]

    def gone(self) -> None:
        """Every process ends."""
        self.until(lambda: not self.processes(), "the end of all processes")

    def abandon(self) -> None:
        """From another thread: nothing more is started or waited for. The thread that uses the project closes it."""
        self._abandoned.set()
        for process in list(self.started):
            process.kill()

    def close(self) -> None:
        """End every process that is left."""
        for process in self.started:
            with process:  # then its pipes are closed, and it has ended
                process.kill()
        for pid in self.processes():
            signals.send(pid, signal.SIGKILL)


def _variables(settings: Mapping[str, Any]) -> dict[str, str]:
    known = catalogue()
    return {
        known[key].variable: value if isinstance(value, str) else json.dumps(value) for key, value in settings.items()
    }
