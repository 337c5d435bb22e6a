"""Projects to measure in, and ways to call the command line there. The user's own settings are kept out."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NAME = "task"
CLI = (sys.executable, "-m", "claude_iterate")


class Bench:
    """A scratch folder. Each measured run gets a project of its own: an old journal would be read by the next run."""

    def __init__(self, folder: Path, quick: bool) -> None:
        self.folder = folder
        self.quick = quick
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder / "home"),
            "PYTHONPATH": str(ROOT),
            "LANG": "C.UTF-8",
        }
        (folder / "home").mkdir()
        self._model = folder / "model"
        self._model.mkdir()
        self.call(self._model, "init", NAME)
        (self._model / "claude-iterate" / "workspaces" / NAME / "INSTRUCTIONS.md").write_text("Do the work.\n")
        self._made = 0

    def rounds(self, full: int) -> int:
        return 1 if self.quick else full

    def project(self, fake: Sequence[str | Path]) -> Path:
        """A fresh project with one workspace whose Claude is `fake`."""
        self._made += 1
        made = self.folder / f"project-{self._made}"
        shutil.copytree(self._model, made)
        command = ", ".join(f'"{word}"' for word in fake)
        (made / ".claude-iterate.toml").write_text(
            f'[claude]\ncommand = [{command}]\npermission_mode = "acceptEdits"\n', "utf-8"
        )
        return made

    def workspace(self, project: Path) -> Path:
        return project / "claude-iterate" / "workspaces" / NAME

    def call(self, project: Path, *arguments: str, program: Sequence[str] = CLI) -> None:
        """Run the command line; anything but the codes of a normal end breaks the bench."""
        done = subprocess.run([*program, *arguments], cwd=project, env=self.environ, capture_output=True, check=False)
        if done.returncode not in {0, 1} or b"Traceback" in done.stderr or b"rror:" in done.stderr:
            raise RuntimeError(f"{' '.join(arguments)} ended with {done.returncode}: {done.stderr.decode()}")

    def script(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)
        return path


def timed(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began
