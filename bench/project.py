"""Projects to measure in. The user's own settings are kept out."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))

from claude_iterate.selftest.harness.scripted_project import COMMAND_LINE, NAME, ScriptedProject

__all__ = ["COMMAND_LINE", "NAME", "Bench", "call", "timed"]


class Bench:
    """A scratch folder. Each measured run gets its own project, because a run reads the journals of earlier ones."""

    def __init__(self, folder: Path, quick: bool) -> None:
        self.folder = folder
        self.quick = quick
        self._made = 0

    def rounds(self, full: int) -> int:
        return 1 if self.quick else full

    def project(self, claude: Sequence[str | Path]) -> ScriptedProject:
        """A new project with one workspace whose Claude is this program."""
        self._made += 1
        made = ScriptedProject(
            self.folder / f"project-{self._made}", {"claude.command": [str(word) for word in claude]}
        )
        made.make("Do the work.\n")
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
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
