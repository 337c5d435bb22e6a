"""The fixture `loop`: claude-iterate as a real process in a project and an environment of its own.

The fixture `terminal`: a command of it on a terminal with a person before it.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from claude_iterate.selftest.harness.scripted_project import COMMAND_LINE, PATIENCE, Done, ScriptedProject, until

if TYPE_CHECKING:
    from tests.e2e.terminal import Open, Terminal

__all__ = ["PATIENCE", "ROOT", "Done", "Loop", "loop", "until"]
ROOT = Path(__file__).parents[2]
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

    def patch(self, module: str, **constants: float | tuple[float, ...]) -> None:
        """From now on the program has other constants: how long it waits must not decide how a test ends."""
        there = vars(importlib.import_module(f"claude_iterate.{module}"))
        assert constants.keys() <= there.keys(), f"{module} has no {constants.keys() - there.keys()}"
        self._constants += [(module, name, value) for name, value in constants.items()]
        self.program = (sys.executable, "-c", _PATCHED.format(changes=self._constants))

    def start(self, *arguments: str, **more: Any) -> subprocess.Popen[bytes]:
        options: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "program": self.program}
        return super().start(*arguments, **options | more)

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
