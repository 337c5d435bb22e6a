"""A scene: a project of its own in which the real command line runs against the scripted fake Claude.

The environment is built from nothing, so that no setting, login or proxy of the user's reaches it.
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
from typing import Any, NamedTuple

from claude_iterate.core.settings.declared import catalogue
from claude_iterate.system import processes, signals
from claude_iterate.workspace.layout import Layout

NAME = "fault"
PATIENCE = 60.0
_MARK = "CLAUDE_ITERATE_FAKE_STATE"
_PACKAGES = Path(__file__).parents[3]
_LOOK = 0.02
USUAL: Mapping[str, Any] = {
    "delay": 0,
    "keep_awake": False,
    "claude.command": [sys.executable, "-P", "-m", "claude_iterate.fake_claude"],
    "claude.permission_mode": "acceptEdits",
    "timeouts.terminate_grace": "0.3s",
    "limits.reset_margin": 0,
}


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


class TooSlow(Exception):
    """What was waited for did not come."""


class Scene:
    """One project with one workspace. `close` ends whatever is left of it."""

    def __init__(self, folder: Path, settings: Mapping[str, Any], instructions: str, mode: str) -> None:
        self.folder = folder
        self.root = folder / "project"
        self.workspace = self.root / "claude-iterate" / "workspaces" / NAME
        self.state = folder / "state"
        self.layout = Layout(self.root, self.workspace)
        self.others: list[Done] = []
        self.peak: int | None = None
        self._abandoned = threading.Event()
        self.closing = contextlib.ExitStack()
        self.environ = self._environment() | _variables({**USUAL, **settings})
        self._started: list[subprocess.Popen[bytes]] = []
        self.workspace.mkdir(parents=True)
        self.layout.instructions.write_text(instructions, "utf-8")
        self.layout.metadata.write_text(json.dumps({"format": 3, "name": NAME, "mode": mode}))

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.folder),
            "TMPDIR": str(self.folder),
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(_PACKAGES),
            "PYTHONSAFEPATH": "1",
            "CLAUDE_ITERATE_CONFIG_DIR": str(self.folder / "config"),
            "CLAUDE_ITERATE_MOCK_LOG": str(self.folder / "mock.log"),
            _MARK: str(self.state),
        }

    def script(self, calls: Sequence[Sequence[Mapping[str, Any]]]) -> None:
        """What Claude does, call by call; the last act is repeated."""
        path = self.folder / "script.json"
        path.write_text(json.dumps({"calls": calls, "after": "repeat"}))
        self.environ["CLAUDE_ITERATE_FAKE_SCRIPT"] = str(path)

    def start(self, *flags: str, before: Sequence[str] = ()) -> subprocess.Popen[bytes]:
        """Start `run`; `before` is a command line that starts it in its turn."""
        return self._start("run", *flags, before=before)

    def say(self, verb: str, *words: str) -> str:
        """Another command, as from another terminal; its answer. One that is refused ends the scene."""
        done = self.finish(self._start(verb, *words))
        if done.code != 0:
            raise TooSlow(f"`{verb}` was not obeyed: {done.err.strip()}")
        return done.out

    def _start(self, verb: str, *words: str, before: Sequence[str] = ()) -> subprocess.Popen[bytes]:
        if self._abandoned.is_set():
            raise TooSlow("the self-test was ended")
        count = len(self._started)
        with (self.folder / f"out-{count}").open("wb") as out, (self.folder / f"err-{count}").open("wb") as err:
            process = subprocess.Popen(
                [*before, sys.executable, "-m", "claude_iterate", verb, NAME, *words],
                cwd=self.root,
                env=self.environ,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )
        self._started.append(process)
        if self._abandoned.is_set():  # in this very moment, so nobody else has killed it
            process.kill()
        return process

    def finish(self, process: subprocess.Popen[bytes]) -> Done:
        """Wait for its end. Files and no pipes: nothing that outlives it can hold us up."""
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise TooSlow(f"the run did not end within {PATIENCE:.0f} s") from None
        count = self._started.index(process)
        out, err = (
            (self.folder / f"{name}-{count}").read_bytes().decode("utf-8", "replace") for name in ("out", "err")
        )
        return Done(process.returncode, out, err)

    def until(self, holds: Callable[[], Any], what: str, patience: float = PATIENCE) -> None:
        """Wait for something that another process does."""
        deadline = time.monotonic() + patience
        while not holds():
            if time.monotonic() > deadline or self._abandoned.is_set():
                raise TooSlow(f"{what} did not come within {patience:.0f} s")
            time.sleep(_LOOK)

    def until_ready(self) -> None:
        """Wait until the script has touched `ready`."""
        self.until((self.workspace / "ready").exists, "Claude's word that it is there")

    def journals(self) -> list[list[dict[str, Any]]]:
        """The entries of each run, oldest first. A last line that was torn is left out; any other is an error."""
        found = []
        for run in self.layout.run_ids():
            with contextlib.suppress(FileNotFoundError):
                *lines, torn = self.layout.journal(run).read_bytes().split(b"\n")
                found.append([json.loads(line) for line in lines])
                with contextlib.suppress(ValueError):
                    found[-1].extend([json.loads(torn)] if torn else [])
        return found

    def events(self, kind: str) -> list[dict[str, Any]]:
        """All events of one kind, over all runs."""
        entries = [entry for journal in self.journals() for entry in journal]
        return [entry["event"] for entry in entries if entry["event"]["event"] == kind]

    def processes(self) -> list[int]:
        """What lives of this scene, the runs themselves excluded."""
        ours = {process.pid for process in self._started if process.poll() is None}
        found = set(processes.with_environment(_MARK, str(self.state))) - ours
        return [pid for pid in found if processes.is_alive(pid)]

    def abandon(self) -> None:
        """From another thread: nothing more is begun or waited for. Whoever plays the scene closes it."""
        self._abandoned.set()
        for process in list(self._started):
            process.kill()

    def close(self) -> None:
        """End everything that is left."""
        for process in self._started:
            if process.poll() is None:
                process.kill()
                process.wait()
        for pid in self.processes():
            signals.send(pid, signal.SIGKILL)
        self.closing.close()


def _variables(settings: Mapping[str, Any]) -> dict[str, str]:
    known = catalogue()
    return {
        known[key].variable: value if isinstance(value, str) else json.dumps(value) for key, value in settings.items()
    }
