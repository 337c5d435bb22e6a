"""The fixture `loop`: claude-iterate as a real process in a project and an environment of its own.

The fixture `terminal`: a command of it on a terminal with a person before it.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from claude_iterate.selftest.harness.script_steps import usage_limit
from claude_iterate.selftest.harness.scripted_project import (
    COMMAND_LINE,
    PATIENCE,
    Done,
    ScriptedProject,
    until,
)

if TYPE_CHECKING:
    from tests.e2e.terminal import Open, Terminal

__all__ = ["PATIENCE", "ROOT", "Done", "Loop", "loop", "until"]
ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "tests" / "fixtures"
Call = list[dict[str, Any]]
"""The steps of one call of the scripted Claude."""
DONE: Call = [{"init": {}}, {"status": {"complete": True}}, {"result": {}}]
UNDONE: Call = [{"init": {}}, {"status": {"complete": False}}, {"result": {}}]
HANGING: Call = [{"init": {}}, {"touch": "ready"}, {"hang": True}]
PATIENT: Call = [{"init": {}}, {"touch": "ready"}, {"wait_for": "go"}, *UNDONE[1:]]
"""It works until the test calls `loop.go()`, and leaves more to do."""
LIMITED = usage_limit("You've hit your session limit", 3600)
_PATCHED = """
import importlib, sys
for module, name, value in {changes!r}:
    setattr(importlib.import_module("claude_iterate." + module), name, value)
from claude_iterate.cli import main
sys.exit(main())
"""


class Loop(ScriptedProject):
    """Prints into pipes, which no limit on the size of files can reach, and finds processes without the code under
    test."""

    program: tuple[str, ...] = COMMAND_LINE

    def __init__(self, folder: Path, settings: Mapping[str, Any] | None = None) -> None:
        super().__init__(folder, {"keep_awake": False, **(settings or {})})
        self._constants: list[tuple[str, str, object]] = []

    def patch(self, module: str, **constants: float | tuple[object, ...]) -> None:
        """From now on the program has other constants: how long it waits must not decide how a test ends."""
        there = vars(importlib.import_module(f"claude_iterate.{module}"))
        assert constants.keys() <= there.keys(), f"{module} has no {constants.keys() - there.keys()}"
        self._constants += [(module, name, value) for name, value in constants.items()]
        self.program = (sys.executable, "-c", _PATCHED.format(changes=self._constants))

    def set(self, **settings: Any) -> None:
        """Settings of the environment; `__` stands for the dot of a group: `timeouts__idle="3s"`."""
        for name, value in settings.items():
            self.env[f"CLAUDE_ITERATE_{name.upper()}"] = value if isinstance(value, str) else json.dumps(value)

    def checks(self, *commands: str) -> None:
        """What proves a claim."""
        self.set(verification__checks=commands)

    def start(self, *arguments: str, **more: Any) -> subprocess.Popen[bytes]:
        options: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "program": self.program}
        return super().start(*arguments, **options | more)

    def executable(self, name: str, text: str) -> Path:
        """A shell script, which is found before all programs of this name."""
        path = self.folder / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        self.env["PATH"] = f"{path.parent}:{self.env['PATH']}"
        return path

    def claude(self, text: str) -> None:
        """Claude is this shell script, which is called for its work only."""
        version = "case $1 in --version) echo 9.9.9; exit;; esac"
        self.set(claude__command=str(self.executable("claude", f"{version}\n{text}")))

    def working(self, *flags: str) -> subprocess.Popen[bytes]:
        """A run whose Claude has touched the file `ready`."""
        process = self.start_run(*flags)
        self.until((self.workspace / "ready").exists, "the file `ready`")
        return process

    def waiting(self, *flags: str) -> subprocess.Popen[bytes]:
        """A run that waits, for a limit or for Claude."""
        process = self.start_run(*flags)
        self.until(lambda: self.events("WaitStarted"), "the wait")
        return process

    def go(self) -> None:
        """Claude, which waits for the file `go`, continues."""
        (self.workspace / "go").touch()

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        """`kill -9`, until nothing of the run is left."""
        process.kill()
        process.wait()
        self.gone()

    def document(self, *arguments: str) -> Any:
        """What a command prints with --json."""
        return json.loads(self.call(*arguments, "--json").out)

    def numbers(self) -> list[int]:
        """The number of each iteration that began."""
        return [event["number"] for event in self.events("IterationStarted")]

    def outcomes(self) -> list[str]:
        """How each iteration ended."""
        return [event["outcome"]["kind"] for event in self.events("IterationFinished")]

    def git(self, *words: str, folder: Path | None = None) -> str:
        """What git prints, in the project or another folder, without any settings of the computer."""
        who = {f"GIT_{role}_{part}": "a@b" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
        self.env |= who | {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
        done = subprocess.run(
            ["git", *words], cwd=folder or self.root, env=self.env, check=True, capture_output=True, text=True
        )
        return done.stdout

    def processes(self) -> list[int]:
        """Every living process with our state folder in its environment, except the commands that were started here."""
        mark = f"CLAUDE_ITERATE_FAKE_STATE={self.state}".encode()
        return self._living(lambda process: mark in (process / "environ").read_bytes())

    def _living(self, is_ours: Callable[[Path], bool]) -> list[int]:
        started = {process.pid for process in self.started}
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            try:
                if int(path.name) in started or not is_ours(path):
                    continue
                if (path / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX":
                    found.append(int(path.name))
            except (OSError, IndexError):
                continue
        return found


@pytest.fixture
def loop(tmp_path: Path) -> Iterator[Loop]:
    made = Loop(tmp_path)
    yield made
    made.close()


@pytest.fixture
def terminal(loop: Loop) -> Iterator[Open]:
    from tests.e2e.terminal import Terminal  # noqa: PLC0415 - it imports this module

    opened: list[Terminal] = []

    def open_one(*arguments: str) -> Terminal:
        opened.append(Terminal(loop, *arguments))
        return opened[-1]

    yield open_one
    for screen in opened:
        screen.process.kill()
        screen.process.wait()
        screen.close()
