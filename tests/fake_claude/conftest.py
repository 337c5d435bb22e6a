"""The fixture `fake`: the built-in fake Claude as a real process, in a folder and an environment of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.package_path import PACKAGES

COMMAND = [sys.executable, "-P", "-m", "claude_iterate.fake_claude"]
STREAM = ["-p", "--output-format", "stream-json", "--verbose"]
LOOP = "Complete ONE item this iteration."


class FakeClaude:
    """A project with a workspace, and the fake to call in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workspace = folder / "workspace"
        self.state = folder / "state"
        self.log = folder / "mock.log"
        self.workspace.mkdir()
        self.env = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(PACKAGES),
            "CLAUDE_ITERATE_WORKSPACE": str(self.workspace),
            "CLAUDE_ITERATE_FAKE_PACE": "0",
            "CLAUDE_ITERATE_MOCK_LOG": str(self.log),
        }

    def instructions(self, text: str) -> None:
        (self.workspace / "INSTRUCTIONS.md").write_text(text)

    def script(self, *calls: list[dict[str, Any]], after: str = "repeat") -> None:
        path = self.folder / "script.json"
        path.write_text(json.dumps({"calls": calls, "after": after}))
        self.env["CLAUDE_ITERATE_FAKE_SCRIPT"] = str(path)
        self.env["CLAUDE_ITERATE_FAKE_STATE"] = str(self.state)

    def run(self, *argv: str, stdin: str | bytes = LOOP) -> subprocess.CompletedProcess[bytes]:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        return subprocess.run(
            [*COMMAND, *argv],
            input=data,
            capture_output=True,
            env=self.env,
            cwd=self.folder,
            timeout=120,
            check=False,
        )

    def stream(self, *argv: str, stdin: str | bytes = LOOP) -> list[dict[str, Any]]:
        """The events of a call that must go well."""
        done = self.run(*STREAM, *argv, stdin=stdin)
        assert (done.returncode, done.stderr) == (0, b"")
        return [json.loads(line) for line in done.stdout.splitlines()]

    def play(self, *steps: dict[str, Any]) -> subprocess.CompletedProcess[bytes]:
        """One call that plays these steps."""
        self.script(list(steps))
        return self.run(*STREAM)

    def start(self) -> subprocess.Popen[bytes]:
        """Started, with its prompt on stdin; the caller waits for a line of output as the handshake."""
        process = subprocess.Popen(
            [*COMMAND, *STREAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self.env, cwd=self.folder
        )
        assert process.stdin is not None
        process.stdin.write(LOOP.encode())
        process.stdin.close()
        process.stdin = None
        return process

    def status(self) -> Any:
        return json.loads((self.workspace / ".status.json").read_text())

    def todo(self) -> str:
        return (self.workspace / "TODO.md").read_text()

    def record(self, number: int) -> Any:
        return json.loads((self.state / f"call-{number:04d}.json").read_text())


@pytest.fixture
def fake(tmp_path: Path) -> FakeClaude:
    return FakeClaude(tmp_path)
