"""The fixture `loop`: claude-iterate as a real process in a project and an environment of its own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


class Loop:
    """A project with one workspace and a scripted Claude."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        self.root.mkdir()
        self.home = folder / "home"
        self.home.mkdir()
        self.state = folder / "state"
        self.folder = folder
        self.workspace = self.root / "claude-iterate" / "workspaces" / "my-task"
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "PYTHONPATH": str(ROOT),
            "PYTHONSAFEPATH": "1",
            "LANG": "C.UTF-8",
            "CLAUDE_ITERATE_CONFIG_DIR": str(self.home / "config"),
            "CLAUDE_ITERATE_CLAUDE__COMMAND": json.dumps([sys.executable, "-m", "claude_iterate.fake_claude"]),
            "CLAUDE_ITERATE_CLAUDE__PERMISSION_MODE": "acceptEdits",
            "CLAUDE_ITERATE_DELAY": "0",
            "CLAUDE_ITERATE_FAKE_PACE": "0",
            "CLAUDE_ITERATE_FAKE_STATE": str(self.state),
            "CLAUDE_ITERATE_MOCK_LOG": str(folder / "mock.log"),
        }
        self.started: list[subprocess.Popen[bytes]] = []

    def make(self, instructions: str | bytes = "- one\n- two\n", mode: str = "loop") -> None:
        """The workspace, as `init` and `setup` would make it."""
        self.workspace.mkdir(parents=True)
        data = instructions.encode() if isinstance(instructions, str) else instructions
        (self.workspace / "INSTRUCTIONS.md").write_bytes(data)
        (self.workspace / ".metadata.json").write_text(json.dumps({"format": 3, "name": "my-task", "mode": mode}))

    def script(self, *calls: list[dict[str, Any]], after: str = "repeat") -> None:
        """What Claude does, call by call."""
        path = self.folder / "script.json"
        path.write_text(json.dumps({"calls": calls, "after": after}))
        self.env["CLAUDE_ITERATE_FAKE_SCRIPT"] = str(path)

    def start(self, *arguments: str, **more: Any) -> subprocess.Popen[bytes]:
        """Start a command; the test waits for what it needs with `until`."""
        process = subprocess.Popen(
            [sys.executable, "-m", "claude_iterate", *arguments],
            cwd=self.root,
            env=self.env,
            **({"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | more),
        )
        self.started.append(process)
        return process

    def finish(self, process: subprocess.Popen[bytes]) -> Done:
        """Wait for its end."""
        out, err = process.communicate(timeout=PATIENCE)
        return Done(process.returncode, out.decode(), err.decode())

    def call(self, *arguments: str, **more: Any) -> Done:
        """A command from start to end."""
        return self.finish(self.start(*arguments, **more))

    def run(self, *arguments: str, **more: Any) -> Done:
        """`run my-task ...`."""
        return self.call("run", "my-task", *arguments, **more)

    def journal(self) -> list[dict[str, Any]]:
        """Every entry of every run, oldest run first."""
        paths = sorted(self.workspace.glob("runs/*/events.ndjson"))
        return [json.loads(line) for path in paths for line in path.read_text().split("\n") if line]

    def events(self, kind: str) -> list[dict[str, Any]]:
        return [entry["event"] for entry in self.journal() if entry["event"]["event"] == kind]

    def log(self) -> str:
        """The newest log."""
        return max(self.workspace.glob("iterate-*.log"), key=lambda path: path.stat().st_mtime_ns).read_text()

    def record(self, number: int) -> dict[str, Any]:
        """What the fake was called with."""
        found: dict[str, Any] = json.loads((self.state / f"call-{number:04d}.json").read_text())
        return found

    def processes(self) -> list[int]:
        """Living processes of this test, the commands it started excluded: they carry the state folder's path."""
        mark = f"CLAUDE_ITERATE_FAKE_STATE={self.state}".encode()
        return self._living(lambda process: mark in (process / "environ").read_bytes().split(b"\0"))

    def _living(self, is_ours: Callable[[Path], bool]) -> list[int]:
        started = {process.pid for process in self.started}
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            try:
                living = (path / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
                if living and is_ours(path) and int(path.name) not in started:
                    found.append(int(path.name))
            except (OSError, IndexError):
                continue
        return found

    def gone(self) -> None:
        """No process is left within 10 seconds."""
        until(lambda: not self.processes(), 10.0)

    def close(self) -> None:
        """End whatever the test left behind."""
        for process in self.started:
            if process.poll() is None:
                process.kill()
                process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):  # it may end by itself meanwhile
                os.kill(pid, signal.SIGKILL)


def until(holds: Callable[[], Any], patience: float = PATIENCE) -> Any:
    """Wait for something that another process does; fail when it does not come."""
    deadline = time.monotonic() + patience
    while not (value := holds()):
        assert time.monotonic() < deadline, "it did not come in time"
        time.sleep(0.01)
    return value


@pytest.fixture
def loop(tmp_path: Path) -> Iterator[Loop]:
    made = Loop(tmp_path)
    yield made
    made.close()
