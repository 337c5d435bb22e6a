"""Projects to measure in. The user's own settings are kept out."""

from __future__ import annotations

import os
import resource
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).resolve().parents[1]))

from tool import Original, Tool

from claude_iterate.selftest.harness.scripted_project import COMMAND_LINE, NAME, ScriptedProject

__all__ = ["CLICK", "COMMAND_LINE", "NAME", "Bench", "ScriptedProject", "Spent", "Tool", "call", "spent", "timed"]

CLICK = (sys.executable, "-c", "import click")
"""The least that a program on click can do: what a start is compared with."""


class Spent(NamedTuple):
    """Seconds of wall time, and of CPU of all processes that were started and waited for."""

    wall: float
    cpu: float


class Bench:
    """A scratch folder. Each measured run gets its own project, because a run reads the journals of earlier ones."""

    def __init__(self, folder: Path, quick: bool) -> None:
        self.folder = folder
        self.quick = quick
        self.tools: list[Tool] = [Tool(COMMAND_LINE)]
        """What is measured, in the order of a row's figures: we, and the original if its command is known."""
        if command := shlex.split(os.environ.get("BENCH_ORIGINAL", "")):
            self.tools.append(Original(tuple(command)))
        self._made = 0

    def rounds(self, full: int) -> int:
        return 1 if self.quick else full

    def project(self, claude: Sequence[str | Path], tool: Tool | None = None) -> ScriptedProject:
        """A new project with one workspace whose Claude is this program."""
        self._made += 1
        words = [str(word) for word in claude]
        made = ScriptedProject(self.folder / f"project-{self._made}", {"claude.command": words})
        (tool or self.tools[0]).prepare(made, words)
        return made

    def script(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)
        return path


def call(project: ScriptedProject, *arguments: str, **more: Any) -> None:
    """Run the command line; anything but the codes of a normal end breaks the benchmark."""
    done = project.call(*arguments, **more)
    if done.code not in {0, 1} or "Traceback" in done.err or "rror:" in done.err:
        raise RuntimeError(f"{' '.join(arguments)} ended with {done.code}: {done.err}")


def timed(work: Callable[[], object]) -> float:
    return spent(work).wall


def spent(work: Callable[[], object]) -> Spent:
    """What `work` costs. It must wait for the processes that it starts."""
    used, began = _children(), time.perf_counter()
    work()
    return Spent(time.perf_counter() - began, _children() - used)


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
